// The label bench: one label at a time, by keys. Without this script the page is a list of links and buttons.
"use strict";

const bench = document.getElementById("bench");
// Phones show no PDF inside a page: there each label keeps its own link.
if (bench && window.matchMedia("(min-width: 45rem)").matches) startBench(bench);

for (const button of document.querySelectorAll("[data-print-page]")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
  document.querySelector("[data-without-script]").hidden = true;
}

function startBench(bench) {
  const rows = [...bench.querySelectorAll(".queue > li")];
  const now = document.getElementById("bench-now");
  const title = document.getElementById("bench-title");
  const about = document.getElementById("bench-about");
  const problem = document.getElementById("bench-problem");
  const progress = document.querySelector("#bench-progress .number");
  const letters = "shortcuts" in bench.dataset;
  let current = null;
  let last = null; // the one printed before, which a paper jam brings back
  let isLoaded = false;
  let isAwaited = false; // Print was pressed before the file was there
  let isBusy = false;

  const isPrinted = (row) => row.classList.contains("printed");
  const reference = (row) => row.querySelector(".ref").textContent;
  const say = (text) => {
    problem.textContent = text;
    problem.hidden = !text;
  };

  function show(row, { focus = true, print = "atOnce" in bench.dataset } = {}) {
    if (current) current.removeAttribute("aria-current");
    current = row;
    row.setAttribute("aria-current", "true");
    row.scrollIntoView({ block: "nearest" });
    const ref = row.querySelector(".ref").cloneNode(true);
    title.replaceChildren(ref, `to ${row.querySelector(".to").textContent}`);
    about.textContent = row.querySelector(".about").textContent;
    load(row.querySelector(".pick").href, print);
    if (focus) now.focus({ preventScroll: true });
  }

  // A new frame each time: an old one would fill the Back button with labels.
  function load(address, print) {
    const frame = document.createElement("iframe");
    frame.title = `Label of ${reference(current)}`;
    isLoaded = false;
    isAwaited = print;
    frame.addEventListener("load", () => {
      isLoaded = true;
      if (isAwaited) openPrintWindow();
    });
    frame.src = `${address}#navpanes=0&view=Fit`; // the viewer's own words: no thumbnails, whole page
    now.querySelector("iframe").replaceWith(frame);
  }

  function print() {
    say("");
    if (isPrinted(current)) current.dataset.again = "yes";
    if (isLoaded) openPrintWindow();
    else isAwaited = true;
    now.focus({ preventScroll: true });
  }

  // Some browsers' own PDF viewer lets no page print it: then it opens in a tab, which has a print button.
  function openPrintWindow() {
    isAwaited = false;
    const frame = now.querySelector("iframe");
    try {
      frame.contentWindow.focus();
      frame.contentWindow.print();
    } catch {
      window.open(frame.src, "label");
    }
    now.focus({ preventScroll: true });
  }

  async function mark(row, printed) {
    const form = row.querySelector("form");
    const body = new URLSearchParams(new FormData(form));
    body.set("printed", printed);
    isBusy = true;
    try {
      const reply = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
      if (reply.status === 409) throw new Error(`${reference(row)} is no longer booked. Don't use its label.`);
      if (!reply.ok || reply.redirected) throw new TypeError(String(reply.status));
      write(row, (await reply.json()).printed);
      say("");
      return true;
    } catch (error) {
      const unsaved = `We couldn't note that for ${reference(row)}. Nothing else changed; press the key again.`;
      say(error instanceof TypeError || error instanceof SyntaxError ? unsaved : error.message);
      return false;
    } finally {
      isBusy = false;
    }
  }

  function write(row, trail) {
    row.classList.toggle("printed", Boolean(trail));
    row.querySelector(".trail").textContent = trail;
    row.querySelector("[name=printed]").value = trail ? "no" : "yes";
    row.querySelector("form .word").textContent = trail ? "Not printed after all" : "Mark printed";
    delete row.dataset.again;
    progress.textContent = `${rows.filter(isPrinted).length} of ${rows.length}`;
  }

  async function done() {
    if (isBusy) return;
    const row = current;
    const again = row.dataset.again;
    if (isPrinted(row) && !again) return next(row);
    if (!(await mark(row, again ? "again" : "yes"))) return;
    last = row;
    next(row);
  }

  function next(row) {
    const from = rows.indexOf(row) + 1;
    const waiting = [...rows.slice(from), ...rows.slice(0, from)].find((other) => other !== row && !isPrinted(other));
    if (waiting) show(waiting);
    else if (isPrinted(row)) finish();
    else now.focus({ preventScroll: true });
  }

  function finish() {
    title.textContent = rows.length === 1 ? "The label is printed" : `All ${rows.length} labels are printed`;
    about.textContent = "Stick each one on the parcel with its reference.";
    now.focus({ preventScroll: true });
  }

  function reprint() {
    const row = isPrinted(current) ? current : last;
    if (!row) return print();
    row.dataset.again = "yes";
    if (row === current) print();
    else show(row, { print: true });
  }

  const acts = { print, done, skip: () => next(current), reprint };
  const keys = { Enter: print, " ": done };
  if (letters) Object.assign(keys, { n: done, r: reprint, s: acts.skip });

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("a, button, input, select, textarea, summary, iframe")) return;
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault(); // Space would scroll
    act();
  });
  now.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (button) acts[button.dataset.act]();
  });
  for (const row of rows) {
    row.querySelector(".pick").addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(row);
    });
    row.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (!isBusy) mark(row, row.querySelector("[name=printed]").value);
    });
  }
  // A frame that has the focus doesn't match :focus, so its ring is put on by hand.
  for (const name of ["blur", "focus"]) {
    window.addEventListener(name, () => setTimeout(() => {
      const frame = now.querySelector("iframe");
      frame.classList.toggle("within", document.activeElement === frame);
    }));
  }
  bench.classList.add("live");
  now.hidden = false;
  show(rows.find((row) => !isPrinted(row)) || rows[0], { focus: false });
}
