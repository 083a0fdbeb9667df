// Keeps the page fresh: asks for it again when the server says that something has happened.
(() => {
  "use strict";
  const own = document.currentScript;
  const part = (name, root) => root.querySelector(`[data-part="${name}"]`);
  let asking = false, again = false;

  const sent = new WeakSet(), ready = new WeakSet();
  const state = () => part("turn", document) ?? part("view", document) ?? document.querySelector("main");
  const said = () => [...state().querySelectorAll("h1, .waiting, .earned, .places li")]
    .map((one) => one.textContent.replace(/\s+/g, " ").trim()).join(". ");
  const moment = () => [state().dataset.question, said()].join();
  let last = moment();

  function swap(now, next) {
    if (!now.isEqualNode(next)) now.replaceWith(next);
  }

  // What has happened is replaced; the turn only where it is another one, so that no typing is lost.
  function show(page) {
    const held = document.activeElement;
    if (!part("log", page) || !part("log", document)) {
      swap(document.querySelector("main"), page.querySelector("main"));
    } else {
      swap(part("log", document), part("log", page));
      const now = part("turn", document), next = part("turn", page);
      if (!now.dataset.question || now.dataset.question !== next.dataset.question) swap(now, next);
      if (!page.querySelector(".leave")) document.querySelector(".leave")?.remove();
    }
    document.title = page.title;
    tell(held);
    prepare();
  }

  // A turn is announced once: by its heading where the focus goes there, else by the status line.
  function tell(held) {
    const before = last;
    last = moment();
    if (!held.isConnected) focus(heir(held));
    if (last !== before && document.activeElement !== beginning()) part("said", document).textContent = said();
  }

  // What does the same on the new page; else where it begins to say how things stand.
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
    } catch { /* the network is gone for a while; the next event asks again */ }
    asking = false;
    if (again) { again = false; refresh(); }
  }

  // The time that is left, as the server counts it.
  function tick() {
    for (const clock of document.querySelectorAll(".clock")) {
      const left = Math.max(0, Math.round(clock.dataset.due - Date.now() / 1000));
      clock.textContent = `${left} seconds left`;
      clock.classList.toggle("soon", left <= 10);
    }
  }

  // A form is sent once.
  function prepare() {
    for (const form of document.querySelectorAll("form")) {
      if (ready.has(form)) continue;
      ready.add(form);
      form.addEventListener("submit", (event) => {
        if (sent.has(form)) { event.preventDefault(); return; }
        sent.add(form);
        setTimeout(() => sent.delete(form), 4000);
      });
    }
    tick();
  }

  if (own.dataset.events) {
    const events = new EventSource(own.dataset.events);
    events.addEventListener("moved", refresh);
  }
  addEventListener("pageshow", (event) => { if (event.persisted) refresh(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  setInterval(tick, 1000);
  prepare();
  if (part("log", document)?.children.length && !location.hash) focus(beginning());
})();
