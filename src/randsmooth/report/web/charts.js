"use strict";
// Curves of shares by x, drawn as SVG in a box of WIDE by HIGH units, and what a pointer finds there.
const charts = (function () {
  const WIDE = 480, HIGH = 200, LEFT = 34, RIGHT = 8, TOP = 8, BOTTOM = 24;
  const DASHES = ["", "7 4", "2 3", "7 3 2 3", "12 3", "12 3 2 3", "1 5", "4 2"]; // of curves, so that they differ in grey
  const STEPS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50, 100, 200];
  const across = (share) => LEFT + share * (WIDE - LEFT - RIGHT);
  const up = (share) => HIGH - BOTTOM - share * (HIGH - TOP - BOTTOM);

  function add(parent, tag, attributes, text) {
    const element = document.createElementNS(parent.namespaceURI, tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }
  const stepTo = (end) => STEPS.find((step) => end / step <= 8) || end;

  // Marks of an axis from 0 to `end` at round steps.
  function marksTo(end) {
    const step = stepTo(end), marks = [];
    for (let x = 0; x <= end * 1.0001; x += step) marks.push([x, String(Number(x.toFixed(3)))]);
    return marks;
  }
  // Empties `svg` and draws the axes: shares upwards, x from `start` to `end` with its marks [x, text]. Gives the scale that the rest needs.
  function axes(svg, start, end, marks) {
    svg.replaceChildren();
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      add(svg, "line", { x1: across(0), x2: across(1), y1: up(share), y2: up(share), class: "grid" });
      add(svg, "text", { x: LEFT - 5, y: up(share) + 4, "text-anchor": "end" }, String(100 * share));
    }
    for (const [x, text] of marks) {
      add(svg, "text", { x: across((x - start) / (end - start)), y: HIGH - 7, "text-anchor": "middle" }, text);
    }
    const mark = add(svg, "line", { y1: up(0), y2: up(1), class: "pointed", visibility: "hidden" });
    return { svg, start, end, mark };
  }
  function path(scale, points, colour, dash) { // points: [x, share]
    const inside = (x) => Math.min(Math.max(x, scale.start), scale.end);
    const place = ([x, share]) => `${across((inside(x) - scale.start) / (scale.end - scale.start)).toFixed(1)} ${up(share).toFixed(1)}`;
    const way = points.map((one, at) => (at ? "L" : "M") + place(one)).join("");
    if (points.length) add(scale.svg, "path", { d: way, stroke: colour, "stroke-dasharray": dash, class: "curve" });
  }
  function read(points, x) { // the share at x, between two points; null outside of them
    const after = points.findIndex(([at]) => at >= x);
    if (after < 0 || points.length === 0 || x < points[0][0]) return null;
    if (after === 0) return points[0][1];
    const [[x0, y0], [x1, y1]] = [points[after - 1], points[after]];
    return x1 === x0 ? y1 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
  }
  function point(scale, event) { // marks the x under the pointer and gives it; null outside of the axes
    const box = scale.svg.getBoundingClientRect(), place = ((event.clientX - box.left) / box.width) * WIDE;
    const x = scale.start + ((place - LEFT) / (WIDE - LEFT - RIGHT)) * (scale.end - scale.start);
    const inside = x >= scale.start && x <= scale.end;
    scale.mark.setAttribute("visibility", inside ? "visible" : "hidden");
    scale.mark.setAttribute("x1", place);
    scale.mark.setAttribute("x2", place);
    return inside ? x : null;
  }
  const leave = (scale) => scale.mark.setAttribute("visibility", "hidden");
  return { DASHES, add, axes, leave, marksTo, path, point, read };
})();
