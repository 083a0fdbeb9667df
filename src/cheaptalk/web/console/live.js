// Keeps the parts of a page fresh that change by themselves, as long as somebody looks at it.
(() => {
  "use strict";
  const SECONDS = 5;
  const parts = () => document.querySelectorAll("[data-live]");

  function renew(page) {
    for (const part of parts()) {
      const next = page.querySelector(`[data-live="${part.dataset.live}"]`);
      if (next && !part.isEqualNode(next) && !part.contains(document.activeElement)) part.replaceWith(next);
    }
  }

  async function look() {
    if (document.hidden || !parts().length) return;
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (answer.ok && !answer.redirected) renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch { /* the network is gone for a while; the next look asks again */ }
  }

  setInterval(look, SECONDS * 1000);
})();
