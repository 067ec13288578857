// Prices that ran out are checked again, once and quietly, while somebody looks at them. Without this file
// a button checks them again.
"use strict";

const priceBoxes = new WeakMap(); // when each came onto the page

// Called when prices appear, and every second from then on.
function tickPrices() {
  for (const box of document.querySelectorAll("[data-left]")) {
    if (!priceBoxes.has(box)) priceBoxes.set(box, Date.now());
    const left = Number(box.dataset.left) - Math.floor((Date.now() - priceBoxes.get(box)) / 1000);
    if (left > 0 || document.hidden || "ended" in box.dataset) continue; // once it is looked at again
    box.dataset.ended = "";
    box.dispatchEvent(new CustomEvent("pricesended", { bubbles: true }));
    box.hidden = true; // its sentence is true no longer, unless newer prices have taken its place
  }
}

(() => {
  setInterval(tickPrices, 1000);
  document.addEventListener("visibilitychange", tickPrices);

  const quoted = document.getElementById("quoted");
  if (!quoted) return;
  tickPrices();
  const news = document.getElementById("prices-news");
  let isChecked = false;
  quoted.addEventListener("pricesended", async (event) => {
    try {
      if (isChecked) throw new Error("once is enough");
      isChecked = true;
      news.textContent = await checkAgain();
    } catch {
      event.target.hidden = true;
      quoted.querySelector("[data-old]").hidden = false;
      news.textContent = quoted.querySelector("[data-old]").textContent;
    }
  });

  // The page of the new prices takes this one's place; what was chosen, opened and focused stays so.
  async function checkAgain() {
    const form = quoted.querySelector("#freshness form");
    const reply = await fetch(form.action, { method: "POST", body: new FormData(form) });
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("quoted");
    if (!reply.ok || !fresh || !fresh.querySelector("[data-left]")) throw new Error("no prices");
    const before = pricesIn(quoted);
    const chosen = [...quoted.querySelectorAll("form:has([name=product])")].map(choiceIn);
    const focused = placeIn(quoted);
    quoted.replaceChildren(...fresh.childNodes);
    tickPrices();
    for (const [product, day] of chosen) choose(product, day);
    if (focused >= 0) quoted.querySelectorAll("a, button, input, summary")[focused]?.focus();
    window.history.replaceState(null, "", reply.url);
    return newsOf(before, pricesIn(quoted));
  }
  const choiceIn = (form) => [form.elements.product.value, form.querySelector("[name=pickup_date]:checked")?.value];
  const placeIn = (part) => [...part.querySelectorAll("a, button, input, summary")].indexOf(document.activeElement);

  function choose(product, day) {
    for (const form of quoted.querySelectorAll("form:has([name=product])")) {
      if (form.elements.product.value !== product || !day) continue;
      for (const radio of form.querySelectorAll("[name=pickup_date]")) radio.checked = radio.value === day;
    }
  }
})();

// The price of each service in a part of the page, by its code; and what became of them.
function pricesIn(part) {
  return Object.fromEntries([...part.querySelectorAll("[name=product]")].map((one) => [one.value, one.dataset.price]));
}
function newsOf(before, after) {
  const codes = Object.keys({ ...before, ...after });
  const isSame = codes.every((code) => before[code] === after[code]);
  return isSame ? "Prices checked again: no change." : "Prices checked again: some have changed. Look before you book.";
}
