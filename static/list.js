// The parcels list by keys, and a count of what is chosen. Without this script it is boxes and buttons in one form.
"use strict";

const bulk = document.getElementById("bulk");
if (bulk) startList(bulk);

function startList(form) {
  const boxes = [...form.querySelectorAll("tbody input[type=checkbox]")];
  const links = boxes.map((box) => box.closest("tr").querySelector("a"));
  const said = document.getElementById("bulk-count");
  const elsewhere = form.querySelectorAll("input[type=hidden][name=order]");
  let at = -1;

  // The bar shows while a box is ticked; without one, what was chosen on other pages is let go.
  const count = () => {
    const here = boxes.filter((box) => box.checked).length;
    if (!here) for (const one of elsewhere) one.remove();
    said.textContent = `${here + form.querySelectorAll("input[type=hidden][name=order]").length} selected`;
    all.checked = here === boxes.length;
  };

  const all = document.createElement("input");
  all.type = "checkbox";
  all.setAttribute("aria-label", "Select all on this page");
  all.checked = boxes.every((box) => box.checked);
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    count();
  });
  const target = document.createElement("label");
  target.append(all);
  form.querySelector("thead th").replaceChildren(target);
  form.addEventListener("change", count);

  function go(step) {
    at = Math.min(Math.max(at + step, 0), links.length - 1);
    links[at].focus();
  }

  function choose() {
    if (at < 0) return go(1);
    boxes[at].checked = !boxes[at].checked;
    count();
  }

  // The parcel under the keys, if none is chosen.
  function print() {
    if (!boxes.some((box) => box.checked) && at >= 0) boxes[at].checked = true;
    const button = form.querySelector("[data-key=p]");
    if (button && boxes.some((box) => box.checked)) form.requestSubmit(button);
  }

  form.addEventListener("focusin", (event) => {
    const row = event.target.closest("tbody tr");
    if (row) at = links.findIndex((link) => row.contains(link));
  });
  if (!("shortcuts" in form.dataset)) return;
  const keys = { j: () => go(1), k: () => go(-1), x: choose, p: print };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea")) return;
    const act = keys[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
