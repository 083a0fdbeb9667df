// Updates the live parts of a page while it is visible.
(() => {
  "use strict";
  const SECONDS = 5;
  const parts = () => document.querySelectorAll("[data-live]");

  function renew(page) {
    for (const part of parts()) {
      const next = page.querySelector(`[data-live="${part.dataset.live}"]`);
      const focused = part.contains(document.activeElement) ? document.activeElement : null;
      if (!next || part.isEqualNode(next) || (focused && focused.type !== "checkbox")) continue;
      for (const { id } of part.querySelectorAll("input[id]:checked")) {
        const box = next.querySelector(`#${CSS.escape(id)}`);
        if (box) box.checked = true;
      }
      part.replaceWith(next);
      if (focused) document.getElementById(focused.id)?.focus();
    }
  }

  async function update() {
    if (document.hidden || !parts().length) return;
    try {
      const response = await fetch(location.href, { cache: "no-store" });
      if (response.ok && !response.redirected) renew(new DOMParser().parseFromString(await response.text(), "text/html"));
    } catch { /* offline; the next update tries again */ }
  }

  // Remove the notice from the URL, so that reloading the page does not show it again.
  const here = new URL(location.href);
  if (here.searchParams.has("said")) {
    here.searchParams.delete("said");
    history.replaceState(null, "", here);
  }

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => { await navigator.clipboard.writeText(button.dataset.copy); button.textContent = button.dataset.done; });
  }

  setInterval(update, SECONDS * 1000);
})();
