"""Every table and figure of the three papers, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from randsmooth import papers
from randsmooth.errors import unknown
from randsmooth.papers.paper_object import PaperObject
from randsmooth.papers.rows import PaperRow, preset_of, rows_of

if TYPE_CHECKING:
    from randsmooth.papers.context import Context
    from randsmooth.report import Axes

# Modules of `papers` are named inside functions alone: a list of the objects then loads none of them.
SIGMAS = (0.25, 0.5, 1.0)


def _rows(paper: str, *objects: str) -> Callable[[], list[PaperRow]]:
    """The rows of published objects, one after the other."""
    return lambda: [row for name in objects for row in rows_of(paper, name)]


def _table(paper: str, name: str, title: str) -> PaperObject:
    return PaperObject(f"{paper}/{name}", title, lambda: papers.from_certificates.table, _rows(paper, name))


def _formula(name: str, title: str, formula: Callable[[], Callable[[], list[Axes]]], *notes: str) -> PaperObject:
    return PaperObject(name, title, lambda: lambda context, rows: papers.figure_data.figure_output(formula()(), *notes))


def _imagenet() -> list[PaperRow]:
    methods = ("gaussian", "amplify")
    return [PaperRow("acr", "imagenet", s, m, "", preset_of("acr", "imagenet", m, "")) for s in SIGMAS for m in methods]


def _more_imagenet(context: Context) -> list[PaperRow]:
    """Every other method that there are main certificates of on ImageNet: the released logs have seven."""
    known = {(row.sigma, row.method) for row in _imagenet()}
    more = {(f.sigma, f.method) for f in context.found if f.dataset == "imagenet"} - known
    rows = [PaperRow("acr", "imagenet", s, m, "", preset_of("acr", "imagenet", m, "")) for s, m in sorted(more)]
    return [row for row in rows if context.certificates_of(row) is not None]


def _at(sigma: float, rows: Callable[[], list[PaperRow]], *methods: str) -> Callable[[], list[PaperRow]]:
    """The rows at one sigma, of some methods."""
    return lambda: [row for row in rows() if row.sigma == sigma and row.method in methods]


def _plain(rows: Callable[[], list[PaperRow]]) -> Callable[[], list[PaperRow]]:
    """Rows whose figures are another table's, left out."""
    return lambda: [replace(row, figures={}) for row in rows()]


ACR_MAIN, MACER_MAIN = _rows("acr", "table2"), _rows("macer", "table1")
ABLATION = "certified accuracy and ACR for each"

