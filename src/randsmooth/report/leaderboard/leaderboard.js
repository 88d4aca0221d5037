"use strict";
(function () {
  const table = document.getElementById("board"), bodies = [...table.tBodies];
  const lines = [...table.querySelectorAll("tr.line")];
  const home = new Map(lines.map((line) => [line, line.parentElement]));
  const words = new Map(lines.map((line) => [line, [...line.querySelectorAll("th, td.fact")].map((cell) => cell.textContent).join(" ").toLowerCase()]));
  const picks = [...document.querySelectorAll("select[data-by]")];
  const [find, grouped, intervals, shown] = ["find", "grouped", "intervals", "shown"].map((id) => document.getElementById(id));

  // The heads in the order of a line's cells: the second row of heads fills the gaps that the spanning ones leave.
  const under = [...table.tHead.rows[1].cells];
  const heads = [...table.tHead.rows[0].cells].flatMap((head) => (head.scope === "colgroup" ? under.splice(0, head.colSpan) : [head]));
  let sorted = heads.findIndex((head) => head.ariaSort || head.hasAttribute("aria-sort"));
  let way = -1;

  function value(line) {
    const cell = line.cells[sorted], text = cell.textContent.trim();
    if (text === "–") return null;
    return "v" in cell.dataset ? Number(cell.dataset.v) : text;
  }
  function compare(a, b) { // what is not known comes last, whichever way
    const one = value(a), other = value(b);
    if (one === null || other === null) return (one === null) - (other === null);
    return way * (typeof one === "number" ? one - other : one.localeCompare(other, undefined, { numeric: true }));
  }
  function arrange() { // ties stay in the order of the p_A curves
    [...lines].sort(compare).forEach((line) => (grouped.checked ? home.get(line) : bodies[0]).append(line));
    table.classList.toggle("apart", grouped.checked);
    filter();
  }
  function filter() {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const line of lines) {
      const picked = picks.every((pick) => !pick.value || line.dataset[pick.dataset.by] === pick.value);
      line.hidden = !(picked && wanted.every((word) => words.get(line).includes(word)));
    }
    for (const body of bodies) {
      const left = [...body.rows].some((row) => row.classList.contains("line") && !row.hidden);
      body.rows[0].hidden = !grouped.checked || !left;
    }
    const count = lines.filter((line) => !line.hidden).length;
    shown.textContent = `${count} of ${lines.length} ${lines.length === 1 ? "table" : "tables"} shown`;
  }
  heads.forEach((head, place) => head.querySelector("button").addEventListener("click", () => {
    const numeric = lines.some((line) => "v" in line.cells[place].dataset);
    way = place === sorted ? -way : numeric ? -1 : 1;
    sorted = place;
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", way < 0 ? "descending" : "ascending");
    arrange();
  }));
  find.addEventListener("input", filter);
  picks.forEach((pick) => pick.addEventListener("change", filter));
  grouped.addEventListener("change", arrange);
  intervals.addEventListener("change", () => table.classList.toggle("intervals", intervals.checked));
  document.querySelectorAll(".js").forEach((element) => element.classList.remove("js"));
  table.classList.toggle("intervals", intervals.checked);
  arrange();  // a browser may bring back what was chosen before
})();
