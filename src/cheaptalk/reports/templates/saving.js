"use strict";
(() => { // Every figure can be saved as SVG.
  const save = (text, name) => {
    const file = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    Object.assign(document.createElement("a"), { href: file, download: `${name}.svg` }).click();
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
  const plain = async (plot) => {
    const { width, height } = plot.getBoundingClientRect();
    const url = await Plotly.toImage(plot, { format: "svg", width, height });
    return decodeURIComponent(url.slice(url.indexOf(",") + 1));
  };
  for (const figure of document.querySelectorAll("figure.panel")) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "save", textContent: "Save SVG" });
    button.addEventListener("click", async () => {
      const plot = figure.querySelector(".plot"), drawing = figure.querySelector(".drawing svg");
      save(plot ? await plain(plot) : standing(drawing), figure.dataset.name);
    });
    figure.append(button);
  }
})();
