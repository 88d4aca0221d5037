// The slider: it reads all curves at one radius, and follows the pointer over either of the two charts of curves.
(function () {
  const stops = report.data.panels.accuracy_curves, linked = { radius: stops.radii, p_a: stops.p_a_at };
  const slider = document.getElementById("slider"), output = document.getElementById("stop");
  const own = Object.fromEntries(Object.keys(linked).filter(report.isDrawn).map((id) => [id, report.data.plots[id].layout.shapes || []]));

  function mark(id, x) {
    if (!report.isDrawn(id)) return;
    const look = { color: report.css("--soft"), width: 1.5, dash: "dot" };
    const line = { type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: look };
    Plotly.relayout(id, { shapes: x === null ? own[id] : [...own[id], line] });
  }
  function slide() {
    const at = Number(slider.value), radius = stops.radii[at], p = stops.p_a[at];
    mark("radius", radius);
    mark("p_a", stops.p_a_at[at]);
    const figures = stops.names.map((name, row) => [name, stops.accuracy[row][at]]).filter((_, row) => report.shown(row));
    const printed = radius === stops.named ? String(radius) : radius.toFixed(stops.digits);
    const where = `radius ${printed}` + (p === null ? "" : ` (p_A ${p.toFixed(3)})`);
    output.textContent = `${where}: ` + figures.map(([name, v]) => `\u2068${name}\u2069 ${(v / 10).toFixed(1)}%`).join(", ");
    slider.setAttribute("aria-valuetext", where);
  }
  function nearest(values, x) {
    let best = 0;
    values.forEach((value, i) => { if (value !== null && Math.abs(value - x) < Math.abs((values[best] ?? Infinity) - x)) best = i; });
    return best;
  }
  function follow(id, other) { // pointing at one chart moves the slider, and shows the other's figures there
    if (!report.isDrawn(id)) return;
    const plot = document.getElementById(id);
    plot.on("plotly_hover", (event) => {
      const at = nearest(linked[id], event.points[0].x);
      if (slider.value !== String(at)) { slider.value = String(at); slide(); }
      if (report.isDrawn(other) && linked[other][at] !== null) Plotly.Fx.hover(other, { xval: linked[other][at] }); // raises no event of its own
    });
    plot.on("plotly_unhover", () => { if (report.isDrawn(other)) Plotly.Fx.unhover(other); });
  }
  slider.max = String(stops.radii.length - 1);
  slider.value = String(stops.start);
  slider.addEventListener("input", slide);
  follow("radius", "p_a");
  follow("p_a", "radius");
  report.onToggle(slide);
  slide();
})();
