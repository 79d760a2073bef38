"use strict";
// Optional: adds drag and drop, progress without reloads, and keyboard shortcuts.

function dropping(form) {
  const input = form.querySelector("input[type=file]"), sending = form.querySelector(".sending");
  const wrong = form.querySelector(".wrong"), bar = sending.querySelector("progress"), status = sending.querySelector("[role=status]");
  const say = (text) => { wrong.textContent = text; wrong.hidden = !text; };
  const send = () => {
    const size = [...input.files].reduce((sum, file) => sum + file.size, 0);
    if (!input.files.length) return;
    if (size > Number(form.dataset.limit)) {
      say(`The file exceeds the upload limit of ${form.dataset.limitWords}. To open a large file without uploading it, restart the server with the file: majorant serve votes.csv`);
      return;
    }
    say("");
    const request = new XMLHttpRequest(), names = [...input.files].map((file) => file.name).join(", ");
    form.classList.add("busy");
    sending.hidden = false;
    status.textContent = `Sending ${names}`;
    request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = 100 * event.loaded / event.total; });
    const failed = () => { form.classList.remove("busy"); sending.hidden = true; say("The upload failed. If the server is still running, choose the file again."); };
    request.addEventListener("error", failed);
    request.addEventListener("load", () => {
      if (request.status < 400) { location.assign(request.responseURL); return; }
      failed();
      const page = new DOMParser().parseFromString(request.responseText, "text/html").querySelector("[role=alert]");
      if (page) say(page.textContent);
    });
    request.open("POST", form.action);
    request.send(new FormData(form));
  };
  form.classList.add("alive");
  input.addEventListener("change", send);
  form.addEventListener("submit", (event) => { event.preventDefault(); send(); });
  let depth = 0;
  addEventListener("dragenter", (event) => { event.preventDefault(); depth += 1; form.classList.add("over"); });
  addEventListener("dragleave", () => { depth -= 1; if (depth <= 0) form.classList.remove("over"); });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    form.classList.remove("over");
    if (event.dataTransfer.files.length) { input.files = event.dataTransfer.files; send(); }
  });
}

function polling(place) {
  const now = place.querySelector("[data-now]"), note = place.querySelector("[data-note]"), clock = place.querySelector("[data-clock]");
  const began = Date.now();
  const put = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };
  const ask = async () => {
    let told;
    try {
      told = await (await fetch(place.dataset.poll)).json();
    } catch {
      put(now, "The server does not respond.");
      setTimeout(ask, 3000);
      return;
    }
    if (!told.busy || (told.state !== place.dataset.state && told.state === "looking")) { location.reload(); return; }
    put(now, told.now);
    put(note, told.note);
    put(clock, `${Math.round((Date.now() - began) / 1000)} seconds`);
    for (const stage of told.stages) {
      const line = place.querySelector(`[data-stage="${stage.key}"]`);
      if (!line) continue;
      line.className = stage.state;
      if (stage.state === "now") line.setAttribute("aria-current", "step"); else line.removeAttribute("aria-current");
    }
    setTimeout(ask, 500);
  };
  setTimeout(ask, 300);
}

function showingRoles(form) {
  const heads = [...form.querySelectorAll("th[data-column]")];
  const pickers = [...form.querySelectorAll("select[data-role]")];
  const show = () => {
    const role = new Map(pickers.map((picker) => [picker.selectedOptions[0].dataset.column, picker.dataset.role]));
    for (const head of heads) {
      const own = role.get(head.dataset.column) ?? "";
      head.className = own;
      head.querySelector(".role").textContent = own;
    }
  };
  for (const picker of pickers) picker.addEventListener("change", show);
}

// Labels are sent without leaving the page: the server's response replaces the form.
function labelling() {
  let sending = false;
  document.addEventListener("submit", async (event) => {
    const form = event.target, button = event.submitter;
    if (!form.closest("[data-labelling]") || button?.value === "finish") return;
    event.preventDefault();
    if (sending) return;
    sending = true;
    const body = new FormData(form, button);
    let answer, page;
    try {
      answer = await fetch(form.action, { method: "POST", body });
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      form.submit();
      return;
    } finally {
      sending = false;
    }
    const now = document.querySelector("[data-labelling]"), next = page.querySelector("[data-labelling]");
    if (!next) { location.assign(answer.url); return; }
    history.replaceState(null, "", answer.url);
    now.replaceWith(next);
    next.querySelector(".item")?.focus({ preventScroll: true });  // not a button, which would look preselected
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const button = document.querySelector(`[data-keys] button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (button && !button.disabled) { event.preventDefault(); button.click(); }
  });
}

for (const form of document.querySelectorAll("[data-drop]")) dropping(form);
for (const place of document.querySelectorAll("[data-poll]")) polling(place);
for (const form of document.querySelectorAll("[data-columns]")) showingRoles(form);
if (document.querySelector("[data-labelling]")) labelling();
