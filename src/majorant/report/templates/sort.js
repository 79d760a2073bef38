"use strict";
// Sorting is a comfort: without it the tables stand as they were made.
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
