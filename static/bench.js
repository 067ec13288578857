// The label bench: one label at a time by keys, or all in one go. Without this script it is a list of links and buttons.
"use strict";

const bench = document.getElementById("bench");
// Phones show no PDF inside a page: there each label keeps its own link.
if (bench && window.matchMedia("(min-width: 48em)").matches) startBench(bench);

for (const button of document.querySelectorAll("[data-print-page]")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
  for (const words of document.querySelectorAll("[data-without-script]")) words.hidden = true;
}

function startBench(bench) {
  const SCAN = 100; // milliseconds: no hand types the next character of a number so soon
  const PAUSE = 250; // milliseconds between a label that went to the printer and the next
  const byId = (id) => document.getElementById(id);
  const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const rows = [...bench.querySelectorAll(".queue > li")];
  const now = byId("bench-now");
  const problem = byId("bench-problem");
  const progress = document.querySelector("#bench-progress .number");
  const scan = byId("scan").elements.q;
  const all = byId("print-all");
  const asked = byId("came-out");
  const running = byId("bench-run");
  const letters = "shortcuts" in document.body.dataset;
  let current = null;
  let last = null; // the one printed before, which a paper jam brings back
  let ready = Promise.resolve(); // once the frame has the label that is shown
  let isBusy = false;
  let isRunning = false;

  const isPrinted = (row) => row.classList.contains("printed");
  const link = (row) => row.querySelector(".pick");
  const button = (act) => now.querySelector(`[data-act=${act}]`);
  const say = (text) => {
    problem.querySelector("p").textContent = text;
    problem.hidden = !text;
  };

  function show(row, { focus = true, print = "atOnce" in bench.dataset } = {}) {
    if (current) link(current).removeAttribute("aria-current");
    current = row;
    link(row).setAttribute("aria-current", "true");
    if (focus) row.scrollIntoView({ block: "nearest" }); // a page that opens shows its messages first
    byId("bench-kind").textContent = row.dataset.number ? "Order" : "Reference";
    byId("bench-title").textContent = row.dataset.number || row.dataset.reference;
    now.querySelector(".facts").replaceChildren(row.querySelector("template").content.cloneNode(true));
    offer();
    load(link(row).pathname);
    if (print) toPaper();
    if (focus) now.focus({ preventScroll: true });
  }

  function offer() {
    button("undo").hidden = !isPrinted(current);
    button("reprint").hidden = !(last || isPrinted(current));
    byId("bench-acts").hidden = isRunning;
    running.hidden = !isRunning;
  }

  // A new frame each time: an old one would fill the Back button with labels.
  function load(address) {
    const frame = document.createElement("iframe");
    frame.title = `Label of ${current.dataset.reference}`;
    frame.inert = true; // the viewer would take the focus, and with it what the scanner types next
    ready = new Promise((resolve) => frame.addEventListener("load", () => resolve(frame), { once: true }));
    frame.src = `${address}#toolbar=0&navpanes=0&view=Fit`; // the viewer's own words: no thumbnails, whole page
    const sheet = now.querySelector(".sheet");
    sheet.className = `sheet ${current.dataset.shape}`;
    sheet.replaceChildren(frame);
  }

  // Give the frame's own document to the printer: the carrier's file, one print job for each label. True once it went.
  async function toPaper() {
    const awaited = ready;
    const frame = await awaited;
    if (awaited !== ready) return false; // another label is shown by now
    const view = frame.contentWindow;
    const over = new Promise((resolve) => view.addEventListener("afterprint", resolve, { once: true }));
    try {
      view.focus();
      view.print();
    } catch {
      return refused(frame);
    }
    now.focus({ preventScroll: true });
    // Most browsers wait in print(), some say when it is over, and some only give the page its focus back.
    await Promise.race([over, backInFocus()]);
    return true;
  }

  // Either it is no label any more, or the browser's viewer lets no page print it: in a tab it has its own button.
  async function refused(frame) {
    const reply = await fetch(frame.src).catch(() => null);
    if (reply && !reply.ok) say(`${current.dataset.reference} has no label to print any more. Don't send it.`);
    else if (isRunning) say("This browser can't print all labels in one go. Print them one by one, or use Chrome or Edge.");
    else window.open(frame.src, "label");
    return false;
  }

  async function backInFocus() {
    do await pause(PAUSE);
    while (!document.hasFocus());
  }

  function print() {
    say("");
    if (isPrinted(current)) current.dataset.again = "yes";
    now.focus({ preventScroll: true });
    toPaper();
  }

  async function printAll() {
    if (isRunning || !all) return;
    const run = rows.filter((row) => !isPrinted(row));
    const gone = new Set();
    say("");
    isRunning = true;
    all.disabled = true;
    for (const row of run) {
      if (!isRunning) break;
      running.querySelector("p").textContent = `Printing ${gone.size + 1} of ${run.length}`;
      show(row, { print: false });
      if (!(await toPaper())) break;
      gone.add(row.id.slice("row-".length));
    }
    isRunning = false;
    all.disabled = false;
    offer();
    if (gone.size) ask(gone);
  }

  function ask(gone) {
    for (const box of asked.querySelectorAll("[name=order]")) {
      box.checked = gone.has(box.value);
      box.closest("li").hidden = !box.checked;
    }
    byId("came-out-title").textContent = gone.size === 1 ? "Did it come out?" : `Did all ${gone.size} come out?`;
    asked.hidden = false;
    asked.classList.remove("unasked");
    now.hidden = true;
    now.querySelector(".sheet").replaceChildren();
    asked.querySelector("[data-yes]").classList.add("go");
    asked.querySelector("[data-yes]").focus();
  }

  async function mark(row, printed) {
    const form = row.querySelector("form");
    const body = new URLSearchParams(new FormData(form));
    const reference = row.dataset.reference;
    body.set("printed", printed);
    isBusy = true;
    try {
      const reply = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
      if (reply.status === 409) throw new Error(`${reference} is no longer booked. Don't use its label.`);
      if (!reply.ok || reply.redirected) throw new TypeError(String(reply.status));
      write(row, (await reply.json()).printed);
      say("");
      return true;
    } catch (error) {
      const unsaved = `We couldn't save that for ${reference}. Nothing else changed. Press the key again.`;
      say(error instanceof TypeError || error instanceof SyntaxError ? unsaved : error.message);
      return false;
    } finally {
      isBusy = false;
    }
  }

  function write(row, trail) {
    row.classList.toggle("printed", Boolean(trail));
    link(row).classList.toggle("gone", Boolean(trail));
    row.querySelector(".mark").classList.toggle("ok", Boolean(trail));
    row.querySelector(".trail").textContent = trail ? "Printed" : "";
    row.querySelector("[name=printed]").value = trail ? "no" : "yes";
    row.querySelector("form .word").textContent = trail ? "Not printed after all" : "Mark printed";
    delete row.dataset.again;
    const count = rows.filter(isPrinted).length;
    progress.textContent = `${count} of ${rows.length}`;
    bench.querySelector("progress").value = count;
    if (all) all.hidden = rows.length - count < 2;
    if (all) all.querySelector(".number").textContent = rows.length - count;
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
    offer();
    if (waiting) show(waiting);
    else if (isPrinted(row)) byId("bench-title").textContent = rows.length === 1 ? "Printed" : `All ${rows.length} printed`;
    now.focus({ preventScroll: true });
  }

  function reprint() {
    const row = isPrinted(current) ? current : last;
    if (!row) return print();
    row.dataset.again = "yes";
    if (row === current) print();
    else show(row, { print: true });
  }

  async function undo() {
    if (!isBusy && (await mark(current, "no"))) offer();
  }

  // An order number may stand on several parcels: the first that still waits is meant.
  function find(text) {
    const plain = (word) => word.trim().replace(/^#/, "").toUpperCase();
    const wanted = plain(text);
    if (!wanted) return;
    const found = rows.filter((row) => [row.dataset.number, row.dataset.reference].some((word) => plain(word) === wanted));
    const row = found.find((one) => !isPrinted(one)) || found[0];
    if (row) {
      scan.value = "";
      say(isPrinted(row) ? `${text.trim()} is printed already.` : "");
      show(row);
    } else {
      say(`${text.trim()} isn't in this queue. The label on screen is still ${byId("bench-title").textContent}.`);
      scan.select();
    }
  }

  const acts = { print, done, skip: () => next(current), reprint, undo, stop: () => { isRunning = false; } };
  const keys = { enter: print, " ": done };
  if (letters) Object.assign(keys, { n: done, r: reprint, s: acts.skip, a: printAll });
  let typed = "";
  let timer;

  // A scanner is a keyboard: what it types is no command, so a character waits whether another follows at once. One that
  // is no command of the bench is given back to the page, which has keys of its own.
  function type(key, isControl) {
    clearTimeout(timer);
    typed += key;
    if (typed.length > 1) {
      scan.value = typed;
      scan.focus();
      typed = "";
      return;
    }
    timer = setTimeout(() => {
      const act = keys[typed.toLowerCase()];
      typed = "";
      if (act && !isControl) act();
      else if (!act) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    }, SCAN);
  }

  // Heard before the page's own keys are: a scanned Q is no wish to check a price.
  document.addEventListener("keydown", (event) => {
    if (!event.isTrusted || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isRunning && event.key === "Escape") return acts.stop();
    if (event.target.closest("input, select, textarea, iframe")) return;
    const isAway = isRunning || now.hidden;
    const isControl = Boolean(event.target.closest("a, button, summary"));
    if (/^[^\s]$/u.test(event.key)) {
      event.preventDefault();
      if (!isAway) type(event.key, isControl);
      return;
    }
    const act = keys[event.key.toLowerCase()];
    if (!act || isAway || isControl) return;
    event.preventDefault(); // Space would scroll
    act();
  }, true);
  byId("scan").addEventListener("submit", (event) => {
    if ("station" in event.target.dataset) return; // the server sends it to the print station
    event.preventDefault();
    if (!isRunning) find(scan.value);
  });
  now.addEventListener("click", (event) => {
    const pressed = event.target.closest("[data-act]");
    if (pressed) acts[pressed.dataset.act]();
  });
  for (const row of rows) {
    link(row).addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      if (!isRunning) show(row);
    });
  }
  if (all) {
    all.hidden = false;
    all.addEventListener("click", printAll);
    document.querySelector("[href='#came-out']").addEventListener("click", (event) => {
      event.preventDefault();
      event.target.closest("details").open = false;
      ask(new Set(rows.filter((row) => !isPrinted(row)).map((row) => row.id.slice("row-".length))));
    });
  }
  if (asked) asked.hidden = true;
  bench.classList.add("bench");
  now.hidden = false;
  show(rows.find((row) => !isPrinted(row)) || rows[0], { focus: false });
}
