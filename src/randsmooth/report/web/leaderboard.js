"use strict";
// Sorting, filtering and intervals. With many tables each setting shows its best lines first, the others on demand.
(function () {
  const MANY = 200, BEST = 8, MIXED = 200; // tables above which lines are held back; lines shown of a setting, and of all
  const data = JSON.parse(document.getElementById("data").textContent);
  const table = document.getElementById("board"), bodies = [...table.tBodies];
  const lines = [...table.querySelectorAll("tr.line")];
  const known = new Map(lines.map((line, place) => [line, data.lines[place]]));
  const home = new Map(lines.map((line) => [line, line.parentElement]));
  const words = new Map(lines.map((line) => [line, [...line.querySelectorAll("th, td.fact"), { textContent: known.get(line)[2] }].map((cell) => cell.textContent).join(" ").toLowerCase()]));
  const picks = [...document.querySelectorAll("select[data-by]")];
  const [find, grouped, intervals, shown] = ["find", "grouped", "intervals", "shown"].map((id) => document.getElementById(id));
  const whole = new Set(); // settings of which all lines are shown

  // The heads in the order of a line's cells: the second row of heads fills the gaps that the spanning ones leave.
  const under = [...table.tHead.rows[1].cells];
  const heads = [...table.tHead.rows[0].cells].flatMap((head) => (head.scope === "colgroup" ? under.splice(0, head.colSpan) : [head]));
  const figures = heads.length - data.lines[0][3].length; // the first column with an interval
  const ranking = figures; // the column that ranks: settings may have different radii in it
  let sorted = heads.findIndex((head) => head.hasAttribute("aria-sort"));
  let way = -1;

  const more = new Map(bodies.map((body) => {
    const row = body.insertRow(), cell = row.insertCell(), button = document.createElement("button");
    row.className = "more";
    row.hidden = true;
    cell.colSpan = heads.length;
    button.type = "button";
    button.addEventListener("click", () => { whole.add(body); filter(); });
    cell.append(button);
    return [body, row];
  }));

  function value(line, place) {
    const cell = line.cells[place];
    const text = (cell.querySelector("bdi, b, u") || cell.firstChild).textContent.trim();
    if (text === "–") return null;
    return /^[\d.,]+$/.test(text) ? Number(text.replaceAll(",", "")) : text;
  }
  function mark() { // the head of the column that sorts
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    heads[sorted].setAttribute("aria-sort", way < 0 ? "descending" : "ascending");
  }
  function arrange() { // ties stay in the order of the ranking
    const mixed = !grouped.checked && !data.one_radius; // accuracies at different radii make no order
    table.classList.toggle("mixed", mixed);
    if (mixed && sorted === ranking) {
      sorted = ranking + 1;
      way = -1;
      mark();
    }
    const values = new Map(lines.map((line) => [line, sorted < 0 ? null : value(line, sorted)]));
    for (const line of [...lines].sort((a, b) => ordering.compare(values.get(a), values.get(b), way))) {
      (grouped.checked ? home.get(line) : bodies[0]).append(line);
    }
    more.forEach((row, body) => body.append(row));
    table.classList.toggle("apart", grouped.checked);
    filter();
  }
  function filter() {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const asked = picks.filter((pick) => pick.value).map((pick) => [data.filters.indexOf(pick.dataset.by), Number(pick.value)]);
    const fits = (line) => asked.every(([by, place]) => known.get(line)[0][by] === place) && wanted.every((word) => words.get(line).includes(word));
    const found = new Set(lines.filter(fits));
    const most = found.size <= MANY ? Infinity : grouped.checked ? BEST : MIXED;
    for (const body of bodies) {
      const own = [...body.rows].filter((row) => row.classList.contains("line"));
      let left = 0;
      for (const line of own) {
        if (found.has(line)) left += 1;
        line.hidden = !found.has(line) || (left > most && !whole.has(body));
        if (!line.hidden && intervals.checked) addIntervals(line);
      }
      body.rows[0].hidden = !grouped.checked || !left;
      more.get(body).hidden = left <= most || whole.has(body);
      more.get(body).querySelector("button").textContent = `show ${(left - most).toLocaleString("en")} more`;
    }
    const count = (number) => number.toLocaleString("en");
    shown.textContent = `${count(found.size)} of ${count(lines.length)} ${lines.length === 1 ? "table" : "tables"} ${most === Infinity ? "shown" : "found"}.`;
  }

  function interval(line, place) {
    const ends = known.get(line)[3][place - figures] || [];
    const digits = place === heads.length - 1 ? 3 : 1;
    return ends.map((end) => end.toFixed(digits));
  }
  function addIntervals(line) {
    [...line.cells].slice(figures).forEach((cell, place) => {
      const ends = interval(line, place + figures);
      if (ends.length === 0 || cell.querySelector("small")) return;
      const small = document.createElement("small");
      small.textContent = ends.join("–");
      cell.append(small);
    });
  }
  table.addEventListener("mouseover", (event) => { // what a reader points at is explained then, not for all cells at once
    const cell = event.target.closest("tr.line > *"), line = cell && cell.parentElement;
    if (!cell || cell.title) return;
    if (cell.cellIndex === 0) cell.title = [known.get(line)[2], ...known.get(line)[1].map((note) => data.notes[note])].join("\n");
    else if (cell.cellIndex < figures) cell.title = cell.textContent === "–" ? "" : cell.textContent;
    else if (interval(line, cell.cellIndex).length) cell.title = `95% interval ${interval(line, cell.cellIndex).join(" to ")}`;
  });

  heads.forEach((head, place) => head.querySelector("button").addEventListener("click", () => {
    const numeric = lines.some((line) => typeof value(line, place) === "number");
    way = place === sorted ? -way : numeric ? -1 : 1;
    sorted = place;
    mark();
    arrange();
  }));
  find.addEventListener("input", filter);
  picks.forEach((pick) => pick.addEventListener("change", filter));
  grouped.addEventListener("change", arrange);
  intervals.addEventListener("change", () => { table.classList.toggle("intervals", intervals.checked); filter(); });
  if (matchMedia("(max-width: 40rem)").matches) document.querySelector("details.find").open = false; // figures come first there
  document.querySelectorAll(".js").forEach((element) => element.classList.remove("js"));
  table.classList.toggle("intervals", intervals.checked);
  if (grouped.checked) filter(); // a browser may bring back what was chosen before
  else arrange();
})();
