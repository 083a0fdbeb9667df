// Updates a study's counts while you type, and adds and removes rows without reloading. The form
// also works without this script: every button sends the whole form.
"use strict";

const TYPING_DELAY = 350; // milliseconds after the last key before the counts are requested
const POLL_DELAY = 1200; // milliseconds before the cost is requested, or requested again

const form = () => document.querySelector("form.study-form");
let typingTimer = 0;
let pollTimer = 0;
let requests = new AbortController();

function formData(action) {
  const fields = new URLSearchParams(new FormData(form()));
  if (action) fields.set("do", action);
  return fields;
}

// Post the form. Errors, such as an expired session, are shown by submitting the whole form instead.
async function post(address, fields) {
  const response = await fetch(address, { method: "POST", body: fields, signal: requests.signal });
  if (response.redirected || (!response.ok && response.status !== 422)) throw new Rejected(response.statusText);
  return response.text();
}

class Rejected extends Error {}

// Retry if the server is unreachable, but not if it rejects the form.
function handleError(error, container, retry) {
  if (error instanceof Rejected) container.textContent = "The server rejected the form. Press Check to see why.";
  else if (error.name !== "AbortError") pollTimer = setTimeout(retry, 4 * POLL_DELAY);
}

function part(name) {
  return form().querySelector(`[data-part="${name}"]`);
}

// Show the problems at their fields, and hide solved ones.
function showProblems() {
  const problems = new Map();
  for (const item of part("counts").querySelectorAll("[data-field]")) {
    problems.set(item.dataset.field, item.querySelector("span").textContent);
  }
  for (const line of form().querySelectorAll("[data-problem]")) {
    const text = problems.get(line.dataset.problem) || "";
    line.hidden = !text;
    if (line.textContent !== text) line.textContent = text;
    if (text && line.closest("details")) line.closest("details").open = true;
  }
  for (const field of form().querySelectorAll("[aria-describedby]")) {
    const name = field.getAttribute("aria-describedby").split(" ").pop().slice(2);
    field.toggleAttribute("aria-invalid", problems.has(name));
    if (problems.has(name)) field.setAttribute("aria-invalid", "true");
  }
}

async function updateCounts() {
  requests.abort();
  requests = new AbortController();
  clearTimeout(pollTimer);
  form().classList.add("stale");
  try {
    part("counts").innerHTML = await post(form().dataset.counts, formData());
    form().classList.remove("stale");
    showProblems();
    pollTimer = setTimeout(updateCost, POLL_DELAY);
  } catch (error) {
    handleError(error, part("counts"), updateCounts);
  }
}

async function updateCost() {
  const container = part("cost");
  if (!container || !("ask" in container.dataset)) return;
  try {
    container.innerHTML = await post(form().dataset.cost, formData());
    if (container.querySelector("[data-again]")) pollTimer = setTimeout(updateCost, POLL_DELAY);
  } catch (error) {
    handleError(error, container, updateCost);
  }
}

async function changeRows(button) {
  clearTimeout(typingTimer);
  clearTimeout(pollTimer);
  requests.abort();
  requests = new AbortController();
  try {
    const page = new DOMParser().parseFromString(await post(form().action, formData(button.value)), "text/html");
    form().replaceWith(page.querySelector("form.study-form"));
    const add = `add-${/games|players|people\.path/.exec(button.value)}`;
    const next = form().querySelector("[autofocus]") || form().querySelector(`[value="${add}"]`);
    next.focus();
    updateCost();
  } catch {
    form().requestSubmit(button);
  }
}

document.addEventListener("input", (event) => {
  if (!form()?.contains(event.target)) return;
  clearTimeout(typingTimer);
  typingTimer = setTimeout(updateCounts, TYPING_DELAY);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-stay]");
  if (!button || !form()?.contains(button)) return;
  event.preventDefault();
  changeRows(button);
});

if (form()) updateCost();

// Strategies by game are entered under Settings.
document.addEventListener("change", ({ target }) => {
  if (target.matches?.('[name$=".kind"]') && target.value === "strategies") target.closest(".player").querySelector("details").open = true;
});
