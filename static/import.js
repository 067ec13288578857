// Import's check: the button's sum follows the chosen service; a row is checked again as soon as it is left.
"use strict";

const bookAll = document.querySelector(".book-all");
if (bookAll) {
  const button = bookAll.querySelector("button[data-book]");
  bookAll.addEventListener("change", (event) => {
    if (event.target.dataset.total && button) button.textContent = button.dataset.book + event.target.dataset.total;
  });
}

const grid = document.getElementById("grid");
if (grid) {
  grid.addEventListener("change", (event) => event.target.form?.setAttribute("data-changed", ""));
  grid.addEventListener("focusout", (event) => {
    const form = event.target.form;
    if (form?.classList.contains("fix") && !form.contains(event.relatedTarget)) recheck(form);
  });
  grid.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
    const all = [...grid.querySelectorAll(`input[name="${event.target.name}"]`)];
    const below = all[all.indexOf(event.target) + 1];
    if (!below) return;
    event.preventDefault();
    below.focus();
  });
}

// The page's own answer is read and this row's part of it put in place; without an answer the Save button is still there.
async function recheck(form) {
  if (!form.hasAttribute("data-changed")) return;
  form.removeAttribute("data-changed");
  const reply = await fetch(form.action, { method: "POST", body: new FormData(form) });
  if (!reply.ok) return;
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  const now = page.getElementById(form.id);
  if (now) form.replaceWith(now);
  else form.remove();
  const progress = page.getElementById("progress");
  if (progress) document.getElementById("progress").replaceWith(progress);
}

// When the last row is checked the page holds old totals: it is read afresh, once.
document.addEventListener("htmx:afterSwap", () => {
  if (document.querySelector("#progress[data-done]")) window.location.reload();
});
