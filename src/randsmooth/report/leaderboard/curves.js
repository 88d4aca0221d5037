"use strict";
// The curves of the lines whose names are pressed, drawn from the page's data.
(function () {
  const MOST = 8, WIDE = 480, HIGH = 200, LEFT = 34, RIGHT = 8, TOP = 8, BOTTOM = 24;
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7500", "#7f7f7f"];
  const data = JSON.parse(document.getElementById("data").textContent);
  const lines = [...document.querySelectorAll("tr.line")];
  const known = new Map(lines.map((line, place) => [line, data.lines[place]]));
  const [section, byRadius, byPA, legend, clear] = ["curves", "by-radius", "by-p-a", "legend", "clear"].map((id) => document.getElementById(id));
  const drawn = []; // [line, colour], in the order in which they were pressed

  function add(parent, tag, attributes, text) {
    const element = document.createElementNS(byRadius.namespaceURI, tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }
  const across = (share) => LEFT + share * (WIDE - LEFT - RIGHT);
  const up = (share) => HIGH - BOTTOM - share * (HIGH - TOP - BOTTOM);

  function axes(svg, end, step) {
    svg.replaceChildren();
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      add(svg, "line", { x1: across(0), x2: across(1), y1: up(share), y2: up(share), class: "grid" });
      add(svg, "text", { x: LEFT - 5, y: up(share) + 4, "text-anchor": "end" }, String(100 * share));
    }
    for (let x = 0; x <= end * 1.0001; x += step) {
      add(svg, "text", { x: across(x / end), y: HIGH - 7, "text-anchor": "middle" }, String(Number(x.toFixed(3))));
    }
    return add(svg, "line", { y1: up(0), y2: up(1), class: "pointed", visibility: "hidden" });
  }
  function path(svg, points, colour) {
    const way = points.map(([x, y], place) => `${place ? "L" : "M"}${across(x).toFixed(1)} ${up(y).toFixed(1)}`).join("");
    if (points.length) add(svg, "path", { d: way, stroke: colour, class: "curve" });
  }
  // [radius or level, share] along a line's two curves
  const accuracy = (line) => known.get(line)[5].map((share, place) => [(known.get(line)[4] * place) / data.steps, share / data.unit]);
  const probability = (line) => {
    const shares = known.get(line)[6], from = data.levels.length - shares.length;
    return shares.map((share, place) => [data.levels[from + place], share / data.unit]);
  };
  function read(points, x) { // the share at x, between two points
    const after = points.findIndex(([at]) => at >= x);
    if (after < 0 || points.length === 0 || x < points[0][0]) return null;
    if (after === 0) return points[0][1];
    const [[x0, y0], [x1, y1]] = [points[after - 1], points[after]];
    return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
  }

  function draw() {
    section.hidden = drawn.length === 0;
    const end = Math.max(0.1, ...drawn.map(([line]) => known.get(line)[4])) * 1.02;
    const steps = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50, 100, 200];
    charts.set(byRadius, [axes(byRadius, end, steps.find((step) => end / step <= 8) || end), end]);
    charts.set(byPA, [axes(byPA, 1, 0.25), 1]);
    for (const [line, colour] of drawn) {
      const points = accuracy(line);
      const fall = points.slice(-1).map(([x]) => [x, 0]); // none without labels
      path(byRadius, [...points, ...fall].map(([x, y]) => [x / end, y]), colour);
      path(byPA, probability(line), colour);
      line.cells[0].style.setProperty("--drawn", colour);
    }
    describe();
  }
  function titleOf(line) {
    return [...line.querySelectorAll("td.fact bdi"), ...line.querySelectorAll("th bdi")].map((part) => part.textContent).join(" · ");
  }
  function describe(curve, x, letter) {
    legend.replaceChildren(...drawn.map(([line, colour]) => {
      const item = document.createElement("li"), button = document.createElement("button"), text = document.createElement("span");
      const share = curve ? read(curve(line), x) : null;
      button.type = "button";
      button.textContent = "×";
      button.title = "take it off";
      button.style.color = colour;
      button.addEventListener("click", () => toggle(line));
      text.textContent = (curve ? `${share === null ? (letter === "r" ? "0.0" : "–") : (100 * share).toFixed(1)}% at ${letter} = ${x.toFixed(2)}   ` : "") + titleOf(line);
      text.title = known.get(line)[2];
      item.append(button, text);
      return item;
    }));
  }
  const charts = new Map(); // svg -> [the line under the pointer, the last x], as drawn last
  function follow(svg, curve, letter) { // the figures of all curves at the pointer
    svg.addEventListener("pointermove", (event) => {
      if (!charts.has(svg)) return;
      const box = svg.getBoundingClientRect(), place = ((event.clientX - box.left) / box.width) * WIDE, [mark, end] = charts.get(svg);
      const x = ((place - LEFT) / (WIDE - LEFT - RIGHT)) * end, inside = x >= 0 && x <= end;
      mark.setAttribute("visibility", inside ? "visible" : "hidden");
      mark.setAttribute("x1", place);
      mark.setAttribute("x2", place);
      if (inside) describe(curve, x, letter);
    });
    svg.addEventListener("pointerleave", () => {
      if (charts.has(svg)) charts.get(svg)[0].setAttribute("visibility", "hidden");
      describe();
    });
  }
  function toggle(line) {
    const place = drawn.findIndex(([other]) => other === line);
    if (place >= 0) drawn.splice(place, 1);
    else {
      if (drawn.length === MOST) toggle(drawn[0][0]);
      drawn.push([line, COLOURS.find((colour) => drawn.every(([, taken]) => taken !== colour))]);
    }
    line.cells[0].style.removeProperty("--drawn");
    line.querySelector("th button").setAttribute("aria-pressed", String(place < 0));
    draw();
  }
  document.getElementById("board").addEventListener("click", (event) => {
    const button = event.target.closest("tr.line > th button");
    if (button) toggle(button.closest("tr"));
  });
  follow(byRadius, accuracy, "r");
  follow(byPA, probability, "p_A");
  clear.addEventListener("click", () => [...drawn].forEach(([line]) => toggle(line)));
})();
