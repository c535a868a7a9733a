"use strict";
// Sorts tables and shows notes on hover. The page also works without this script.

const tip = document.getElementById("tip");

function readCell(row, column) {
  const cell = row.cells[column];
  if ("value" in cell.dataset) return cell.dataset.value === "" ? null : Number(cell.dataset.value);
  const text = cell.textContent.trim();
  if (text === "" || text === "–") return null;
  return cell.classList.contains("n") && !Number.isNaN(Number(text)) ? Number(text) : text;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

function sortTable(table, header, column) {
  const direction = header.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  const sign = direction === "ascending" ? 1 : -1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction);
  const rows = Array.from(table.tBodies[0].rows, (row) => [readCell(row, column), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);  // missing values last, in either order
    return sign * compare(a, b);
  });
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
    if (header.classList.contains("plain")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sortTable(table, header, column));
    header.append(button);
  });
}

function showTip(event) {
  const note = event.target.closest?.("[data-note]")?.dataset.note;
  tip.hidden = !note;
  if (!note) return;
  tip.textContent = note;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
  const above = event.clientY - height - 12;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${above > 8 ? above : event.clientY + 18}px`;
}

for (const chart of document.querySelectorAll(".chart")) {
  // Browsers show titles late and small: replace them by our own notes.
  for (const title of chart.querySelectorAll("title")) {
    title.parentNode.dataset.note = title.textContent;
    title.remove();
  }
  chart.addEventListener("pointermove", showTip);
  chart.addEventListener("pointerleave", () => { tip.hidden = true; });
}

// Open all details for printing.
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
