"use strict";
// The curves of the lines whose names are pressed, drawn from the page's data.
(function () {
  const MOST = charts.COLOURS.length;
  const data = JSON.parse(document.getElementById("data").textContent);
  const lines = [...document.querySelectorAll("tr.line")];
  const known = new Map(lines.map((line, place) => [line, data.lines[place]]));
  const [section, byRadius, byPA, legend, clear] = ["curves", "by-radius", "by-p-a", "legend", "clear"].map((id) => document.getElementById(id));
  const drawn = []; // [line, colour], in the order in which they were pressed

  // [radius or level, share] along a line's two curves
  const accuracy = (line) => known.get(line)[5].map((share, place) => [(known.get(line)[4] * place) / data.steps, share / data.unit]);
  const probability = (line) => {
    const shares = known.get(line)[6], from = data.levels.length - shares.length;
    return shares.map((share, place) => [data.levels[from + place], share / data.unit]);
  };

  function draw() {
    section.hidden = drawn.length === 0;
    document.getElementById("radius").textContent = drawn.length ? known.get(drawn[0][0])[7] : "";
    const end = Math.max(0.1, ...drawn.map(([line]) => known.get(line)[4])) * 1.02;
    scales.set(byRadius, charts.axes(byRadius, 0, end, charts.stepTo(end)));
    scales.set(byPA, charts.axes(byPA, 0, 1, 0.25));
    for (const [line, colour] of drawn) {
      const points = accuracy(line);
      const fall = points.slice(-1).map(([x]) => [x, 0]); // none without labels
      charts.path(scales.get(byRadius), [...points, ...fall], colour);
      charts.path(scales.get(byPA), probability(line), colour);
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
      const share = curve ? charts.read(curve(line), x) : null;
      button.type = "button";
      button.textContent = "×";
      button.title = "take it off";
      button.style.color = colour;
      button.addEventListener("click", () => toggle(line));
      text.textContent = (curve ? `${share === null ? (letter === "r" ? "0.0" : "–") : (100 * share + 1e-9).toFixed(1)}% at ${letter} = ${x.toFixed(2)}   ` : "") + titleOf(line);
      text.title = known.get(line)[2];
      item.append(button, text);
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
      drawn.push([line, charts.COLOURS.find((colour) => drawn.every(([, taken]) => taken !== colour))]);
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
