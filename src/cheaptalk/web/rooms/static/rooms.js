// Keeps the page fresh: asks for it again when the server says that something has happened.
(() => {
  "use strict";
  const own = document.currentScript;
  const part = (name, root) => root.querySelector(`[data-part="${name}"]`);
  let asking = false, again = false;

  // What has happened is replaced; the turn only where it is another one, so that no typing is lost.
  function show(page) {
    if (!part("log", page) || !part("log", document)) {
      document.querySelector("main").replaceWith(page.querySelector("main"));
    } else {
      part("log", document).replaceWith(part("log", page));
      const now = part("turn", document), next = part("turn", page);
      if (!now.dataset.question || now.dataset.question !== next.dataset.question) now.replaceWith(next);
      if (!page.querySelector(".leave")) document.querySelector(".leave")?.remove();
    }
    document.title = page.title;
    prepare();
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
      clock.textContent = clock.dataset.left.replace("{}", left);
      clock.classList.toggle("soon", left <= 10);
    }
  }

  // A form is sent once.
  function prepare() {
    for (const form of document.querySelectorAll("form")) {
      if (form.dataset.ready) continue;
      form.dataset.ready = "yes";
      form.addEventListener("submit", (event) => {
        if (form.dataset.sent) { event.preventDefault(); return; }
        form.dataset.sent = "yes";
        setTimeout(() => { delete form.dataset.sent; }, 4000);
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
})();
