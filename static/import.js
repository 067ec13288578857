// Import. New: a file that is chosen or dropped is uploaded. Check: rows appear as they are checked, sums follow.
"use strict";

const upload = document.querySelector("form[enctype] input[type=file]");
const grid = document.getElementById("grid");
const EVERY = 2000;
// The page that refuses Book or a rate has their address, which can't be asked again.
if (grid) window.history.replaceState(null, "", window.location.href.replace(/(rows\/\d+|[^/]+)\/(?=$|[?#])/, "check/"));

if (upload) {
  const drop = upload.closest(".drop");
  upload.addEventListener("change", () => upload.files.length && upload.form.requestSubmit());
  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name !== "drop" || !event.dataTransfer.files.length) return;
      upload.files = event.dataTransfer.files;
      upload.form.requestSubmit();
    });
  }
}

const parse = async (reply) => new DOMParser().parseFromString(await reply.text(), "text/html");
const get = (name) => document.getElementById(name);

// What is new in the answer is put in place; what somebody types in stays.
function renew(page, parts = ["progress", "tabs", "choices", "grid", "book"]) {
  if (!page?.getElementById("grid")) return;
  const day = get("pickup_date")?.value;
  for (const name of parts) {
    const [old, now] = [get(name), page.getElementById(name)];
    if (old && now && !isBusy(old)) old.replaceChildren(...now.childNodes);
    if (name === "progress") for (const mark of ["unchecked", "done"]) mirror(old, now, mark);
  }
  if (day && get("pickup_date")) get("pickup_date").value = day;
}
function mirror(old, now, mark) {
  if (mark in now.dataset) old.dataset[mark] = now.dataset[mark];
  else delete old.dataset[mark];
}
const isBusy = (part) => part.matches(":has(:is(input,select):focus, [data-changed], [data-unsaved])");

async function look(url = window.location.href) {
  const reply = await fetch(url).catch(() => null);
  if (reply?.ok) renew(await parse(reply));
  return Boolean(reply?.ok);
}

async function poll() {
  if (!("unchecked" in get("progress").dataset)) return;
  await look();
  setTimeout(poll, Number(get("progress").dataset.unchecked) > 500 ? 2 * EVERY : EVERY);
}
if (grid) setTimeout(poll, EVERY / 4);

// The service and the carrier for every row, and the service of one row.
async function reprice(select) {
  const url = new URL(window.location.href);
  url.searchParams.set(select.name, select.value);
  select.blur();
  if (await look(url)) window.history.replaceState(null, "", url);
}
async function choose(select) {
  const body = new FormData(get("services"));
  select.blur();
  const reply = await fetch(get("services").action, { method: "POST", body }).catch(() => null);
  if (reply?.ok) renew(await parse(reply));
  document.querySelector(`[name="${select.name}"]`)?.focus();
}
if (grid) document.addEventListener("change", (event) => {
  if (["rule", "carrier"].includes(event.target.name)) return reprice(event.target);
  if (event.target.name?.startsWith("service-")) return choose(event.target);
  event.target.closest(".fix")?.setAttribute("data-changed", "");
});
grid?.addEventListener("focusout", (event) => {
  const row = event.target.closest(".fix");
  if (row && !row.contains(event.relatedTarget)) recheck(row);
});

// Enter goes to the same cell of the next row; from the last one it saves.
grid?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
  const all = [...grid.querySelectorAll(`.fix input[name^=row-][name$="${event.target.name.replace(/^row-[0-9]+/, "")}"]`)];
  const below = all[all.indexOf(event.target) + 1];
  if (!below) return;
  event.preventDefault();
  below.focus();
  below.select();
});

// A row is checked when it is left; without an answer there is the Save button.
async function recheck(row) {
  if (!row.hasAttribute("data-changed")) return;
  row.removeAttribute("data-changed");
  const body = new FormData(row.closest("form"));
  const reply = await fetch(row.dataset.save, { method: "POST", body }).catch(() => null);
  const page = reply && await parse(reply);
  // A refusal that shows the row names a field that another member changed, too.
  if (!reply?.ok && !page?.getElementById(row.id)) return row.setAttribute("data-changed", "");
  if (!page.getElementById("grid")) return window.location.assign(reply.url);
  const now = page.getElementById(row.id);
  if (now) row.replaceWith(now);
  else row.remove();
  renew(page, grid.querySelector(".fix") ? ["progress", "tabs", "choices", "book"] : undefined);
}
