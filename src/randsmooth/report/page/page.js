"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axes = ["xaxis", "yaxis"];
  const drawn = Object.keys(data.plots).filter((id) => data.plots[id] && document.getElementById(id));

  function theme() {
    const set = {
      "font.color": css("--ink"), "font.family": getComputedStyle(document.body).fontFamily,
      "hoverlabel.bgcolor": css("--panel"), "hoverlabel.bordercolor": css("--line"), "hoverlabel.font.color": css("--ink"),
    };
    for (const axis of axes) {
      set[axis + ".gridcolor"] = set[axis + ".zerolinecolor"] = set[axis + ".linecolor"] = css("--line");
    }
    return set;
  }
  function themed(layout) {
    const copy = structuredClone(layout);
    for (const [path, value] of Object.entries(theme())) {
      const keys = path.split("."), last = keys.pop();
      keys.reduce((at, key) => (at[key] ??= {}), copy)[last] = value;
    }
    return copy;
  }
  for (const id of drawn) {
    Plotly.newPlot(id, data.plots[id].data, themed(data.plots[id].layout), { responsive: true, displaylogo: false, displayModeBar: false });
  }
  const repaint = () => drawn.forEach((id) => Plotly.relayout(id, theme()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  matchMedia("print").addEventListener("change", repaint);

  const buttons = [...document.querySelectorAll(".legend button")];
  function toggle(row) {
    const same = buttons.filter((button) => button.dataset.row === row);
    const show = same[0].getAttribute("aria-pressed") !== "true";
    same.forEach((button) => button.setAttribute("aria-pressed", String(show)));
    for (const id of drawn) {
      const traces = data.plots[id].data.flatMap((trace, i) => (trace.legendgroup === row ? [i] : []));
      if (traces.length) Plotly.restyle(id, { visible: show }, traces);
    }
  }
  buttons.forEach((button) => button.addEventListener("click", () => toggle(button.dataset.row)));

  const stops = data.stops, slider = document.getElementById("slider"), told = document.getElementById("stop");
  const own = Object.fromEntries(drawn.map((id) => [id, data.plots[id].layout.shapes || []]));
  const colour = () => css("--soft");
  function mark(id, x) {
    if (!drawn.includes(id)) return;
    const line = { type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: { color: colour(), width: 1.5, dash: "dot" } };
    Plotly.relayout(id, { shapes: x === null ? own[id] : [...own[id], line] });
  }
  function slide() {
    const at = Number(slider.value), radius = stops.radii[at], p = stops.p_a[at];
    mark("radius", radius);
    mark("p_a", p);
    const shown = stops.names.filter((_, row) => buttons.some((b) => b.dataset.row === String(row) && b.getAttribute("aria-pressed") === "true"));
    const figures = stops.names.map((name, row) => [name, stops.accuracy[row][at]]).filter(([name]) => shown.includes(name));
    const where = `radius ${radius.toFixed(2)}` + (p === null ? "" : ` (p_A ${p.toFixed(3)})`);
    told.textContent = `${where}: ` + figures.map(([name, v]) => `\u2068${name}\u2069 ${(v / 10).toFixed(1)}%`).join(", ");
    slider.setAttribute("aria-valuetext", where);
  }
  // Pointing at one of the two curves' plots moves the slider, and shows the other plot's figures there.
  const linked = { radius: stops.radii, p_a: stops.p_a };
  function nearest(values, x) {
    let best = 0;
    values.forEach((value, i) => { if (value !== null && Math.abs(value - x) < Math.abs((values[best] ?? Infinity) - x)) best = i; });
    return best;
  }
  function follow(id, other) {
    const plot = document.getElementById(id);
    plot.on("plotly_hover", (event) => {
      const at = nearest(linked[id], event.points[0].x);
      if (slider.value !== String(at)) { slider.value = String(at); slide(); }
      if (drawn.includes(other) && linked[other][at] !== null) Plotly.Fx.hover(other, { xval: linked[other][at] }); // raises no event of its own
    });
    plot.on("plotly_unhover", () => { if (drawn.includes(other)) Plotly.Fx.unhover(other); });
  }
  slider.max = String(stops.radii.length - 1);
  slider.value = String(Math.round(stops.radii.length / 4));
  slider.addEventListener("input", slide);
  if (drawn.includes("radius")) follow("radius", "p_a");
  if (drawn.includes("p_a")) follow("p_a", "radius");
  buttons.forEach((button) => button.addEventListener("click", slide));
  slide();

  const pick = document.getElementById("pick");
  function fill() {
    const cells = data.cells[pick.value], percent = (v) => (v / 10).toFixed(1);
    document.getElementById("at").textContent = data.radii[pick.value];
    [...document.getElementById("cells").rows].forEach((line, row) => cells[row].forEach((cell, column) => {
      const td = line.cells[column + 2];
      td.textContent = cell ? percent(cell[0]) : "–";
      td.title = cell ? `95% interval ${percent(cell[1])} to ${percent(cell[2])}` : "";
      td.className = cell ? "heat" : "";
      td.style.setProperty("--v", cell ? Math.floor(cell[0] / 10) : 0);
    }));
  }
  if (pick) pick.addEventListener("change", fill);
  document.querySelectorAll(".js").forEach((element) => element.classList.remove("js"));
})();
