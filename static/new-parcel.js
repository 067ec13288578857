// The new-parcel form with less typing: known receivers, pasted addresses, places, sizes, and prices that come by
// themselves. Without this file the form asks for the same things and its button shows the prices.
"use strict";

(() => {
  const form = document.getElementById("parcel-form");
  if (!form) return;
  const smart = document.getElementById("smart");
  const field = (name) => form.elements[name];
  const csrf = form.elements.csrfmiddlewaretoken.value;

  countAddressLines(form);
  openContentsAbroad(form);

  function fill(values) {
    for (const [name, value] of Object.entries(values)) {
      const control = field(name);
      if (!control || value === null) continue;
      control.value = value; // a group of radios takes its value too
      if (control.dispatchEvent) control.dispatchEvent(new Event("change", { bubbles: true }));
    }
    for (const line of [field("receiver_line1"), field("receiver_line2")]) line.dispatchEvent(new Event("input"));
    form.dispatchEvent(new Event("input"));
  }

  // A list that follows what is typed (ARIA's list autocomplete): arrows, Enter, Tab and Escape; a click works too.
  function combobox(input, { find, choose, takesFirst }) {
    const list = document.createElement("ul");
    list.id = `${input.id}-list`;
    list.className = "suggestions";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Suggestions");
    list.hidden = true;
    input.after(list);
    input.parentElement.classList.add("suggesting");
    for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"],
      ["aria-controls", list.id], ["autocomplete", "off"]]) input.setAttribute(name, value);
    let found = [];
    let at = -1;
    let newest = 0;
    let waiting;

    function mark(place) {
      at = place;
      [...list.children].forEach((option, n) => option.setAttribute("aria-selected", String(n === at)));
      if (at < 0) input.removeAttribute("aria-activedescendant");
      else {
        input.setAttribute("aria-activedescendant", list.children[at].id);
        list.children[at].scrollIntoView({ block: "nearest" });
      }
    }
    function close() {
      newest += 1;
      clearTimeout(waiting);
      list.hidden = true;
      found = [];
      list.replaceChildren();
      input.setAttribute("aria-expanded", "false");
      mark(-1);
    }
    function take(place) {
      const chosen = found[place];
      close();
      choose(chosen);
    }
    async function ask() {
      const mine = ++newest;
      const answer = await find(input.value.trim());
      if (mine !== newest || document.activeElement !== input) return; // a later answer is on its way
      found = answer;
      list.replaceChildren(...found.map((one, n) => {
        const option = document.createElement("li");
        option.id = `${list.id}-${n}`;
        option.setAttribute("role", "option");
        option.textContent = one.text;
        option.addEventListener("mousedown", (event) => { event.preventDefault(); take(n); });
        return option;
      }));
      list.hidden = !found.length;
      input.setAttribute("aria-expanded", String(found.length > 0));
      mark(found.length && takesFirst ? 0 : -1);
    }
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      if (input.value.trim().length < 2) close();
      else waiting = setTimeout(() => ask().catch(close), 120);
    });
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.ctrlKey || event.metaKey) return;
      if (step && found.length) {
        event.preventDefault();
        mark((at + step + found.length + (at < 0 && step < 0 ? 1 : 0)) % found.length);
      } else if (event.key === "Escape" && found.length) {
        event.preventDefault();
        close();
      } else if ((event.key === "Enter" || event.key === "Tab") && at >= 0) {
        if (event.key === "Enter") event.preventDefault();
        take(at);
      } else if (event.key === "Enter" && takesFirst) event.preventDefault();
    });
  }

  const json = async (url) => {
    const reply = await fetch(url, { headers: { Accept: "application/json" } });
    return reply.ok ? reply.json() : [];
  };

  for (const name of ["receiver_suburb", "receiver_postcode"]) {
    combobox(field(name), {
      find: async (q) => (await json(`${form.dataset.suggest}?${new URLSearchParams({ q, country: field("receiver_country").value })}`))
        .map((place) => ({ ...place, text: `${place.suburb} ${place.state} ${place.postcode}` })),
      choose: (place) => fill({ receiver_suburb: place.suburb, receiver_state: place.state, receiver_postcode: place.postcode }),
    });
  }

  if (smart) {
    combobox(smart, {
      takesFirst: true,
      find: async (q) => (await json(`${smart.dataset.find}?${new URLSearchParams({ q })}`))
        .map((one) => ({ ...one, text: `${one.name}, ${one.place}` })),
      choose: (one) => { smart.value = ""; told(""); fill(one.values); },
    });
    smart.addEventListener("paste", (event) => {
      const text = event.clipboardData.getData("text/plain");
      if (!/[\n,]|\d.*\s\S+\s/.test(text.trim())) return; // a name alone is looked up
      event.preventDefault();
      unpaste(text).catch(() => { smart.value = text; });
    });
    if (window.location.hash === "#smart") smart.focus();
  }

  async function unpaste(text) {
    const reply = await fetch(smart.dataset.unpaste, { method: "POST", headers: { "X-CSRFToken": csrf }, body: new URLSearchParams({ text }) });
    const { values, left } = await reply.json();
    fill(values);
    told(left.length ? `We didn't use: “${left.join("”, “")}”` : "Filled in from what you pasted. Check it before you book.", left);
  }

  function told(text, left = []) {
    const note = document.getElementById("pasted");
    note.textContent = text;
    if (!left.length) return;
    const add = document.createElement("button");
    add.type = "button";
    add.className = "quiet";
    add.textContent = "Add to instructions";
    add.addEventListener("click", () => {
      const place = field("delivery_place") || field("receiver_instructions");
      fill({ [place.name]: [place.value, ...left].filter(Boolean).join(", ") });
      note.textContent = "Added to the delivery instructions.";
    });
    note.append(" ", add);
  }

  for (const size of form.querySelectorAll("[name=size][data-values]")) {
    size.addEventListener("change", () => size.checked && fill(JSON.parse(size.dataset.values)));
  }

  // A word that may mean dangerous goods raises its question at once; the prices repeat it and nothing is stopped.
  const goods = document.getElementById("goods");
  const questions = JSON.parse(goods.dataset.questions)
    .map(([question, words]) => [question, new RegExp(`\\b(?:${[...words].sort((a, b) => b.length - a.length).join("|")})\\b`, "i")]);
  field("description").addEventListener("change", askAboutGoods);
  askAboutGoods();

  function askAboutGoods() {
    goods.replaceChildren(...questions.flatMap(([question, words]) => {
      const found = words.exec(field("description").value);
      if (!found) return [];
      const line = document.createElement("p");
      line.className = "notice warn";
      const help = Object.assign(document.createElement("a"), { href: goods.dataset.help, textContent: "What counts as dangerous" });
      line.append(`You wrote “${found[0]}”. ${question} `, help);
      return [line];
    }));
  }

  const prices = document.getElementById("prices");
  if (!prices) return;
  let asked = 0;
  let timer;
  let isStale = true;

  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
  soon();

  function soon(event) {
    if (event && event.target === smart) return;
    clearTimeout(timer);
    asked += 1;
    isStale = true;
    timer = setTimeout(() => load().catch(() => say("The prices didn't arrive. Press See prices.")), 300);
  }
  function say(text) {
    const line = document.createElement("p");
    line.className = "muted";
    line.textContent = text;
    prices.replaceChildren(line);
  }
  async function load() {
    const mine = asked;
    if (!form.checkValidity()) return say("Prices appear here when the form is filled.");
    say("Asking the carrier for prices…");
    const reply = await fetch(form.action, { method: "POST", headers: { "X-Part": "prices" }, body: new FormData(form) });
    const html = await reply.text();
    if (mine !== asked) return; // the form has changed since
    if (reply.status !== 200) return say("Something in the form needs a look. Press See prices to see what.");
    prices.innerHTML = html;
    isStale = false;
    bind(prices.querySelector("form"));
  }
  function bind(book) {
    const button = book && book.querySelector("button");
    if (!button) return;
    const name = () => {
      const chosen = book.querySelector("[name=product]:checked");
      button.textContent = chosen.dataset.book;
      book.querySelector("[data-days]").disabled = chosen.dataset.mile === "drop-off";
    };
    book.addEventListener("change", name);
    name();
    book.addEventListener("submit", (event) => {
      const another = book.elements.another; // there is one like it already: one more press says it is meant
      const isQuestion = another && another.disabled;
      if (!isStale && !isQuestion) return;
      event.preventDefault();
      event.stopPropagation();
      if (!isQuestion) return;
      another.disabled = false;
      button.textContent = "Press once more to book another";
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const button = prices.querySelector("form button");
    event.preventDefault();
    if (button && !isStale) button.click();
  });
})();
