// Updates a study's counts, file and preview while you type, and changes lists without reloading.
// The form also works without this script: every button sends the whole form.
"use strict";

const TYPING_DELAY = 350; // milliseconds after the last key before the counts are requested
const POLL_DELAY = 1200; // milliseconds before the cost is requested, or requested again

const form = () => document.querySelector("form.study-form");
const MOST_UNDO = 50; // states that can be restored

let typingTimer = 0;
let previewTimer = 0;
let step = ""; // the number of the step that is previewed
let dragged = null; // the member of a list that is being dragged
const past = []; // earlier states of the form, oldest first
let latest = "";
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
    await updateFile();
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

// Show the study file with the form's changes; an invalid form leaves it as it is.
async function updateFile() {
  const file = form().querySelector('[name="file"]');
  if (!file.closest("details").open || file === document.activeElement) return;
  const response = await fetch(form().dataset.file, { method: "POST", body: formData(), signal: requests.signal });
  if (response.ok && !response.redirected) showFile(await response.text());
}

function showFile(text) {
  form().querySelector('[name="file"]').value = text;
  form().querySelector('[name="file-shown"]').value = "";
}

async function updatePreview() {
  const box = form().querySelector(".shown-step");
  const stage = document.getElementById(`people.path.${step}`);
  box.hidden = !stage?.querySelector("[data-preview]");
  if (box.hidden) return;
  box.querySelector("[data-number]").textContent = Number(step) + 1;
  const fields = formData();
  fields.set("step", step);
  const response = await fetch(form().dataset.preview, { method: "POST", body: fields });
  const frame = box.querySelector("iframe");
  part("preview-problem").textContent = response.ok ? "" : part("preview-problem").dataset.text;
  if (!response.ok || response.redirected) return;
  const top = frame.contentWindow?.scrollY || 0;
  frame.onload = () => frame.contentWindow.scrollTo(0, top);
  frame.srcdoc = await response.text();
}

function previewSoon(stage) {
  step = stage.dataset.step;
  clearTimeout(previewTimer);
  previewTimer = setTimeout(updatePreview, TYPING_DELAY);
}

// Names of the open parts of the form, so that they stay open when the form is replaced.
function partNames() {
  const counts = new Map();
  return [...form().querySelectorAll("details")].map((details) => {
    const around = details.id || `${details.parentElement.closest("[id]")?.id}/${details.firstElementChild.textContent.trim()}`;
    counts.set(around, (counts.get(around) || 0) + 1);
    return [details, `${around}/${counts.get(around)}`];
  });
}

// Send the form with an action, and show the form in the answer instead.
async function redraw(fields) {
  clearTimeout(typingTimer);
  clearTimeout(pollTimer);
  requests.abort();
  requests = new AbortController();
  const page = new DOMParser().parseFromString(await post(form().action, fields), "text/html");
  const changed = page.querySelector("form.study-form");
  if (!changed) throw new Rejected("no form");
  const open = new Set(partNames().filter(([details]) => details.open).map(([, name]) => name));
  const frame = form().querySelector(".shown-step");
  form().replaceWith(changed);
  for (const [details, name] of partNames()) if (open.has(name)) details.open = true;
  form().querySelector(".shown-step").replaceWith(frame);
  form().querySelector("[data-undo]").hidden = !past.length;
  latest = formData().toString();
  updateCost();
  if (step) updatePreview();
}

function remember() {
  if (latest && latest !== past.at(-1)) past.push(latest);
  if (past.length > MOST_UNDO) past.shift();
  latest = formData().toString();
  form().querySelector("[data-undo]").hidden = !past.length;
}

async function changeList(button) {
  remember();
  try {
    await redraw(formData(button.value));
    const add = button.value.replace(/^[a-z]+-/, "add-").replace(/(\.\d+)$/, "");
    const next = form().querySelector("[autofocus]") || form().querySelector(`[value="${add}"]`);
    next?.focus();
  } catch {
    form().requestSubmit(button);
  }
}

async function moveMember(source, target) {
  const [, list, number] = /^(.*)\.(\d+)$/.exec(source);
  remember();
  const fields = formData(`move-${list}.${number}`);
  fields.set("to", /\d+$/.exec(target)[0]);
  await redraw(fields);
}

async function undo() {
  const fields = new URLSearchParams(past.pop());
  fields.set("do", "check");
  fields.set("csrf", form().querySelector('[name="csrf"]').value);
  await redraw(fields);
}

document.addEventListener("input", (event) => {
  if (!form()?.contains(event.target)) return;
  if (event.target.name === "file") {
    form().querySelector('[name="file-shown"]').value = "edited";
    return;
  }
  clearTimeout(typingTimer);
  typingTimer = setTimeout(updateCounts, TYPING_DELAY);
  const stage = event.target.closest("[data-step]");
  if (stage) previewSoon(stage);
});

document.addEventListener("change", ({ target }) => {
  if (!form()?.contains(target)) return;
  remember();
  if (target.name === "file") redraw(formData("check"));
  else if ("redraw" in target.dataset) redraw(formData("check"));
  else if (target.name === "preview-language" && step) updatePreview();
  else if ("narrow" in target.dataset) target.closest(".shown-step").classList.toggle("narrow", target.checked);
});

document.addEventListener("toggle", ({ target }) => {
  if (!form()?.contains(target)) return;
  if (target.matches("[data-step]") && target.open) previewSoon(target);
  if (target.querySelector('[name="file"]') && target.open) updateFile();
}, true);

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button || !form()?.contains(button)) return;
  if ("stay" in button.dataset) changeList(button);
  else if ("undo" in button.dataset) undo();
  else if ("preview" in button.dataset) previewSoon(button.closest("[data-step]"));
  else return;
  event.preventDefault();
});

// Members of a list can be dragged to other places in it.
const member = (element) => element.closest?.("[data-step], .member");

document.addEventListener("dragstart", (event) => {
  dragged = event.target.draggable ? member(event.target) : null;
});

document.addEventListener("dragover", (event) => {
  const target = dragged && memberLike(event.target);
  document.querySelector(".dropping")?.classList.remove("dropping");
  if (!target) return;
  target.classList.add("dropping");
  event.preventDefault();
});

document.addEventListener("drop", (event) => {
  const target = dragged && memberLike(event.target);
  document.querySelector(".dropping")?.classList.remove("dropping");
  if (!target || target === dragged) return;
  event.preventDefault();
  moveMember(dragged.id, target.id);
});

// The member of the dragged one's list that contains an element.
function memberLike(element) {
  const list = dragged.id.replace(/\d+$/, "");
  let found = member(element);
  while (found && found.id.replace(/\d+$/, "") !== list) found = member(found.parentElement);
  return found;
}

if (form()) {
  latest = formData().toString();
  updateCost();
}

// Strategies by game are entered under Settings.
document.addEventListener("change", ({ target }) => {
  if (target.matches?.('[name$=".kind"]') && target.value === "strategies") target.closest(".player").querySelector("details").open = true;
});
