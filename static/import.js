// Import's check: sums follow the service; a row is checked when it is left.
"use strict";

const grid = document.getElementById("grid");

document.addEventListener("change", (event) => {
  const button = document.querySelector("button[data-book]");
  if (event.target.dataset.total && button) button.textContent = button.dataset.book + event.target.dataset.total;
  if (event.target.name === "rule" && event.isTrusted) reprice(event.target.value);
});
grid.addEventListener("change", (event) => event.target.form?.setAttribute("data-changed", ""));
grid.addEventListener("focusout", (event) => {
  const form = event.target.closest("form.fix");
  if (form && !form.contains(event.relatedTarget)) recheck(form);
});
// The rows with the service chosen.
async function reprice(rule) {
  if (!grid.querySelector("td.money")) return;
  const url = new URL(window.location.href);
  url.searchParams.set("rule", rule);
  const reply = await fetch(url).catch(() => null);
  const page = reply?.ok && await read(reply);
  if (!page || chosenRule() !== rule) return;
  window.history.replaceState(null, "", url);
  grid.replaceChildren(...page.getElementById("grid").childNodes);
}

// Enter goes to the same cell of the next row; from the last one it saves.
grid.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
  const all = [...grid.querySelectorAll(`input[name="${event.target.name}"]`)];
  const below = all[all.indexOf(event.target) + 1];
  if (!below) return;
  event.preventDefault();
  below.focus();
  below.select();
});

// What is new in the answer is put in place; without one there is the Save button.
async function recheck(form) {
  if (!form.hasAttribute("data-changed")) return;
  form.removeAttribute("data-changed");
  const reply = await fetch(form.action, { method: "POST", body: new FormData(form) }).catch(() => null);
  if (!reply?.ok) return form.setAttribute("data-changed", "");
  const page = await read(reply);
  if (!page.getElementById("grid")) return window.location.assign(reply.url);
  const now = page.getElementById(form.id);
  if (now) form.replaceWith(now);
  else form.remove();
  put(page, "progress");
  renew(page);
}

const read = async (reply) => new DOMParser().parseFromString(await reply.text(), "text/html");
const chosenRule = () => document.querySelector("#book input[name=rule]:checked")?.value;

function put(page, id) {
  const [old, now] = [document.getElementById(id), page.getElementById(id)];
  if (!old || !now) return;
  old.replaceWith(now);
  window.htmx?.process(now);
}

// The sum to book, and new rows of the grid.
function renew(page) {
  const chosen = chosenRule();
  const day = document.getElementById("pickup_date")?.value;
  put(page, "book");
  const radio = [...document.querySelectorAll("#book input[name=rule]")].find((one) => one.value === chosen);
  if (radio) {
    radio.checked = true;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  }
  const days = document.getElementById("pickup_date");
  if (days && day) days.value = day;
  if (grid.querySelector("form.fix")) return;
  grid.replaceChildren(...page.getElementById("grid").childNodes);
}

// When the last row is checked the sums are old; what is typed meanwhile stays.
document.addEventListener("htmx:afterSwap", async () => {
  if (!document.querySelector("#progress[data-done]")) return;
  if (!grid.contains(document.activeElement) && !grid.querySelector("[data-changed]")) return window.location.reload();
  const reply = await fetch(window.location.href).catch(() => null);
  if (reply?.ok) renew(await read(reply));
});
