// Keeps a study's counts fresh while one types, and adds and removes rows without a reload. The form
// works without it: every button sends the whole form.
"use strict";

const PAUSE = 350; // milliseconds without a key after which counts are asked for
const AGAIN = 1200; // milliseconds after which a cost is asked for, or asked for again

const form = () => document.querySelector("form.study-form");
let typing = 0;
let waiting = 0;
let asking = new AbortController();

function typed(deed) {
  const fields = new URLSearchParams(new FormData(form()));
  if (deed) fields.set("do", deed);
  return fields;
}

// The page that answers; a refusal, such as of somebody who was logged out, is shown by sending the form.
async function answer(address, fields) {
  const reply = await fetch(address, { method: "POST", body: fields, signal: asking.signal });
  if (reply.redirected || (!reply.ok && reply.status !== 422)) throw new Refused(reply.statusText);
  return reply.text();
}

class Refused extends Error {}

// A server that cannot be reached is asked again; one that refuses is not.
function failed(error, where, again) {
  if (error instanceof Refused) where.textContent = "This cannot be shown. Press Check to see why.";
  else if (error.name !== "AbortError") waiting = setTimeout(again, 4 * AGAIN);
}

function part(name) {
  return form().querySelector(`[data-part="${name}"]`);
}

// Puts what is to be mended to its fields, and takes away what is mended.
function place() {
  const problems = new Map();
  for (const one of part("counts").querySelectorAll("[data-field]")) {
    problems.set(one.dataset.field, one.querySelector("span").textContent);
  }
  for (const line of form().querySelectorAll("[data-problem]")) {
    const text = problems.get(line.dataset.problem) || "";
    line.hidden = !text;
    if (line.textContent !== text) line.textContent = text;
    if (text && line.closest("details")) line.closest("details").open = true;
  }
  for (const field of form().querySelectorAll("[aria-describedby]")) {
    const of = field.getAttribute("aria-describedby").split(" ").pop().slice(2);
    field.toggleAttribute("aria-invalid", problems.has(of));
    if (problems.has(of)) field.setAttribute("aria-invalid", "true");
  }
}

async function count() {
  asking.abort();
  asking = new AbortController();
  clearTimeout(waiting);
  form().classList.add("stale");
  try {
    part("counts").innerHTML = await answer(form().dataset.counts, typed());
    form().classList.remove("stale");
    place();
    waiting = setTimeout(cost, AGAIN);
  } catch (error) {
    failed(error, part("counts"), count);
  }
}

async function cost() {
  const there = part("cost");
  if (!there || !("ask" in there.dataset)) return;
  try {
    there.innerHTML = await answer(form().dataset.cost, typed());
    if (there.querySelector("[data-again]")) waiting = setTimeout(cost, AGAIN);
  } catch (error) {
    failed(error, there, cost);
  }
}

async function change(button) {
  clearTimeout(typing);
  clearTimeout(waiting);
  asking.abort();
  asking = new AbortController();
  try {
    const page = new DOMParser().parseFromString(await answer(form().action, typed(button.value)), "text/html");
    form().replaceWith(page.querySelector("form.study-form"));
    const add = `add-${/game|step|player/.exec(button.value)}`;
    const next = form().querySelector("[autofocus]") || form().querySelector(`[value="${add}"]`);
    next.focus();
    cost();
  } catch {
    form().requestSubmit(button);
  }
}

document.addEventListener("input", (event) => {
  if (!form()?.contains(event.target)) return;
  clearTimeout(typing);
  typing = setTimeout(count, PAUSE);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-stay]");
  if (!button || !form()?.contains(button)) return;
  event.preventDefault();
  change(button);
});

if (form()) cost();

// Which strategy plays which game is written under Settings.
document.addEventListener("change", ({ target }) => {
  if (target.matches?.('[name$=".kind"]') && target.value === "strategies") target.closest(".player").querySelector("details").open = true;
});
