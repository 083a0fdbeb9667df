// Reloads the page when the server sends a change event.
(() => {
  "use strict";
  const own = document.currentScript;
  const part = (name, root) => root.querySelector(`[data-part="${name}"]`);
  let asking = false, again = false;

  const sent = new WeakSet(), ready = new WeakSet();
  const state = () => part("turn", document) ?? part("view", document) ?? document.querySelector("main");
  const said = () => [...state().querySelectorAll("h1, .waiting, .earned, .seats li")]
    .map((one) => one.textContent.replace(/\s+/g, " ").trim()).join(". ");
  const moment = () => [state().dataset.question, said()].join();
  let last = moment();

  function swap(now, next) {
    if (!now.isEqualNode(next)) now.replaceWith(next);
  }

  // Replaces the changed parts; the turn only if it is a new one, so that no input is lost.
  function show(page) {
    const held = document.activeElement;
    swap(document.querySelector("header"), page.querySelector("header"));
    if (part("notice", document) && part("notice", page)) swap(part("notice", document), part("notice", page));
    document.title = page.title;
    const form = (root) => root.querySelector("[data-page]")?.dataset.page;
    if (form(document) && form(document) === form(page)) { prepare(); return; }
    if (!part("log", page) || !part("log", document)) {
      swap(document.querySelector("main"), page.querySelector("main"));
    } else {
      const open = [...document.querySelectorAll("details[open][id]")].map((one) => one.id);
      swap(part("log", document), part("log", page));
      swap(part("jump", document), part("jump", page));
      open.forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
      const now = part("turn", document), next = part("turn", page);
      if (!now.dataset.question || now.dataset.question !== next.dataset.question) {
        swap(now, next);
        if (next.isConnected && next.dataset.question) next.scrollIntoView({ block: "nearest" });
      } else {
        const due = next.querySelector(".clock")?.dataset.due;
        if (due) now.querySelector(".clock").dataset.due = due;
      }
      if (part("chat", document) && part("chat", page)) chat(part("chat", document), part("chat", page));
      if (!page.querySelector(".leave")) document.querySelector(".leave")?.remove();
    }
    tell(held);
    prepare();
  }

  // Adds new lines of chat, and replaces the form only if it appears, disappears or reports a problem.
  function chat(now, next) {
    const log = now.querySelector("ol"), lines = [...next.querySelectorAll("ol li")].slice(log.children.length);
    log.append(...lines);
    if (lines.length) log.scrollTop = log.scrollHeight;
    const foot = part("chat-foot", now), newFoot = part("chat-foot", next);
    if (!foot.querySelector("form") || !newFoot.querySelector("form") || newFoot.querySelector(".problem")) swap(foot, newFoot);
    else swap(part("chat-left", foot), part("chat-left", newFoot));
  }

  // Sends a line of chat without leaving the page.
  async function say(form) {
    const input = form.elements.line, text = input.value;
    const fail = () => { input.value = text; input.setCustomValidity(form.dataset.failed); input.reportValidity(); };
    if (!text.trim()) return;
    const body = new URLSearchParams(new FormData(form));
    input.value = "";
    try {
      const answer = await fetch(form.action, { method: "POST", body, cache: "no-store" });
      if (!answer.ok) { fail(); return; }
      show(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch { fail(); }
  }

  // Announces a turn once: by its heading if that gets the focus, otherwise by the status line.
  function tell(held) {
    const before = last;
    last = moment();
    if (!held.isConnected) focus(heir(held));
    if (last !== before && document.activeElement !== beginning()) part("said", document).textContent = said();
  }

  // The element with the same function on the new page, or the start of the current state.
  function heir(gone) {
    const same = gone.form && document.querySelector(`form[action="${gone.form.getAttribute("action")}"] button`);
    return (gone.id && document.getElementById(gone.id)) || same || beginning();
  }

  function beginning() {
    return state().querySelector("h1, .waiting") ?? state();
  }

  function focus(element) {
    if (element.tabIndex < 0) element.tabIndex = -1;
    element.focus();
  }

  async function refresh() {
    if (asking) { again = true; return; }
    asking = true;
    try {
      const answer = await fetch(location.pathname, { cache: "no-store" });
      if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch { /* offline; the next event reloads the page */ }
    asking = false;
    if (again) { again = false; refresh(); }
  }

  // The remaining time, by the server's deadline; during a pause, that at its start.
  function tick() {
    const now = document.querySelector("[data-paused]")?.dataset.paused ?? Date.now() / 1000;
    for (const clock of document.querySelectorAll(".clock")) {
      const left = Math.max(0, Math.round(clock.dataset.due - now));
      clock.textContent = clock.dataset.left.replace("{}", `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`);
      clock.classList.toggle("soon", left <= 10);
    }
  }

  // The number in a field, by the rules of web/typed_numbers.py; NaN if it is invalid, ambiguous or out of bounds.
  const lang = `${document.documentElement.lang}-u-nu-latn`, point = (0.5).toLocaleString(lang)[1], comma = point === "." ? "," : ".";
  const typed = new RegExp(`^([-+\u2212]?)\\s*\\p{Sc}?\\s*(?=[${point}]?\\d)(\\d{1,3}(?:[${comma} '\u2019\u00a0\u202f]\\d{3})+|\\d*)(?:[${point}](\\d+))?\\s*\\p{Sc}?$`, "u");
  function value(input) {
    const [, sign, whole, decimals = ""] = typed.exec(input.value.trim()) ?? [];
    const unclear = whole === undefined || /^0\d/.test(whole) || (decimals.length === 3 && /^[1-9]\d{0,2}$/.test(whole));
    const number = unclear ? NaN : Number(`${/[-\u2212]/.test(sign) ? "-" : ""}${whole.replace(/\D/g, "")}.${decimals}0`);
    return number < Number(input.dataset.low ?? -Infinity) || number > Number(input.dataset.high ?? Infinity) ? NaN : number;
  }
  const made = (tag, set) => Object.assign(document.createElement(tag), set);
  const wrote = (input, number) => {
    const low = Number(input.dataset.low ?? -Infinity), high = Number(input.dataset.high ?? Infinity);
    const places = Math.max(2, input.dataset.step?.split(".")[1]?.length ?? 0);
    input.value = String(Number(Math.min(Math.max(number, low), high).toFixed(places))).replace(".", point);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };

  const KEYS = /^(Arrow|Page|Home$|End$| $)/;
  const caption = (input) => input.closest("label")?.querySelector("span") ?? input.closest("fieldset").querySelector("legend");

  // Adds a slider below a field. It has no position while the field has no valid number; a click or key places it, also at the lower end.
  function slide(input) {
    if (!input.dataset.high) return;
    const high = Number(input.dataset.high), low = Number(input.dataset.low || 0);
    const by = input.dataset.step ?? (high - low > 1000 ? (high - low) / 200 : 1);
    const slider = made("input", { type: "range", min: low, max: high, step: by });
    const prompt = input.parentElement.querySelector("[data-prompt]");
    const follow = () => {
      const number = value(input), untouched = Number.isNaN(number);
      slider.classList.toggle("untouched", untouched);
      slider.value = untouched ? low : number;
      if (!prompt) return;
      prompt.hidden = !untouched;
      if (untouched) slider.setAttribute("aria-valuetext", prompt.textContent);
      else slider.removeAttribute("aria-valuetext");
    };
    const place = () => wrote(input, slider.value);
    slider.setAttribute("aria-label", caption(input).textContent);
    slider.addEventListener("input", place);
    slider.addEventListener("click", () => { if (slider.matches(".untouched")) place(); });
    slider.addEventListener("keydown", (event) => {
      if (slider.matches(".untouched") && KEYS.test(event.key)) { event.preventDefault(); if (event.key === "End") slider.value = high; place(); }
    });
    input.addEventListener("input", follow);
    follow();
    (input.closest("label") ?? input).after(slider);
  }

  // Adds buttons for plus and minus 1 to a field.
  function step(input) {
    for (const by of [-1, 1]) {
      const button = made("button", { type: "button", className: "step", textContent: by < 0 ? "\u2212" : "+" });
      button.setAttribute("aria-label", `${input.closest("label").querySelector("span").textContent} ${by < 0 ? "\u2212" : "+"}1`);
      button.addEventListener("click", () => wrote(input, (value(input) || 0) + by));
      input[by < 0 ? "before" : "after"](button);
    }
  }

  // Updates previews: the weighted sum of the fields of the form or, if the output is in a question, of the question.
  function preview(form) {
    const factor = (input) => !input.dataset.of ? 1
      : Number(form.querySelector(`[name="${input.dataset.of}"]:checked`)?.dataset.worth ?? NaN);
    for (const output of form.querySelectorAll("output[data-base]")) {
      let sum = 0;
      const question = output.closest(".question");
      for (const input of (question ?? form).querySelectorAll("[data-adds]")) {
        sum += input.dataset.adds * factor(input) * (question && !input.value.trim() ? 0 : value(input));
      }
      const set = output.dataset, shown = (Number(set.base) + sum) * Number(set.scale);
      const text = Math.abs(shown).toLocaleString(lang, { maximumFractionDigits: set.places, minimumFractionDigits: !("exact" in set) && Math.abs(shown % 1) < 0.005 ? 0 : set.places });
      output.textContent = Number.isNaN(shown) ? "\u2026" : `${shown < 0 ? "\u2212" : ""}${set.before}${text}${(Math.abs(shown) === 1 && set.unitOfOne) || set.unit}`;
      output.classList.toggle("loss", shown < 0);
    }
  }

  // Keeps the sum of two shares equal to the total.
  function divide(parts) {
    const whole = Number(parts.dataset.whole), both = [...parts.querySelectorAll("label input")];
    both.forEach((input, at) => input.addEventListener("input", (event) => {
      if (event.isTrusted || !parts.dataset.busy) {
        parts.dataset.busy = "yes";
        const other = both[1 - at];
        if (!Number.isNaN(value(input))) wrote(other, Math.round((whole - value(input)) * 100) / 100);
        delete parts.dataset.busy;
      }
    }));
  }

  // Shows the link to the turn while the turn is not visible.
  const sight = new IntersectionObserver(([turn]) => { part("jump", document).hidden = turn.isIntersecting; }, { rootMargin: "0px 0px -90px" });

  // Prevents a form from being sent twice.
  function prepare() {
    for (const form of document.querySelectorAll("form")) {
      if (ready.has(form)) continue;
      ready.add(form);
      form.querySelectorAll("[data-slider]").forEach(slide);
      form.querySelectorAll("[data-steps]").forEach(step);
      form.querySelectorAll("[data-whole]").forEach(divide);
      form.addEventListener("input", () => preview(form));
      preview(form);
      form.elements.line?.addEventListener("input", (event) => event.target.setCustomValidity(""));
      form.addEventListener("submit", (event) => {
        if (form.matches(".say")) { event.preventDefault(); say(form); return; }
        if (sent.has(form)) { event.preventDefault(); return; }
        sent.add(form);
        setTimeout(() => sent.delete(form), 4000);
      });
    }
    for (const button of document.querySelectorAll("[data-copy]")) {
      button.hidden = !navigator.clipboard;
      button.onclick = async () => { await navigator.clipboard.writeText(button.dataset.copy); button.textContent = button.dataset.done; };
    }
    for (const time of document.querySelectorAll("time[datetime]")) {
      time.textContent = new Date(time.dateTime).toLocaleString(lang, { dateStyle: "medium", timeStyle: "short" });
    }
    const paused = document.querySelector("[data-paused]") !== null;
    for (const work of document.querySelectorAll("article.page, [data-part=turn], [data-part=view]")) work.inert = paused;
    sight.disconnect();
    if (part("jump", document)) sight.observe(part("turn", document));
    tick();
  }

  if (own.dataset.events) {
    const events = new EventSource(own.dataset.events);
    let lost = 0;
    events.addEventListener("moved", refresh);
    events.addEventListener("error", () => { lost ||= setTimeout(() => { part("lost", document).hidden = false; }, 3000); });
    events.addEventListener("open", () => {
      if (lost) refresh();
      clearTimeout(lost);
      lost = 0;
      part("lost", document).hidden = true;
    });
  }
  // Reports when the page becomes hidden or visible, except because the participant leaves it.
  if (own.dataset.focus) {
    let leaving = false, hidden = "hidden" in own.dataset;
    const report = () => {
      if (leaving || hidden === document.hidden) return;
      hidden = document.hidden;
      navigator.sendBeacon(own.dataset.focus, new URLSearchParams({ hidden: hidden ? "yes" : "no" }));
    };
    addEventListener("pagehide", () => { leaving = true; });
    addEventListener("pageshow", () => { leaving = false; report(); });
    document.addEventListener("visibilitychange", report);
  }
  addEventListener("pageshow", (event) => { if (event.persisted) refresh(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  setInterval(tick, 1000);
  prepare();
  document.querySelectorAll(".chat ol").forEach((log) => { log.scrollTop = log.scrollHeight; });
  if (part("log", document)?.children.length && !location.hash) {
    focus(beginning());
    document.querySelector("[data-part=log] > .log")?.scrollIntoView({ block: "start" });
  }
})();
