"""The page in a real browser, where one is installed."""

from pathlib import Path

import pytest

from randsmooth import metrics
from randsmooth.report import comparison_page
from report.browser import opened
from report.conftest import Make

# Each step of a reader's, and what then shows.
PROBE = """
  const plot = (id) => document.getElementById(id), told = {};
  const shown = (id) => plot(id).data.filter((trace) => trace.visible !== false).length;
  const marks = () => ["radius", "p_a"].map((id) => (plot(id).layout.shapes || []).map((shape) => shape.x0));
  const ids = ["radius", "p_a", "difference", "waterfall", "budget"];
  told.drawn = ["scatterlayer", "barlayer"].map((what) => document.querySelectorAll(`.plot .${what} .trace`).length);
  told.widths = ids.map((id) => plot(id).querySelector("svg").clientWidth);
  told.start = [marks(), plot("stop").textContent];
  const slider = plot("slider");
  slider.value = 80;
  slider.dispatchEvent(new Event("input"));
  told.moved = [marks(), plot("stop").textContent, slider.getAttribute("aria-valuetext")];
  const area = plot("p_a").querySelector(".nsewdrag"), box = area.getBoundingClientRect();
  const middle = { clientX: box.left + 0.75 * box.width, clientY: box.top + box.height / 2, bubbles: true };
  area.dispatchEvent(new MouseEvent("mousemove", middle));
  told.hovered = [slider.value, marks(), [...document.querySelectorAll("#radius .hoverlayer .legend")].length];
  const button = document.querySelectorAll(".legend button")[1];
  button.focus();
  told.focused = document.activeElement === button;
  button.click();
  const pressed = () => [...document.querySelectorAll(".legend button")].map((one) => one.getAttribute("aria-pressed"));
  told.hidden = [ids.map(shown), pressed().filter((state) => state === "false").length, plot("stop").textContent];
  button.click();
  told.back = [ids.map(shown), pressed().filter((state) => state === "false").length];
  const pick = document.getElementById("pick");
  pick.value = pick.options.length - 1;
  pick.dispatchEvent(new Event("change"));
  told.at = document.getElementById("at").textContent;
  document.body.dataset.probe = JSON.stringify(told);
"""
PICK = """
  const pick = document.getElementById("pick");
  const cells = [...document.querySelectorAll("#cells td")].filter((_, at) => at % 3);
  const figures = () => cells.map((td) => td.textContent);
  const told = [figures()];
  pick.value = pick.options.length - 1;
  pick.dispatchEvent(new Event("change"));
  document.body.dataset.probe = JSON.stringify([...told, figures()]);
"""


@pytest.mark.slow
def test_plots_slider_toggles_and_radius_work(make: Make, tmp_path: Path) -> None:
    names = ["gaussian", "<b>b</b>", "</script><script>alert(1)</script>"]
    tables = [make(name, seed=seed) for seed, name in enumerate(names)]
    (tmp_path / "report.html").write_text(comparison_page(tables, radii=[0, 0.25, 0.5]))
    told = opened(tmp_path / "report.html", PROBE, "--virtual-time-budget=10000")
    assert told["drawn"] == [27, 2]  # 3 traces of 3 tables in 2 plots, of 2 differences; 3 budgets; 2 methods' bars
    assert min(told["widths"]) > 800
    ((radius,), (p_a,)), text, where = told["moved"]
    assert told["start"][0] != told["moved"][0] and 0 < radius < 1.5 and 0.5 < p_a <= 1
    assert where == f"radius {radius:.2f} (p_A {p_a:.3f})"
    shares = [  # isolated: a name may run from right to left
        f"\u2068{name}\u2069 {100 * metrics.certified_accuracy(t, radius).value:.1f}%"
        for name, t in zip(names, tables, strict=True)
    ]
    assert text == f"{where}: {', '.join(shares)}"
    at, (_, (pointed,)), linked = told["hovered"]
    assert abs(pointed - 0.75) < 0.02 and int(at) != 80 and linked == 1
    traces, off, text = told["hidden"]
    assert told["focused"] and traces == [6, 6, 3, 1, 2] and off == 5 and "<b>b</b>" not in text
    assert told["back"] == [[9, 9, 6, 2, 3], 0]
    assert told["at"] == "0.5"


@pytest.mark.slow
def test_a_picked_radius_out_of_reach_leaves_no_figure_of_another(make: Make, tmp_path: Path) -> None:
    tables = [make("near", sigma=0.25), make("far", sigma=1.0)]
    (tmp_path / "report.html").write_text(comparison_page(tables, radii=[0, 0.25, 0.5, 1.0]))
    first, last = opened(tmp_path / "report.html", PICK, "--virtual-time-budget=10000")
    assert "–" not in first and last[0::2] == ["–"] * 3 and "–" not in last[1::2]
