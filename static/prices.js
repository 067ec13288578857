// Prices that ran out are checked again, once and quietly, while somebody looks at them. Without
// this file a button checks them again.
"use strict";

const priceBoxes = new WeakMap(); // when each came onto the page

// Called when prices appear, and every second from then on.
function tickPrices() {
  for (const box of document.querySelectorAll("[data-left]")) {
    if (!priceBoxes.has(box)) priceBoxes.set(box, Date.now());
    const left = Number(box.dataset.left) - Math.floor((Date.now() - priceBoxes.get(box)) / 1000);
    if (left > 0 || document.hidden || "ended" in box.dataset) continue;
    box.dataset.ended = "";
    box.dispatchEvent(new CustomEvent("pricesended", { bubbles: true }));
    box.hidden = true; // its sentence is true no longer, unless newer prices have replaced it
  }
}
setInterval(tickPrices, 1000);
document.addEventListener("visibilitychange", tickPrices);

// The price of each service in a part of the page, by its code.
function pricesIn(part) {
  const offers = [...part.querySelectorAll("[name=product]")];
  return Object.fromEntries(offers.map((one) => [one.value, one.dataset.price]));
}

// Puts newer prices in place of `part`'s content, by `replace`. What was chosen and focused stays.
// Returns the sentence about the outcome of the price check.
function renewPrices(part, replace) {
  const controls = () => [...part.querySelectorAll("a, button, input, summary")];
  const before = pricesIn(part);
  const at = controls().indexOf(document.activeElement);
  const chosen = [...part.querySelectorAll("form:has([name=product])")].map((form) => new FormData(form));
  replace();
  for (const form of part.querySelectorAll("form:has([name=product])")) {
    const same = chosen.find((one) => form.querySelector(`[name=product][value="${one.get("product")}"]`));
    for (const radio of form.querySelectorAll("[type=radio]")) {
      if (same?.get(radio.name) === radio.value) radio.checked = true;
    }
  }
  if (at >= 0) controls()[at]?.focus();
  const after = pricesIn(part);
  const isSame = Object.keys({ ...before, ...after }).every((code) => before[code] === after[code]);
  if (isSame) return "Prices checked again: no change.";
  return "Prices checked again: some have changed. Look before you book.";
}

// The bar says what the chosen service costs; a pickup has its day. Nothing is booked while the
// prices are stale, nor before a second press where there is a parcel like it already.
function bindBook(book, isStale) {
  const button = book.querySelector(".book button");
  function showSum() {
    const { price, taxes, mile } = book.querySelector("[name=product]:checked").dataset;
    book.querySelector(".sum b").textContent = price;
    book.querySelector(".sum small").textContent = taxes;
    const days = book.querySelector("[data-days]");
    if (days) days.disabled = days.hidden = mile === "drop-off";
  }
  book.addEventListener("change", showSum);
  showSum();
  book.addEventListener("submit", (event) => {
    const another = book.elements.another;
    const isQuestion = another && another.disabled;
    if (button && !isStale() && !isQuestion) return;
    event.preventDefault();
    event.stopPropagation();
    if (!isQuestion || !button) return;
    another.disabled = false;
    button.textContent = button.dataset.another;
    document.getElementById("duplicate").scrollIntoView({ block: "nearest" });
  });
}

// The page of prices.
(() => {
  const quoted = document.getElementById("quoted");
  if (!quoted) return;
  tickPrices();
  const news = document.getElementById("prices-news");
  let isChecked = false;
  quoted.addEventListener("pricesended", async (event) => {
    try {
      if (isChecked) throw new Error("once is enough");
      isChecked = true;
      const form = quoted.querySelector("#freshness form");
      const reply = await fetch(form.action, { method: "POST", body: new FormData(form) });
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const fresh = page.getElementById("quoted");
      if (!reply.ok || !fresh?.querySelector("[data-left]")) throw new Error("no prices");
      news.textContent = renewPrices(quoted, () => quoted.replaceChildren(...fresh.childNodes));
      tickPrices();
    } catch {
      event.target.hidden = true;
      quoted.querySelector("[data-old]").hidden = false;
      news.textContent = quoted.querySelector("[data-old]").textContent;
    }
  });
})();
