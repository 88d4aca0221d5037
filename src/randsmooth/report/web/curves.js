"use strict";
// The curves of the lines whose names are pressed, drawn from the page's data.
(function () {
  const MOST = charts.DASHES.length;
  const data = JSON.parse(document.getElementById("data").textContent);
  const lines = [...document.querySelectorAll("tr.line")];
  const known = new Map(lines.map((line, place) => [line, data.lines[place]]));
  const [section, byRadius, byPA, legend, clear] = ["curves", "by-radius", "by-p-a", "legend", "clear"].map((id) => document.getElementById(id));
  const drawn = []; // [line, colour, dash], in the order in which they were pressed

  // [radius or place of p_A, share] along a line's two curves
  const accuracy = (line) => known.get(line)[5].map((share, place) => [(known.get(line)[4] * place) / data.steps, share / data.unit]);
  const probability = (line) => {
    const shares = known.get(line)[6], from = data.quantiles.length - shares.length;
    return shares.map((share, place) => [data.quantiles[from + place], share / data.unit]);
  };
  const levels = data.quantiles.map((at, place) => [at, data.levels[place]]);
  const levelAt = (x) => { const p = charts.read(levels, x); return p === null ? 1 : p; };

  function draw() {
    section.hidden = drawn.length === 0;
    document.getElementById("radius").textContent = drawn.length ? known.get(drawn[0][0])[7] : "";
    const end = Math.max(0.1, ...drawn.map(([line]) => known.get(line)[4])) * 1.02;
    scales.set(byRadius, charts.axes(byRadius, 0, end, charts.marksTo(end)));
    scales.set(byPA, charts.axes(byPA, ...data.ends, data.marks));
    for (const [line, colour, dash] of drawn) {
      const points = accuracy(line);
      const fall = points.slice(-1).map(([x]) => [x, 0]); // none without labels
      charts.path(scales.get(byRadius), [...points, ...fall], colour, dash);
      charts.path(scales.get(byPA), probability(line), colour, dash);
      line.cells[0].style.setProperty("--drawn", colour);
    }
    byRadius.setAttribute("aria-label", words("Certified accuracy by radius", accuracy, [0, 0.25, 0.5, 0.75].map((part) => [part * end, `radius ${(part * end).toFixed(2)}`])));
    byPA.setAttribute("aria-label", words("Images with p_A of at least x", probability, data.marks.map(([x, text]) => [x, text])));
    describe();
  }
  function words(title, curve, stops) { // what a chart shows, for who does not see it
    const told = ([line]) => titleOf(line) + ": " + stops.flatMap(([x, text]) => {
      const share = charts.read(curve(line), x);
      return share === null ? [] : [`${(100 * share + 1e-9).toFixed(1)}% at ${text}`];
    }).join(", ");
    return `${title}. ${drawn.map(told).join("; ")}.`;
  }
  function titleOf(line) { // its name, then the facts that the name does not say
    const name = line.querySelector("th button bdi").textContent;
    const facts = [...line.querySelectorAll("td.fact:not(.num) bdi")].map((part) => part.textContent);
    return [name, ...facts.filter((fact) => fact !== name)].join(" · ");
  }
  function describe(curve, x, letter) {
    legend.replaceChildren(...drawn.map(([line, colour, dash]) => {
      const item = document.createElement("li"), button = document.createElement("button"), text = document.createElement("span");
      const share = curve ? charts.read(curve(line), x) : null;
      button.type = "button";
      button.textContent = "×";
      button.title = "take it off";
      button.style.color = colour;
      button.addEventListener("click", () => toggle(line));
      text.textContent = (curve ? `${share === null ? (letter === "r" ? "0.0" : "–") : (100 * share + 1e-9).toFixed(1)}% at ${letter} = ${letter === "r" ? x.toFixed(2) : Number(levelAt(x).toPrecision(4))}   ` : "") + titleOf(line);
      text.title = known.get(line)[2];
      const sample = byRadius.cloneNode(false);
      ["id", "role", "aria-label"].forEach((name) => sample.removeAttribute(name));
      Object.entries({ viewBox: "0 0 34 8", class: "sample", "aria-hidden": "true" }).forEach(([name, value]) => sample.setAttribute(name, value));
      charts.add(sample, "line", { x1: 0, x2: 34, y1: 4, y2: 4, stroke: colour, "stroke-dasharray": dash, class: "curve" });
      item.append(button, sample, text);
      return item;
    }));
  }
  const scales = new Map(); // svg -> its axes, as drawn last
  function follow(svg, curve, letter) { // the figures of all curves at the pointer
    svg.addEventListener("pointermove", (event) => {
      const x = scales.has(svg) ? charts.point(scales.get(svg), event) : null;
      if (x !== null) describe(curve, x, letter);
    });
    svg.addEventListener("pointerleave", () => {
      if (scales.has(svg)) charts.leave(scales.get(svg));
      describe();
    });
  }
  function toggle(line) {
    const place = drawn.findIndex(([other]) => other === line);
    if (place >= 0) drawn.splice(place, 1);
    else {
      [...drawn].filter(([other]) => known.get(other)[7] !== known.get(line)[7]).forEach(([other]) => toggle(other)); // radii in another norm
      if (drawn.length === MOST) toggle(drawn[0][0]);
      drawn.push([line, known.get(line)[8], charts.DASHES.find((dash) => drawn.every(([, , taken]) => taken !== dash))]);
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
