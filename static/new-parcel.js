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

  let isFilling = false; // by this script, not by a hand
  function fill(values) {
    isFilling = true;
    for (const [name, value] of Object.entries(values)) {
      const control = field(name);
      if (!control || value === null) continue;
      control.value = value; // a group of radios takes its value too
      if (control.dispatchEvent) control.dispatchEvent(new Event("change", { bubbles: true }));
    }
    for (const line of [field("receiver_line1"), field("receiver_line2")]) line.dispatchEvent(new Event("input"));
    form.dispatchEvent(new Event("input"));
    isFilling = false;
  }

  // What came from a paste says so at its label until somebody touches it.
  const labelOf = (name) => form.querySelector(`label[for=id_${name}]`);
  function markPasted(names) {
    for (const mark of form.querySelectorAll(".mark")) mark.remove();
    for (const name of names) {
      labelOf(name)?.append(" ", Object.assign(document.createElement("span"), { className: "mark", textContent: "From paste" }));
    }
  }
  for (const kind of ["input", "change"]) {
    form.addEventListener(kind, (event) => !isFilling && event.target.name && labelOf(event.target.name)?.querySelector(".mark")?.remove());
  }

  // A place of the carrier's list chosen instead of what was typed, in the form or beside it.
  document.addEventListener("change", (event) => {
    if (event.target.name !== "use_place" || !event.target.value) return;
    const [suburb, state, postcode] = event.target.value.split("|");
    fill({ receiver_suburb: suburb, receiver_state: state, receiver_postcode: postcode });
  });
  for (const name of ["receiver_suburb", "receiver_postcode"]) {
    field(name).addEventListener("input", () => {
      for (const radio of form.querySelectorAll("[name=use_place]")) radio.checked = !radio.value; // the hand decides
    });
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
    const isAddress = (text) => /[\n,]|\d.*\s\S+\s/.test(text.trim()); // a name alone is looked up
    const take = (text) => {
      smart.value = "";
      unpaste(text).catch(() => { smart.value = text; });
    };
    smart.addEventListener("paste", (event) => {
      const text = event.clipboardData.getData("text/plain");
      if (!isAddress(text)) return;
      event.preventDefault();
      take(text);
    });
    if (isAddress(smart.value) && !field("receiver_line1").value) take(smart.value); // pasted before this script was there
    if (window.location.hash === "#smart") smart.focus();
  }

  async function unpaste(text) {
    const reply = await fetch(smart.dataset.unpaste, { method: "POST", headers: { "X-CSRFToken": csrf }, body: new URLSearchParams({ text }) });
    const { values, left } = await reply.json();
    fill(values);
    markPasted(Object.keys(values));
    told(left.length ? `We didn't use: “${left.join("”, “")}”` : "Filled in from what you pasted. Check it before you book.", left);
    const missing = form.querySelector("input:invalid, select:invalid"); // where the typing goes on
    if (missing) missing.focus();
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
  const news = document.getElementById("prices-news");
  if (!prices) return;
  let typed; // the form as prices were last asked for
  let asked = 0;
  let timer;
  let isStale = true;
  let isChecked = false; // these prices were checked again by themselves already

  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
  soon();

  function asTyped() {
    const values = new FormData(form);
    values.delete("draft");
    return new URLSearchParams(values).toString();
  }
  function soon(event) {
    if (event && event.target === smart) return;
    const now = asTyped();
    if (now === typed) return; // a field that is left unchanged keeps the prices, and what was chosen among them
    typed = now;
    clearTimeout(timer);
    asked += 1;
    isStale = true;
    isChecked = false;
    news.textContent = "";
    loadIn(300);
  }
  function loadIn(milliseconds) {
    timer = setTimeout(() => load().catch(() => say("The prices didn't arrive. Press See prices.")), milliseconds);
  }
  function say(text) {
    const line = document.createElement("p");
    line.className = "muted";
    line.textContent = text;
    prices.replaceChildren(line);
    mirror();
  }
  async function load() {
    const mine = asked;
    if (!form.checkValidity()) return say("Prices appear here when the form is filled.");
    say("Asking the carrier for prices…");
    const reply = await fetch(form.action, { method: "POST", headers: { "X-Part": "prices" }, body: new FormData(form) });
    const html = await reply.text();
    if (mine !== asked) return; // the form has changed since
    const seconds = Number(reply.headers.get("Retry-After"));
    if (seconds) {
      loadIn(seconds * 1000);
      return say(`No prices just now. Asking again in ${seconds} s.`);
    }
    if (reply.status !== 200) return say("Something in the form needs a look. Press See prices to see what.");
    prices.innerHTML = html;
    isStale = false;
    bind(prices.querySelector("form"));
    tickPrices();
  }

  // The size guard: the weight that was measured goes into the form, or the declared one is kept without asking again.
  prices.addEventListener("click", (event) => {
    const { useWeight, keep } = event.target.dataset;
    if (useWeight) {
      const weight = form.querySelector("[name^=weight_]");
      weight.value = useWeight;
      weight.dispatchEvent(new Event("input", { bubbles: true }));
      weight.focus();
    } else if (keep) {
      form.elements.kept.value = keep;
      typed = asTyped();
      document.getElementById("size-guard").remove();
      prices.querySelector("form button").focus();
    }
  });

  // Prices that ran out while somebody looks at them are checked again once, with what was chosen; only news are told.
  prices.addEventListener("pricesended", () => isStale || checkAgain().catch(() => {
    news.textContent = "These prices are a few minutes old. Book checks them first; nothing dearer is booked without your yes.";
  }));
  async function checkAgain() {
    if (isChecked) throw new Error("once is enough");
    isChecked = true;
    const mine = asked;
    const reply = await fetch(form.action, { method: "POST", headers: { "X-Part": "prices" }, body: new FormData(form) });
    const html = await reply.text();
    if (mine !== asked) return;
    if (reply.status !== 200) throw new Error("no prices");
    const before = pricesIn(prices);
    const chosen = new FormData(prices.querySelector("form"));
    const at = [...prices.querySelectorAll("a, button, input")].indexOf(document.activeElement);
    prices.setAttribute("aria-live", "off");
    prices.innerHTML = html;
    for (const name of ["product", "pickup_date"]) {
      for (const radio of prices.querySelectorAll(`[name=${name}]`)) radio.checked = radio.value === chosen.get(name) || radio.checked;
    }
    bind(prices.querySelector("form"));
    tickPrices();
    if (at >= 0) prices.querySelectorAll("a, button, input")[at]?.focus();
    news.textContent = newsOf(before, pricesIn(prices));
    setTimeout(() => prices.setAttribute("aria-live", "polite"));
  }

  // On a phone the Book button of the prices below is at hand at the bottom of the screen, until it is in sight itself.
  const bar = document.getElementById("book-bar");
  const press = bar.querySelector("button");
  const sight = new IntersectionObserver(([entry]) => { bar.hidden = !press.textContent || entry.isIntersecting; });
  function mirror() {
    const button = prices.querySelector("form button");
    sight.disconnect();
    press.textContent = button ? button.textContent : "";
    if (button) sight.observe(button);
    else bar.hidden = true;
  }
  press.addEventListener("click", () => {
    const button = prices.querySelector("form button");
    button.click();
    if (document.getElementById("duplicate")) button.scrollIntoView({ block: "center" });
  });
  function bind(book) {
    const button = book && book.querySelector("button");
    if (!button) return;
    const name = () => {
      const chosen = book.querySelector("[name=product]:checked");
      button.textContent = chosen.dataset.book;
      book.querySelector("[data-days]").disabled = chosen.dataset.mile === "drop-off";
      mirror();
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
      mirror();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const button = prices.querySelector("form button");
    event.preventDefault();
    if (button && !isStale) button.click();
  });
})();
