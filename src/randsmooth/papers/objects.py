"""Every table and figure of the three papers, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from randsmooth.errors import unknown
from randsmooth.papers import drawn, measured, proposition, section7, theory
from randsmooth.papers.context import Context, Object
from randsmooth.papers.figure import figure
from randsmooth.papers.rows import Row, preset_of, rows_of
from randsmooth.report import Panel

SIGMAS = (0.25, 0.5, 1.0)


def _rows(paper: str, *objects: str) -> Callable[[], list[Row]]:
    """The rows of published objects, one after the other."""
    return lambda: [row for name in objects for row in rows_of(paper, name)]


def _table(paper: str, name: str, title: str) -> Object:
    return Object(f"{paper}/{name}", title, drawn.table, _rows(paper, name))


def _formula(name: str, title: str, panels: Callable[[], list[Panel]], *notes: str) -> Object:
    return Object(name, title, lambda context, rows: figure(panels(), *notes))


def _imagenet() -> list[Row]:
    methods = ("gaussian", "amplify")
    return [Row("acr", "imagenet", s, m, "", preset_of("acr", "imagenet", m, "")) for s in SIGMAS for m in methods]


def _more_imagenet(context: Context) -> list[Row]:
    """Every other method that there are main certificates of on ImageNet: the released logs have seven."""
    known = {(row.sigma, row.method) for row in _imagenet()}
    more = {(f.sigma, f.method) for f in context.found if f.dataset == "imagenet"} - known
    rows = [Row("acr", "imagenet", s, m, "", preset_of("acr", "imagenet", m, "")) for s, m in sorted(more)]
    return [row for row in rows if context.of(row) is not None]


def _at(sigma: float, rows: Callable[[], list[Row]], *methods: str) -> Callable[[], list[Row]]:
    """The rows at one sigma, of some methods."""
    return lambda: [row for row in rows() if row.sigma == sigma and row.method in methods]


def _plain(rows: Callable[[], list[Row]]) -> Callable[[], list[Row]]:
    """Rows whose figures are another table's, left out."""
    return lambda: [replace(row, figures={}) for row in rows()]


ACR_MAIN, MACER_MAIN = _rows("acr", "table2"), _rows("macer", "table1")
ABLATION = "certified accuracy and ACR for each"

