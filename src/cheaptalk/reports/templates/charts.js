"use strict";
(() => {
  const make = (tag, text = "", attributes = {}) => Object.assign(document.createElement(tag), { textContent: text }, attributes);

  // Tooltip of the mark under the pointer or with keyboard focus

  const told = document.body.appendChild(make("div", "", { className: "tip", hidden: true }));
  const textOf = (mark) => mark.dataset.told ??= (() => {
    const title = mark.querySelector(":scope > title"), text = title?.textContent ?? "";
    title?.remove(); // replaced by this tooltip and the aria-label
    mark.setAttribute("aria-label", text.replaceAll("\n", ", "));
    return text;
  })();
  const tell = (mark) => {
    const text = textOf(mark);
    if (!text) return;
    told.textContent = text;
    told.hidden = false;
    const at = mark.getBoundingClientRect(), own = told.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.x + at.width / 2 - own.width / 2), innerWidth - own.width - 8);
    const above = at.y - own.height - 8;
    told.style.left = `${left + scrollX}px`;
    told.style.top = `${(above > 8 ? above : at.bottom + 8) + scrollY}px`;
  };
  const hush = () => { told.hidden = true; };
  const over = (event) => {
    const mark = event.target.closest?.(".mark");
    if (mark) tell(mark); else hush();
  };
  document.addEventListener("pointerover", over);
  document.addEventListener("focusin", over);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hush(); });

  // A chart is one stop of the TAB key; arrows go from mark to mark

  for (const chart of document.querySelectorAll(".plot svg")) {
    const marks = [...chart.querySelectorAll(".mark")];
    marks.forEach((mark, place) => mark.setAttribute("tabindex", place ? "-1" : "0"));
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const now = marks.indexOf(event.target.closest(".mark"));
      if (!step || now < 0) return;
      event.preventDefault();
      const next = marks[(now + step + marks.length) % marks.length];
      marks[now].setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
  }

  // Every figure can be saved, with the colours that it has in the page

  const PAINTS = ["color", "fill", "stroke"];
  const plain = (colour) => colour.replace(/color\(srgb ([\d.]+) ([\d.]+) ([\d.]+)\)/, (_, ...parts) =>
    `rgb(${parts.slice(0, 3).map((part) => Math.round(255 * part)).join(", ")})`);
  const standing = (drawing) => {
    const copy = drawing.cloneNode(true);
    const [from, to] = [drawing, copy].map((one) => [one, ...one.querySelectorAll("*")]);
    from.forEach((one, place) => {
      const computed = getComputedStyle(one);
      PAINTS.forEach((paint) => {
        if (paint === "color" || one.hasAttribute(paint)) to[place].setAttribute(paint, plain(computed[paint]));
      });
    });
    for (const link of copy.querySelectorAll("a")) link.removeAttribute("href"); // to a viewer that runs here
    return new XMLSerializer().serializeToString(copy);
  };
  const hand = (href, name) => make("a", "", { href, download: name }).click();
  const saved = (drawing, name) => hand(URL.createObjectURL(new Blob([standing(drawing)], { type: "image/svg+xml" })), `${name}.svg`);
  const painted = (drawing, name) => {
    const { width, height } = drawing.viewBox.baseVal, image = new Image();
    image.onload = () => {
      const canvas = make("canvas", "", { width: 3 * width, height: 3 * height }), brush = canvas.getContext("2d");
      brush.fillStyle = getComputedStyle(document.body).backgroundColor;
      brush.fillRect(0, 0, canvas.width, canvas.height);
      brush.drawImage(image, 0, 0, canvas.width, canvas.height);
      hand(canvas.toDataURL("image/png"), `${name}.png`);
    };
    image.src = `data:image/svg+xml,${encodeURIComponent(standing(drawing))}`;
  };
  for (const figure of document.querySelectorAll("figure.panel")) {
    const drawing = () => [...figure.querySelectorAll("svg")].find((one) => one.getClientRects().length);
    const box = make("details", "", { className: "save" });
    box.append(make("summary", "Save"));
    for (const [text, save] of [["SVG", saved], ["PNG", painted]]) {
      const button = make("button", text, { type: "button" });
      button.addEventListener("click", () => { save(drawing(), figure.dataset.name ?? "figure"); box.open = false; });
      box.append(" ", button);
    }
    figure.querySelector("figcaption")?.append(box);
    if (!box.isConnected) figure.append(box);
  }
})();
