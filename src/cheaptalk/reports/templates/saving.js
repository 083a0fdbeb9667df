"use strict";
(() => { // Every figure can be saved as SVG, and charts as PNG for papers.
  const hand = (href, name) => Object.assign(document.createElement("a"), { href, download: name }).click();
  const save = (text, name) => {
    const file = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    hand(file, `${name}.svg`);
    setTimeout(() => URL.revokeObjectURL(file), 1000);
  };
  const PAINTS = ["color", "fill", "stroke"];
  const standing = (drawing) => { // the colours of the page, written into a copy
    const copy = drawing.cloneNode(true);
    const [from, to] = [drawing, copy].map((one) => [one, ...one.querySelectorAll("*")]);
    from.forEach((one, place) => {
      const computed = getComputedStyle(one);
      PAINTS.forEach((paint) => { if (paint === "color" || one.hasAttribute(paint)) to[place].setAttribute(paint, computed[paint]); });
    });
    return new XMLSerializer().serializeToString(copy);
  };
  const image = (plot, format, scale = 1) => {
    const { width, height } = plot.getBoundingClientRect();
    return Plotly.toImage(plot, { format, width, height, scale });
  };
  const plain = async (plot) => {
    const url = await image(plot, "svg");
    return decodeURIComponent(url.slice(url.indexOf(",") + 1));
  };
  for (const figure of document.querySelectorAll("figure.panel")) {
    const add = (text, click) => {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "save", textContent: text });
      button.addEventListener("click", click);
      figure.append(button);
    };
    const plot = figure.querySelector(".plot"), drawing = figure.querySelector(".drawing svg");
    add("Save SVG", async () => save(plot ? await plain(plot) : standing(drawing), figure.dataset.name));
    if (plot) add("Save PNG", async () => hand(await image(plot, "png", 3), `${figure.dataset.name}.png`));
  }
})();