OBJECTS = (
    _formula(
        "acr/figure2", "certified radius and its slope against p_A, at n = 100,000 and for p_A known", theory.figure_2
    ),
    Object("acr/theorem1", "budget at which a constant classifier passes any ACR", measured.theorem_1),
    Object("acr/theorem2", "density of Gaussian noise on a sphere", measured.theorem_2),
    Object("acr/figure3", "distribution of p_A of every method", drawn.p_a, _plain(ACR_MAIN)),
    Object(
        "acr/table1", "gradient norms of easy and hard images", measured.gradient_table, _rows("acr", "table1"), True
    ),
    _formula(
        "acr/figure4",
        "sampling weight against p_A",
        theory.figure_4,
        "weight=bound divides by the radius that 12 of 16 noises certify, weight=literal by Phi^-1(0.75)",
    ),
    Object(
        "acr/figure5",
        "gradient norm against p_A before and after the attack",
        measured.gradients_before_and_after,
        _plain(_at(0.5, ACR_MAIN, "gaussian")),
        True,
    ),
    _table("acr", "table2", "certified accuracy and ACR on CIFAR-10, all methods"),
    Object("acr/figure6", "certified accuracy against the radius on CIFAR-10", drawn.curves, ACR_MAIN),
    _table("acr", "table3", "Amplify's parts, alone and together"),
    _table("acr", "table5", f"{ABLATION} epoch of discarding, E_t"),
    _table("acr", "table6", f"{ABLATION} threshold of discarding, p_t"),
    _table("acr", "table7", f"{ABLATION} step size of the attack, eps"),
    _table("acr", "table8", f"{ABLATION} number of steps of the attack, T"),
    _table("acr", "table9", f"{ABLATION} step size, L-infinity attack"),
    _table("acr", "table10", f"{ABLATION} number of steps, L-infinity attack"),
    Object("acr/figure7", "curves for each eps and T", drawn.ablations, _rows("acr", "table7", "table8")),
    Object(
        "acr/c1",
        "share of the data that discarding leaves",
        measured.remaining,
        _rows("acr", "c1-remaining-data"),
        True,
    ),
    Object(
        "acr/section7",
        "certified accuracy at each radius by each method's best sigma",
        section7.section_7,
        ACR_MAIN,
    ),
    Object(
        "acr/imagenet",
        "certified accuracy and ACR on ImageNet, every method found",
        drawn.table,
        _imagenet,
        besides=_more_imagenet,
    ),
    Object("acr/budget", "ACR of every method against the samples spent", drawn.budget, _plain(ACR_MAIN)),
    Object("macer/proposition1", "the hinge bounds the derivative of the radius", proposition.proposition_1),
    _table("macer", "table1", "certified accuracy and ACR on CIFAR-10"),
    _table("macer", "table2", "certified accuracy and ACR on ImageNet"),
    Object("macer/table3", "training time and ACR", measured.times, _rows("macer", "table3"), True),
    _table("macer", "table6", "certified accuracy and ACR on MNIST"),
    _table("macer", "table7", "certified accuracy and ACR on SVHN"),
    Object(
        "macer/table8",
        "150 epochs on CIFAR-10, and what they cost",
        measured.table_with_costs,
        _rows("macer", "table8"),
    ),
    _table("macer", "table10", f"{ABLATION} number of noises, k"),
    _table("macer", "table11", f"{ABLATION} weight of the robustness term, lambda"),
    _table("macer", "table12", f"{ABLATION} hinge factor, gamma"),
    _table("macer", "table13", f"{ABLATION} inverse temperature, beta"),
    Object("macer/figure1", "certified accuracy against the radius on CIFAR-10", drawn.curves, MACER_MAIN),
    Object(
        "macer/figure2", "certified accuracy against the radius on ImageNet", drawn.curves, _rows("macer", "table2")
    ),
    Object(
        "macer/figure3",
        "curves for each k, lambda, gamma and beta",
        drawn.ablations,
        lambda: [row for row in _rows("macer", *(f"table{i}" for i in (10, 11, 12, 13)))() if row.sigma == 0.25],
    ),
    Object("macer/figure4", "soft against hard certification", measured.soft_against_hard, _plain(MACER_MAIN), True),
    _formula("cat-rs/figure1", "radius against confidence by three guarantees", theory.confidence_figure),
    _table("cat-rs", "table1", "certified accuracy and ACR on MNIST"),
    _table("cat-rs", "table2", "certified accuracy and ACR on CIFAR-10"),
    _table("cat-rs", "table3", "the parts of CAT-RS"),
    _table("cat-rs", "table4", "trade-off of three methods on MNIST at sigma 1"),
    _table("cat-rs", "table5", f"{ABLATION} p0"),
    _table("cat-rs", "table6", f"{ABLATION} weight of the high loss, lambda"),
    _table("cat-rs", "table7", f"{ABLATION} number of noises, M"),
    Object("cat-rs/figure3", "certified accuracy against the radius on MNIST", drawn.curves, _rows("cat-rs", "table1")),
    Object(
        "cat-rs/figure4", "certified accuracy against the radius on CIFAR-10", drawn.curves, _rows("cat-rs", "table2")
    ),
    Object(
        "cat-rs/figure5",
        "clean accuracy against that at radius 2 on MNIST",
        drawn.trade_off("accuracy@2"),
        _rows("cat-rs", "table4"),
    ),
    Object(
        "cat-rs/figure6",
        "curves of the ablations",
        drawn.ablations,
        lambda: [row for row in _rows("cat-rs", "table3", "table5", "table6", "table7")() if row.sigma == 0.5],
    ),
    Object(
        "cat-rs/figure7",
        "clean accuracy against ACR and accuracy at radii 1 and 2 on MNIST",
        drawn.trade_off("acr", "accuracy@1", "accuracy@2"),
        _rows("cat-rs", "table4"),
    ),
)


def find(name: str) -> Object:
    """The object called PAPER/OBJECT. InputError for another name."""
    for thing in OBJECTS:
        if thing.name == name:
            return thing
    raise unknown("object", name, [thing.name for thing in OBJECTS])
