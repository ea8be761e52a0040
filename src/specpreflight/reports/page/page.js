"use strict";
{
  const form = document.querySelector(".controls");
  const table = document.querySelector(".scroll table");
  const body = table.tBodies[0];
  const launches = Array.from(body.rows, (row) => {
    const article = document.getElementById(row.dataset.launch);
    const findings = Array.from(article.querySelectorAll(".finding"), (section) => ({
      section, severity: section.dataset.severity, text: section.textContent.toLowerCase(),
    }));
    const name = row.cells[0].textContent + " " + row.cells[1].textContent + " " + row.cells[2].textContent;
    return { row, article, findings, text: name.toLowerCase() };
  });

  /** Show the launches and findings that the words and the severities mean. */
  function filter() {
    const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const severities = new Set(
      Array.from(form.elements.severity).filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    for (const { row, article, findings, text } of launches) {
      const left = words.filter((word) => !text.includes(word));
      let found = 0;
      for (const finding of findings) {
        const fits = severities.has(finding.severity)
          && left.every((word) => finding.text.includes(word));
        finding.section.hidden = !fits;
        found += fits;
      }
      const wanted = found > 0 || (left.length === 0 && !form.elements.found.checked);
      row.hidden = article.hidden = !wanted;
      shown += wanted;
    }
    for (const mark of table.querySelectorAll(".mark")) {
      mark.hidden = !severities.has(mark.dataset.severity);
    }
    for (const cell of table.querySelectorAll(".rule")) {
      cell.hidden = !severities.has(cell.dataset.severity);
    }
    form.elements.shown.value = `${shown} of ${launches.length} launches`;
  }

  /** Sort the rows by a column; the same column again turns the order around. */
  function sort(head) {
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.cells[head.cellIndex];
      return cell.dataset.key ?? cell.textContent.trim();
    };
    const rows = Array.from(body.rows);
    rows.sort((one, other) => key(one).localeCompare(key(other), "en", { numeric: true }));
    if (descending) rows.reverse();
    body.append(...rows);
  }

  for (const head of table.tHead.rows[0].cells) {
    head.querySelector("button").addEventListener("click", () => sort(head));
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();

  // A mark may lead to a finding that is filtered out: show it.
  const reveal = () => {
    const section = document.getElementById(location.hash.slice(1));
    if (section?.hidden) section.hidden = false;
    section?.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();
}
