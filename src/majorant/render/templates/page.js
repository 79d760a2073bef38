"use strict";
// Optional: the page is complete, and its sections fold, without this script.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = table.tHead.rows[0].cells;
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sortBy(table, heads, head));
  }
}
function sortBy(table, heads, head) {
  const down = head.getAttribute("aria-sort") !== "descending";
  for (const other of heads) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (row) => {
    const cell = row.cells[head.cellIndex];
    const data = cell.querySelector("data");
    return data ? Number(data.value) : cell.textContent.trim();
  };
  const body = table.tBodies[0];
  const order = (a, b) => {
    const x = key(a), y = key(b);
    const less = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return down ? -less : less;
  };
  body.append(...[...body.rows].sort(order));
  table.closest(".first")?.nextElementSibling.click();  // after sorting, other rows come first: show all
}

// Show the first rows of a long table, and the rest after a click.
for (const box of document.querySelectorAll("[data-first]")) {
  const rows = [...box.querySelectorAll("tbody tr:not(.group)")], most = Number(box.dataset.first);
  if (rows.length < most + 3) continue;
  for (const row of rows.slice(most)) row.classList.add("later");
  for (const head of box.querySelectorAll("tr.group")) head.classList.toggle("later", !head.parentElement.querySelector("tr:not(.group):not(.later)"));
  const button = document.createElement("button");
  button.type = "button";
  button.className = "all";
  button.textContent = `Show all ${rows.length}`;
  button.addEventListener("click", () => { box.classList.remove("first"); button.remove(); });
  box.classList.add("first");
  box.after(button);
}

// A click copies a command, or selects it if the browser does not allow copying.
for (const command of document.querySelectorAll("[data-copy]")) {
  const button = document.createElement("button"), text = command.textContent;
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command);
    }
  });
  const code = document.createElement("code");
  code.append(...command.childNodes);
  command.append(code, button);
}

// The index unfolds the section that a link points to, and marks the section being read.
const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const unfold = () => {
  const part = document.getElementById(location.hash.slice(1)), fold = part?.querySelector("details.part");
  if (!fold || fold.open) return;
  fold.open = true;
  part.scrollIntoView();
};
for (const link of links.values()) link.addEventListener("click", () => setTimeout(unfold));
window.addEventListener("hashchange", unfold);
unfold();
const mark = () => {
  const parts = [...links.keys()].map((id) => document.getElementById(id));
  const past = parts.filter((part) => part.getBoundingClientRect().top < innerHeight / 3);
  const read = innerHeight + scrollY >= document.documentElement.scrollHeight - 2 ? parts.at(-1) : (past.at(-1) ?? parts[0]);
  for (const [id, link] of links) {
    if (id !== read.id) link.removeAttribute("aria-current");
    else if (!link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
      const list = link.closest("ul");
      list.scrollLeft = link.offsetLeft - list.clientWidth / 3;
    }
  }
};
let waiting = false;
const later = () => {
  if (!waiting) requestAnimationFrame(() => { waiting = false; mark(); });
  waiting = true;
};
addEventListener("scroll", later, { passive: true });
addEventListener("resize", later);
mark();

// Unfold everything for printing.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