OBJECTS = (
    _formula(
        "acr/figure2",
        "certified radius and its slope against p_A, at n = 100,000 and for p_A known",
        lambda: papers.theory.figure_2,
    ),
    PaperObject(
        "acr/theorem1", "budget at which a constant classifier passes any ACR", lambda: papers.from_models.theorem_1
    ),
    PaperObject("acr/theorem2", "density of Gaussian noise on a sphere", lambda: papers.from_models.theorem_2),
    PaperObject(
        "acr/figure3", "distribution of p_A of every method", lambda: papers.from_certificates.p_a, _plain(ACR_MAIN)
    ),
    PaperObject(
        "acr/table1",
        "gradient norms of easy and hard images",
        lambda: papers.from_models.gradient_table,
        _rows("acr", "table1"),
        True,
    ),
    _formula(
        "acr/figure4",
        "sampling weight against p_A",
        lambda: papers.theory.figure_4,
        "weight=bound divides by the radius that 12 of 16 noises certify, weight=literal by Phi^-1(0.75)",
    ),
    PaperObject(
        "acr/figure5",
        "gradient norm against p_A before and after the attack",
        lambda: papers.from_models.gradients_before_and_after,
        _plain(_at(0.5, ACR_MAIN, "gaussian")),
        True,
    ),
    _table("acr", "table2", "certified accuracy and ACR on CIFAR-10, all methods"),
    PaperObject(
        "acr/figure6",
        "certified accuracy against the radius on CIFAR-10",
        lambda: papers.from_certificates.curves,
        ACR_MAIN,
    ),
    _table("acr", "table3", "Amplify's parts, alone and together"),
    _table("acr", "table5", f"{ABLATION} epoch of discarding, E_t"),
    _table("acr", "table6", f"{ABLATION} threshold of discarding, p_t"),
    _table("acr", "table7", f"{ABLATION} step size of the attack, eps"),
    _table("acr", "table8", f"{ABLATION} number of steps of the attack, T"),
    _table("acr", "table9", f"{ABLATION} step size, L-infinity attack"),
    _table("acr", "table10", f"{ABLATION} number of steps, L-infinity attack"),
    PaperObject(
        "acr/figure7",
        "curves for each eps and T",
        lambda: papers.from_certificates.ablations,
        _rows("acr", "table7", "table8"),
    ),
    PaperObject(
        "acr/c1",
        "share of the data that discarding leaves",
        lambda: papers.from_models.remaining,
        _rows("acr", "c1-remaining-data"),
        True,
    ),
    PaperObject(
        "acr/section7",
        "certified accuracy at each radius by each method's best sigma",
        lambda: papers.best_sigma.section_7,
        ACR_MAIN,
    ),
    PaperObject(
        "acr/imagenet",
        "certified accuracy and ACR on ImageNet, every method found",
        lambda: papers.from_certificates.table,
        _imagenet,
        more_rows=_more_imagenet,
    ),
    PaperObject(
        "acr/budget",
        "ACR of every method against the samples spent",
        lambda: papers.from_certificates.budget,
        _plain(ACR_MAIN),
    ),
    PaperObject(
        "macer/proposition1", "the hinge bounds the derivative of the radius", lambda: papers.proposition.proposition_1
    ),
    _table("macer", "table1", "certified accuracy and ACR on CIFAR-10"),
    _table("macer", "table2", "certified accuracy and ACR on ImageNet"),
    PaperObject(
        "macer/table3", "training time and ACR", lambda: papers.from_models.times, _rows("macer", "table3"), True
    ),
    _table("macer", "table6", "certified accuracy and ACR on MNIST"),
    _table("macer", "table7", "certified accuracy and ACR on SVHN"),
    PaperObject(
        "macer/table8",
        "150 epochs on CIFAR-10, and what they cost",
        lambda: papers.from_models.table_with_costs,
        _rows("macer", "table8"),
    ),
    _table("macer", "table10", f"{ABLATION} number of noises, k"),
    _table("macer", "table11", f"{ABLATION} weight of the robustness term, lambda"),
    _table("macer", "table12", f"{ABLATION} hinge factor, gamma"),
    _table("macer", "table13", f"{ABLATION} inverse temperature, beta"),
    PaperObject(
        "macer/figure1",
        "certified accuracy against the radius on CIFAR-10",
        lambda: papers.from_certificates.curves,
        MACER_MAIN,
    ),
    PaperObject(
        "macer/figure2",
        "certified accuracy against the radius on ImageNet",
        lambda: papers.from_certificates.curves,
        _rows("macer", "table2"),
    ),
    PaperObject(
        "macer/figure3",
        "curves for each k, lambda, gamma and beta",
        lambda: papers.from_certificates.ablations,
        lambda: [row for row in _rows("macer", *(f"table{i}" for i in (10, 11, 12, 13)))() if row.sigma == 0.25],
    ),
    PaperObject(
        "macer/figure4",
        "soft against hard certification",
        lambda: papers.from_models.soft_against_hard,
        _plain(MACER_MAIN),
        True,
    ),
    _formula(
        "cat-rs/figure1", "radius against confidence by three guarantees", lambda: papers.theory.confidence_figure
    ),
    _table("cat-rs", "table1", "certified accuracy and ACR on MNIST"),
    _table("cat-rs", "table2", "certified accuracy and ACR on CIFAR-10"),
    _table("cat-rs", "table3", "the parts of CAT-RS"),
    _table("cat-rs", "table4", "trade-off of three methods on MNIST at sigma 1"),
    _table("cat-rs", "table5", f"{ABLATION} p0"),
    _table("cat-rs", "table6", f"{ABLATION} weight of the high loss, lambda"),
    _table("cat-rs", "table7", f"{ABLATION} number of noises, M"),
    PaperObject(
        "cat-rs/figure3",
        "certified accuracy against the radius on MNIST",
        lambda: papers.from_certificates.curves,
        _rows("cat-rs", "table1"),
    ),
    PaperObject(
        "cat-rs/figure4",
        "certified accuracy against the radius on CIFAR-10",
        lambda: papers.from_certificates.curves,
        _rows("cat-rs", "table2"),
    ),
    PaperObject(
        "cat-rs/figure5",
        "clean accuracy against that at radius 2 on MNIST",
        lambda: papers.from_certificates.trade_off("accuracy@2"),
        _rows("cat-rs", "table4"),
    ),
    PaperObject(
        "cat-rs/figure6",
        "curves of the ablations",
        lambda: papers.from_certificates.ablations,
        lambda: [row for row in _rows("cat-rs", "table3", "table5", "table6", "table7")() if row.sigma == 0.5],
    ),
    PaperObject(
        "cat-rs/figure7",
        "clean accuracy against ACR and accuracy at radii 1 and 2 on MNIST",
        lambda: papers.from_certificates.trade_off("acr", "accuracy@1", "accuracy@2"),
        _rows("cat-rs", "table4"),
    ),
)


def find_object(name: str) -> PaperObject:
    """The table or figure called PAPER/OBJECT.

    Raises:
        InputError: no such object.

    Example:
        >>> find_object("acr/theorem1").title
        'budget at which a constant classifier passes any ACR'
    """
    for candidate in OBJECTS:
        if candidate.name == name:
            return candidate
    raise unknown("object", name, [candidate.name for candidate in OBJECTS])
