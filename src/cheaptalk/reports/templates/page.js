"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const make = (tag, text = "", attributes = {}) =>
    Object.assign(document.createElement(tag), { textContent: text }, attributes);

  const plain = (name) => name.replaceAll("_", " ");
  const capital = (name) => plain(name).replace(/^./u, (first) => first.toUpperCase());

  // Light and dark

  const dark = () => getComputedStyle(root).colorScheme.startsWith("dark")
    || (getComputedStyle(root).colorScheme === "light dark"
        && matchMedia("(prefers-color-scheme: dark)").matches);
  const kept = (value) => {
    try {
      if (value) localStorage.setItem("cheaptalk-theme", value);
      return localStorage.getItem("cheaptalk-theme");
    } catch { return null; } // storage may be closed to local files
  };
  const toggle = document.querySelector(".theme");
  const named = () => { toggle.textContent = dark() ? "Light" : "Dark"; toggle.title = "Switch between light and dark colours"; };
  if (kept()) root.dataset.theme = kept();
  toggle.hidden = false;
  named();
  toggle.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    kept(root.dataset.theme);
    named();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", named);

  // Tables: sort, filter, export

  const key = (cell) => {
    if (!cell) return "";
    if (!("v" in cell.dataset)) {
      const number = Number(cell.textContent.replaceAll(",", ""));
      return cell.textContent === "" || Number.isNaN(number) ? cell.textContent : number;
    }
    return cell.dataset.v === "" ? "" : Number(cell.dataset.v);
  };
  const before = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  };

  function sortBy(header) {
    const table = header.closest("table"), body = table.tBodies[0], place = header.cellIndex;
    const rows = [...body.rows];
    const numeric = header.classList.contains("number");
    const now = header.getAttribute("aria-sort");
    const next = now === "none" ? (numeric ? "descending" : "ascending")
      : now === "ascending" ? "descending" : "ascending";
    all("th[aria-sort]", table).forEach((other) => other.setAttribute("aria-sort", "none"));
    header.setAttribute("aria-sort", next);
    const turn = next === "ascending" ? 1 : -1;
    const keyed = rows.map((row) => [key(row.cells[place]), row]);
    keyed.sort(([a], [b]) => (a === "" || b === "" ? before(a, b) : turn * before(a, b)));
    body.append(...keyed.map(([, row]) => row));
  }

  const headsOf = (table) => [...[...table.tHead.rows].at(-1).cells];
  const titleOf = (head) => (head.querySelector("button") ?? head).textContent.trim();
  const shownRows = (table) => [...table.tBodies[0].rows].filter((row) => !row.hidden);
  const PARTS = { low: "low", high: "high", error: "error", n: "n", clusters: "clusters" };

  function csvOf(table) {
    const quote = (value) => /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
    const heads = headsOf(table);
    const parts = heads.map((_, place) => Object.keys(PARTS).filter((part) =>
      [...table.tBodies[0].rows].some((row) => part in row.cells[place].dataset)));
    const text = (cell) => {
      const plain = "v" in cell.dataset ? cell.dataset.v : cell.textContent.trim();
      return /^[=@\t\r]|^[-+](?!\d*\.?\d+(e[-+]?\d+)?$)/.test(plain) ? `'${plain}` : plain; // no formula for a spreadsheet
    };
    const line = (cells) => cells.map(quote).join(",");
    const top = heads.flatMap((head, place) => parts[place].length
      ? ["mean", ...parts[place].map((part) => PARTS[part])].map((part) => `${titleOf(head)} ${part}`)
      : [titleOf(head)]);
    const rows = shownRows(table).map((row) =>
      line([...row.cells].flatMap((cell, place) =>
        [text(cell), ...parts[place].map((part) => cell.dataset[part] ?? "")])));
    return [line(top), ...rows].join("\r\n") + "\r\n";
  }

  function latexOf(table, name) {
    const signs = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "$<$", ">": "$>$", "\u00a0": "~", "\u2009": "\\,", "…": "\\dots{}" };
    const formulas = { "−": "-", "±": "\\pm", "†": "^\\dagger", "≥": "\\geq", "≤": "\\leq", "≈": "\\approx", "×": "\\times", "✗": "\\times", "✓": "\\surd", "∞": "\\infty", "→": "\\to", "↑": "\\uparrow", "↓": "\\downarrow",
      "α": "\\alpha", "β": "\\beta", "γ": "\\gamma", "δ": "\\delta", "λ": "\\lambda", "μ": "\\mu", "σ": "\\sigma", "Σ": "\\Sigma", "Δ": "\\Delta" };
    const escaped = (text) => text.replace(/[\\&%$#_{}^~<>]|[^\x20-\x7e]/gu, (sign) =>
      (formulas[sign] ? `$${formulas[sign]}$` : signs[sign] ?? (/[&%$#_{}]/.test(sign) ? `\\${sign}` : sign)));
    const said = (cell) => {
      const copy = cell.cloneNode(true), smalls = all("small", copy).map((one) => one.textContent.trim()).filter(Boolean);
      all("small, .about", copy).forEach((one) => one.remove());
      const behind = cell.closest("thead") ? smalls.map((unit) => `(${unit})`)
        : smalls.map((text) => text.replace(/^(\S+) to (\S+?)(?: (†))?$/u, "[$1, $2]$3"));
      return escaped([copy.textContent.trim(), ...behind].join(" "));
    };
    const line = (cells) => `${cells.map(said).join(" & ")} \\\\`;
    const sides = headsOf(table).map((head) => (head.classList.contains("number") ? "r" : "l")).join("");
    const caption = escaped(table.closest(".scroll").ariaLabel ?? name);
    return ["\\begin{table}", `\\caption{${caption}}`, `\\label{tab:${name}}`, `\\begin{tabular}{${sides}}`, "\\toprule", line(headsOf(table)),
      "\\midrule", ...shownRows(table).map((row) => line([...row.cells])), "\\bottomrule", "\\end{tabular}", "\\end{table}", ""].join("\n");
  }

  function download(name, type, ...texts) {
    const file = URL.createObjectURL(new Blob(texts, { type }));
    make("a", "", { href: file, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(file), 1000);
  }

  for (const box of all(".tabular")) {
    const table = box.querySelector("table"), rows = [...table.tBodies[0].rows];
    const found = box.querySelector(".found"), search = box.querySelector("input[type=search]");
    const count = () => {
      const shown = rows.filter((row) => !row.hidden).length;
      const total = `${rows.length} row${rows.length === 1 ? "" : "s"}`;
      found.textContent = shown < rows.length ? `${shown} of ${total}` : total;
    };
    count();
    search?.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const names = all("th, td:not(.number)", row).map((cell) => cell.textContent.toLowerCase()).join(" ");
        row.hidden = !words.every((word) => names.includes(word));
      }
      count();
    });
    all("th[aria-sort] button", table).forEach((button) =>
      button.addEventListener("click", () => sortBy(button.closest("th"))));
    box.querySelector(".csv")?.addEventListener("click", () =>
      download(`${box.dataset.name}.csv`, "text/csv", "\ufeff", csvOf(table)));
    box.querySelector(".latex")?.addEventListener("click", () =>
      download(`${box.dataset.name}.tex`, "application/x-tex", latexOf(table, box.dataset.name)));
  }

  // The reader: transcripts and explanations over the page

  const reader = document.getElementById("reader");
  if (reader) {
    const title = reader.querySelector("h2"), content = reader.querySelector("div");
    reader.querySelector(".close").addEventListener("click", () => reader.close());
    reader.addEventListener("click", (event) => { if (event.target === reader) reader.close(); });
    const show = (heading, ...nodes) => {
      title.textContent = heading;
      content.replaceChildren(...nodes);
      if (!reader.open) reader.showModal();
      reader.scrollTop = 0;
    };

    let unpacked;
    const transcripts = () => unpacked ??= (async () => {
      const packed = atob(document.getElementById("transcripts").textContent);
      const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      return JSON.parse(await new Response(stream).text());
    })();

    const fits = (entry, name, value) => {
      const [what, where] = [name.split("_")[0], name.slice(name.indexOf("_") + 1)];
      const seats = Object.keys(entry.players).filter((seat) => where === seat || where === entry.roles[seat]);
      if (name === "player") return Object.values(entry.players).includes(value);
      if (what === "player") return seats.some((seat) => entry.players[seat] === value);
      if (what === "kind") return seats.some((seat) => (entry.kinds[seat] ?? []).includes(value));
      if (what === "without") return !(value in entry.players);
      if (what === "configuration") return value.split(",").includes(entry.configuration);
      return what !== "status" || entry.status === value;
    };

    const FEW = 3; // maximum number of seats that are named one by one
    const seated = (players) => {
      if (players.length <= FEW) return players.map(([seat, label]) => `${capital(seat)} ${label}`).join(", ");
      const runs = [];
      for (const [, label] of players) {
        if (runs.at(-1)?.label === label) runs.at(-1).count += 1;
        else runs.push({ label, count: 1 });
      }
      return runs.map(({ label, count }) => (count > 1 ? `${label} x ${count}` : label)).join(" / ");
    };

    const opened = (entry, open) => {
      const details = make("details", "", { open });
      details.append(make("summary", `${seated(Object.entries(entry.players))}: ${entry.status}`));
      const body = make("div");
      const fill = () => { if (!body.hasChildNodes()) body.innerHTML = entry.html; }; // escaped when made
      details.append(body);
      if (open) fill();
      details.addEventListener("toggle", fill);
      return details;
    };

    const viewer = new URL(`${document.body.dataset.viewer}/studies/`, location).href;

    window.readMatches = async (url) => {
      const [study, game] = url.href.slice(viewer.length).split(/[/?]/).map(decodeURIComponent);
      const query = [...url.searchParams];
      const players = query.filter(([name]) => name.startsWith("player_"));
      const anywhere = query.filter(([name]) => name === "player").map(([, label]) => label);
    const words = query.filter(([name]) => name.startsWith("kind_") || name === "status")
        .map(([name, value]) => (name === "status" ? value : `answer: ${capital(name.slice(5))} ${plain(value)}`));
      words.unshift(...anywhere);
      if (players.length) words.unshift(seated(players.map(([name, label]) => [name.slice(7), label])));
      const heading = [capital(game ?? study), words.join(", ")].filter(Boolean).join(": ");
      let entries;
      try {
        entries = (await transcripts()).filter((entry) =>
          entry.game === game && query.every(([name, value]) => fits(entry, name, value)));
      } catch {
        show(heading, make("p", "This browser can't decompress the transcripts. Open them in the viewer."));
        return;
      }
      const said = entries.length
        ? `This page contains a random sample of ${entries.length} of these matches. `
        : "This page's sample contains none of these matches. ";
      const note = make("p", said);
      const { command } = document.body.dataset;
      note.append("To see all of them, ", make("a", "open the viewer", { href: url.href, target: "_blank", rel: "noreferrer" }),
        ...(command ? [" (while ", make("code", command), " runs)."] : ["."]));
      show(heading, note, ...entries.map((entry, place) => opened(entry, place === 0)));
    };

    document.addEventListener("click", (event) => {
      const row = event.target.closest("tr.leads"); // every number leads where its row's name does
      const link = event.target.closest("a[href]") ?? (row && !String(getSelection()) ? row.querySelector("th a[href]") : null);
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || (link.target.baseVal ?? link.target)) return;
      const address = link.href.baseVal ?? link.href; // of a mark in a chart, or of a link
      if (address.startsWith(viewer)) {
        event.preventDefault();
        window.readMatches(new URL(address));
      } else if (link.classList.contains("about")) {
        const term = document.getElementById(link.hash.slice(1));
        if (!term) return;
        event.preventDefault();
        const texts = [];
        for (let next = term.nextElementSibling; next?.tagName === "DD"; next = next.nextElementSibling) {
          texts.push(make("p", next.textContent, { className: "docs" }));
        }
        show(term.firstChild.textContent, ...texts);
      }
    });
  }

  // On paper

  let closed = [];
  addEventListener("beforeprint", () => {
    root.dataset.before = root.dataset.theme ?? "";
    root.dataset.theme = "light";
    closed = all("main details:not([open])");
    closed.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => {
    root.dataset.theme = root.dataset.before;
    if (!root.dataset.before) delete root.dataset.theme;
    closed.forEach((details) => { details.open = false; });
  });
})();
