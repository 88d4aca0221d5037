"use strict";
// Two logs beside each other: their curves, and the paired differences where they are over the same images.
const comparison = (function () {
  const [section, byPA, byRadius, legend, table, together] = ["compared", "by-p-a", "by-radius", "legend", "differences", "together"].map((id) => document.getElementById(id));
  const scales = new Map(); // svg -> its axes, as drawn last

  function curveOfPA(line, data) { // [p_A, share of images with at least that]
    if (line.own) return line.curves.p_a;
    const known = data.p_a[line.place], axis = data.p_a_axis.slice(data.p_a_axis.length - known.length);
    return known.map((share, at) => [axis[at], share / data.unit]);
  }
  function curveOfAccuracy(line, data) {
    if (line.own) return line.curves.accuracy;
    const points = data.accuracy[line.place].map((share, at) => [(data.end[line.place] * at) / data.steps, share / data.unit]);
    return [...points, ...points.slice(-1).map(([x]) => [x, 0])];
  }

  // What is known of two logs together: ends of intervals of the first less the second, at each level and in ACR; or null.
  function pairOf(one, other, data) {
    const places = one.own || other.own ? [] : [one.place, other.place].sort((a, b) => a - b);
    const found = data.pairs.find(([i, j]) => i === places[0] && j === places[1]);
    if (!found) return null;
    const ends = found.slice(2).map((end) => end / data.finest), pairs = data.levels.concat("acr").map((_, at) => ends.slice(2 * at, 2 * at + 2));
    return one.place < other.place ? pairs : pairs.map(([low, high]) => [-high, -low]);
  }
  const percent = (share) => (share === null ? "–" : (100 * share + 1e-9).toFixed(1));
  const signed = (value, digits) => `${value < 0 ? "−" : "+"}${(Math.abs(value) + 1e-9).toFixed(digits)}`;

  function pairedShare(one, other, place, pair, data) { // difference in points with its interval, as text
    const [a, b] = [one, other].map((line) => line.p_a_at[place]);
    if (a === null || b === null) return "–";
    const level = pair ? data.levels.indexOf(data.p_a_levels[place]) : -1, value = signed(100 * (a - b), 1);
    return level < 0 ? value : `${value} (${pair[level].map((end) => signed(100 * end, 1)).join(" to ")})`;
  }
  function pairedAcr(one, other, pair) {
    const [a, b] = [one.acr[0], other.acr[0]];
    if (a === null || b === null) return "–";
    return signed(a - b, 3) + (pair ? ` (${pair.at(-1).map((end) => signed(end, 3)).join(" to ")})` : "");
  }
  function rowsOf(one, other, pair, data) { // [what, first, second, difference, marked]
    const shares = data.p_a_levels.map((level, at) => [`% with p_A ≥ ${level}`, percent(one.p_a_at[at]), percent(other.p_a_at[at]), pairedShare(one, other, at, pair, data)]);
    const certified = data.radii.map((radius, at) => {
      const [a, b] = [one.certified[at], other.certified[at]];
      return [`% certified at r = ${radius}`, percent(a), percent(b), a === null || b === null ? "–" : signed(100 * (a - b), 1)];
    }).filter(([, a, b]) => a !== "–" || b !== "–");
    const acr = ["ACR *, misleading", ...[one, other].map((line) => (line.acr[0] === null ? "–" : line.acr[0].toFixed(3))), pairedAcr(one, other, pair), true];
    return [...shares, ...certified, acr];
  }
  function fill(chosen, data) {
    table.replaceChildren();
    together.textContent = "";
    if (chosen.length < 2) return;
    const [one, other] = chosen.map(([line]) => line), pair = pairOf(one, other, data);
    const head = table.createTHead().insertRow();
    ["", "A", "B", "A − B"].forEach((title) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = title;
      head.append(cell);
    });
    const body = table.createTBody();
    for (const [what, a, b, difference, marked] of rowsOf(one, other, pair, data)) {
      const row = body.insertRow(), name = document.createElement("th");
      name.scope = "row";
      name.textContent = what;
      row.append(name);
      [a, b, difference].forEach((text) => {
        const cell = row.insertCell();
        cell.textContent = text;
        if (marked) cell.className = "marked";
      });
    }
    together.textContent = said(one, other, pair);
  }
  function said(one, other, pair) {
    if (pair) return `Both are over the same ${one.images.toLocaleString("en")} images. In brackets: paired 95% intervals, each of this one difference alone. They leave out the chance in training.`;
    if (one.own || other.own) return "A leaderboard's JSON does not say which images are certified, so nothing is paired.";
    const differ = [["dataset", "data set"], ["sigma", "sigma"], ["n", "n"]].find(([key]) => one[key] !== other[key]);
    return differ ? `The two differ in ${differ[1]}: their figures are not comparable.` : "Nothing is paired: intervals are kept of two methods over the same images with one network, copies left out.";
  }

  function draw(chosen, data, titleOf, drop) { // chosen: [[line, colour]]
    section.hidden = chosen.length === 0;
    const accuracy = chosen.map(([line]) => curveOfAccuracy(line, data));
    const end = Math.max(0.1, ...accuracy.flat().map(([x]) => x)) * 1.02;
    const known = chosen.map(([line]) => curveOfPA(line, data));
    const start = Math.min(0.5, ...known.flat().map(([x]) => x)) < 0.5 ? 0 : 0.5;
    scales.set(byPA, [charts.axes(byPA, start, 1, start ? 0.1 : 0.25), known]);
    scales.set(byRadius, [charts.axes(byRadius, 0, end, charts.stepTo(end)), accuracy]);
    chosen.forEach(([, colour], at) => {
      charts.path(scales.get(byPA)[0], known[at], colour);
      charts.path(scales.get(byRadius)[0], accuracy[at], colour);
    });
    const items = chosen.map(([line, colour], at) => {
      const item = document.createElement("li"), button = document.createElement("button"), name = document.createElement("span"), read = document.createElement("span");
      button.type = "button";
      button.textContent = "×";
      button.setAttribute("aria-label", `take ${"AB"[at]} off`);
      button.style.color = colour;
      button.addEventListener("click", () => drop(line));
      name.textContent = `${"AB"[at]}: ${titleOf(line)}`;
      item.append(button, read, name);
      return item;
    });
    legend.replaceChildren(...items);
    fill(chosen, data);
  }
  function follow(svg, letter, beyond) { // the figures of both curves at the pointer
    const tell = (texts) => [...legend.children].forEach((item, at) => { item.children[1].textContent = texts[at] || ""; });
    svg.addEventListener("pointermove", (event) => {
      const [scale, curves] = scales.get(svg) || [], x = scale ? charts.point(scale, event) : null;
      if (x === null) return;
      tell(curves.map((points) => {
        const share = charts.read(points, x);
        return `${share === null ? beyond : `${(100 * share + 1e-9).toFixed(1)}%`} at ${letter} = ${x.toFixed(2)} `;
      }));
    });
    svg.addEventListener("pointerleave", () => {
      if (scales.has(svg)) charts.leave(scales.get(svg)[0]);
      tell([]);
    });
  }
  follow(byPA, "p_A", "–");
  follow(byRadius, "r", "0.0%");
  return { draw };
})();
