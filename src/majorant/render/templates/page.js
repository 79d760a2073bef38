"use strict";
// All of this is comfort: without it the page stands as it was made, and its parts fold by themselves.
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
}

// The index unfolds what it leads to, and marks the part that is being read.
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

// Paper shows everything.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
