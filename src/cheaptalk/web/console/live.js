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

  // A sentence on what was done is said once; to load the page again does not say it again.
  const here = new URL(location.href);
  if (here.searchParams.has("said")) {
    here.searchParams.delete("said");
    history.replaceState(null, "", here);
  }

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => { await navigator.clipboard.writeText(button.dataset.copy); button.textContent = button.dataset.done; });
  }

  setInterval(look, SECONDS * 1000);
})();
