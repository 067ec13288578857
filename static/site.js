// Small comforts. Every page does its whole job without them.
"use strict";

// A second press of a button that moves money is only noise: the server knows the form's token anyway.
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button || !button.dataset.busy) return;
  if (button.getAttribute("aria-disabled") === "true") {
    event.preventDefault();
    return;
  }
  button.setAttribute("aria-disabled", "true");
  button.textContent = button.dataset.busy;
});

// A double click is one press: the second could make something twice, or find what the first has removed.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (event.timeStamp - form.dataset.sentAt < 1000) event.preventDefault();
  else form.dataset.sentAt = event.timeStamp;
});

// Say that a file is too big before it is sent: the server would refuse it with all that was typed.
for (const name of ["change", "submit"]) {
  document.addEventListener(name, (event) => {
    const file = event.target.closest("form")?.querySelector("[data-most-mb]");
    if (!file || (name === "change" && file !== event.target)) return;
    const size = (file.files[0]?.size ?? 0) / 1e6;
    const most = file.dataset.mostMb;
    file.setCustomValidity(size > most ? `This file is ${size.toFixed(1)} MB. Choose one of ${most} MB or less.` : "");
    if (file.reportValidity()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
}

// A page kept by the browser's back button would show pressed buttons and old prices.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});

// [data-copy] puts an address on the clipboard; `c` presses the one that says so. Hidden without this script.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.querySelector("[role=status]").textContent = " – copied";
  } catch {
    button.querySelector("[role=status]").textContent = ` – copy it by hand: ${button.dataset.copy}`;
  }
});

// Details that are open stay open when news takes their part of the page.
let openDetails = [];
document.addEventListener("htmx:beforeSwap", ({ target }) => {
  openDetails = [...target.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent);
});
document.addEventListener("htmx:load", ({ target }) => {
  for (const summary of target.querySelectorAll("summary")) {
    if (openDetails.includes(summary.textContent)) summary.parentElement.open = true;
  }
});

// A menu closes once something in it is chosen, at a press beside it, and on Escape.
document.addEventListener("click", ({ target }) => {
  closeMenus(target.closest("a, button") ? null : target.closest("details.menu"));
});
document.addEventListener("keydown", ({ key, target }) => {
  if (key !== "Escape") return;
  target.closest("details.menu[open]")?.querySelector("summary").focus();
  closeMenus();
});

function closeMenus(except = null) {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== except) menu.open = false;
}

// Single keys that work on every page: `/` goes to the search, `c` copies, `p` opens the label, `n` begins a parcel,
// `q` checks a price.
// Never while somebody types.
document.addEventListener("keydown", (event) => {
  if (!("shortcuts" in document.body.dataset) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.defaultPrevented || event.repeat || event.target.closest("input, select, textarea")) return;
  if (event.key.toLowerCase() === "n" && !document.getElementById("bench")) return beginParcel(event);
  if (event.key.toLowerCase() === "q" && document.querySelector('nav a[href="/parcels/new/"]')) return checkPrice(event);
  const found = { "/": "#search", c: "[aria-keyshortcuts=C]", p: "a[aria-keyshortcuts=P]", "?": "#keys" }[event.key.toLowerCase()];
  const control = found && document.querySelector(found);
  if (!control) return;
  event.preventDefault();
  if (found === "#search") control.select();
  else control.click();
});

function checkPrice(event) {
  event.preventDefault();
  window.location.assign("/prices/");
}

function beginParcel(event) {
  const page = document.querySelector('nav a[href="/parcels/new/"]');
  if (!page) return;
  event.preventDefault();
  const smart = document.getElementById("smart");
  if (smart) smart.focus();
  else window.location.assign(`${page.href}#smart`);
}

// A frame that has the focus doesn't match :focus, so its ring is put on by hand.
const sheet = document.querySelector("iframe.sheet");
for (const name of sheet ? ["blur", "focus"] : []) {
  window.addEventListener(name, () => setTimeout(() => sheet.classList.toggle("within", document.activeElement === sheet)));
}

const summary = document.querySelector(".error-summary, [data-focus]");
if (summary) summary.focus();

const address = document.querySelector("form[data-address]");
if (address) {
  suggestPlaces(address);
  countAddressLines(address);
}

function addressField(form, part) {
  return form.elements[(form.dataset.address ?? "receiver_") + part];
}

// Places from the carrier's list.
function suggestPlaces(form) {
  const [suburb, state, postcode] = ["suburb", "state", "postcode"].map((part) => addressField(form, part));
  const list = document.createElement("datalist");
  list.id = "places";
  form.append(list);
  const places = new Map();
  let newest = 0;
  let waiting;

  async function ask(typed) {
    const mine = ++newest;
    const query = new URLSearchParams({ q: typed, country: addressField(form, "country")?.value ?? form.dataset.home });
    const reply = await fetch(`${form.dataset.suggest}?${query}`, { headers: { Accept: "application/json" } });
    if (!reply.ok || mine !== newest) return; // a later answer is on its way
    list.replaceChildren();
    places.clear();
    for (const place of await reply.json()) {
      const option = document.createElement("option");
      option.value = `${place.suburb} ${place.state} ${place.postcode}`;
      places.set(option.value, place);
      list.append(option);
    }
  }

  for (const field of [suburb, postcode]) {
    field.setAttribute("list", list.id);
    field.addEventListener("input", () => {
      const place = places.get(field.value);
      clearTimeout(waiting);
      if (place) {
        suburb.value = place.suburb;
        state.value = place.state;
        postcode.value = place.postcode;
      } else if (field.value.trim().length > 1) {
        waiting = setTimeout(() => ask(field.value).catch(() => {}), 120);
      }
    });
  }
}

// From 30 characters on: how many of the 40 advised are used.
function countAddressLines(form) {
  for (const field of [addressField(form, "line1"), addressField(form, "line2")]) {
    const counter = document.createElement("span");
    counter.className = "counter";
    counter.setAttribute("aria-live", "polite");
    field.after(counter);
    const count = () => {
      const used = field.value.trim().length;
      const long = used > 40;
      counter.textContent = used < 30 ? "" : `${used} of 40 characters.${long ? " The end may not fit on the label." : ""}`;
      counter.classList.toggle("warn", long);
    };
    field.addEventListener("input", count);
    count();
  }
}

// The parts of an address are called what the chosen country calls them, as the server does on each answer.
for (const form of document.querySelectorAll("form[data-words]")) {
  const { receiver_country: country, receiver_line1: line1 } = form.elements;
  const words = JSON.parse(form.dataset.words);
  const speak = () => {
    const { hint, ...labels } = words[country.value] ?? words[""];
    for (const [name, word] of Object.entries(labels)) form.elements[name].labels[0].firstChild.data = `${word} `;
    const shown = document.getElementById(`${line1.id}_helptext`);
    if (shown) shown.textContent = hint;
  };
  country.addEventListener("change", speak);
  speak(); // the browser may have filled the form in again
}
