"""What the papers print: each number, the rows that numbers of one model make, and the tables and figures by name."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import starmap
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from randsmooth.errors import BadValue, check_known, unknown

if TYPE_CHECKING:
    import pandas as pd

    from randsmooth.papers.context import Context
    from randsmooth.papers.output import Output


ACCURACY = "accuracy@"


class Printed(NamedTuple):
    """One number that a paper prints. All are texts, as printed; see `published` for what each means."""

    paper: str
    object: str
    version: str
    dataset: str
    sigma: str
    method: str
    setting: str
    metric: str
    value: str


def published(paper: str | None = None, object: str | None = None) -> pd.DataFrame:
    """The numbers that `paper` prints in `object`; by default those of all papers and all objects.

    Returns:
        One row per cell, in the order of print. Texts: paper, object, version (the text it was read in), dataset,
        method, setting, metric ("acr", "accuracy@0.25" for certified accuracy in percent at an L2 radius, "seconds" of
        an epoch, "hours" of a training run, ...). Numbers: sigma, NaN where a cell has none, and value. Shares that a
        paper prints as fractions are given in percent.

    Raises:
        Problem: no such paper, or no such object in it.

    Example:
        >>> table = published("acr", "table2")
        >>> best = table[(table["sigma"] == 0.5) & (table["metric"] == "acr")].set_index("method")["value"]
        >>> float(best["gaussian"]), float(best["amplify"])
        (0.562, 0.76)
    """
    import pandas as pd

    table = pd.DataFrame(cells(paper, object), columns=list(Printed._fields), dtype=str)
    return table.assign(
        sigma=pd.to_numeric(table["sigma"]),
        value=pd.to_numeric(table["value"]).astype(float),
    )


def cells(paper: str | None = None, object: str | None = None) -> list[Printed]:
    """The cells of `published` as texts: the number of digits printed bounds the rounding error.

    They are read without pandas so that a list of what the papers show costs little.

    Raises:
        Problem: no such paper, or no such object in it.
    """
    of_paper = [cell for cell in _file() if paper in (None, cell.paper)]
    if not of_paper:
        raise unknown("paper", str(paper), {cell.paper for cell in _file()})
    chosen = [cell for cell in of_paper if object in (None, cell.object)]
    if not chosen:
        kind = "object" if paper is None else f"object of {paper}"
        raise unknown(kind, str(object), {cell.object for cell in of_paper})
    return chosen


@cache  # objects ask for their rows again and again
def _file() -> tuple[Printed, ...]:
    with resources.files("randsmooth.papers").joinpath("published.csv").open() as file:
        return tuple(Printed(**row) for row in csv.DictReader(file))


# How many images figures rest on: those of the released logs; MACER's text does not say: the default of its code.
IMAGES = {"acr": 10_000, "cat-rs": 10_000, "macer": 500}
OF_500 = [
    ("cat-rs", name) for name in ("table3", "table5", "table6", "table7")
]  # section 4.3

# Rows that print another paper's run: (paper, object, dataset, sigma, method) -> the preset of that run.
# Table 3 of Sun et al. repeats the Gaussian row of CAT-RS's table 2 (m = 1) at sigma 0.5, all nine figures of it.
REPEATED = {("acr", "table3", "cifar10", "0.5", "gaussian"): "cat-rs/gaussian"}


@dataclass(frozen=True)
class PaperRow:
    """One model of a published table.

    Attributes:
        paper: "acr", "macer" or "cat-rs".
        setting: what an ablation changes; empty for a main row.
        preset: the preset that trains the model.
        figures: metric -> published value.
        decimals: metric -> number of decimals printed.
        images: how many images the figures are measured on; None where neither text nor code says.

    Example:
        >>> PaperRow("acr", "cifar10", 0.5, "amplify", "E_t=50", "acr/amplify/E_t=50").name
        'amplify, E_t=50'
    """

    paper: str
    dataset: str
    sigma: float
    method: str
    setting: str
    preset: str
    figures: dict[str, float] = field(default_factory=dict, compare=False)
    decimals: dict[str, int] = field(default_factory=dict, compare=False)
    images: int | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """What to call the row in a legend."""
        return f"{self.method}, {self.setting}" if self.setting else self.method

    @property
    def accuracy(self) -> dict[float, float]:
        """Radius -> published certified accuracy in percent."""
        return {
            float(m.removeprefix(ACCURACY)): v
            for m, v in self.figures.items()
            if m.startswith(ACCURACY)
        }


def rows_of(paper: str, object: str) -> list[PaperRow]:
    """The rows of a published object in the paper's order; of the first version of the text, where two differ.

    Args:
        paper: "acr", "macer" or "cat-rs".
        object: such as "table2".

    Raises:
        Problem: no such object.

    Example:
        >>> row = rows_of("acr", "table2")[7]
        >>> row.name, row.sigma, row.preset
        ('gaussian', 0.5, 'acr/gaussian')
        >>> row.figures["acr"], row.figures["accuracy@1"]
        (0.562, 23.7)
    """
    printed = cells(paper, object)
    groups: dict[tuple[str, ...], list[Printed]] = {}
    for cell in printed:
        if cell.version == printed[0].version:
            groups.setdefault(
                (cell.dataset, cell.sigma, cell.method, cell.setting), []
            ).append(cell)
    return [_row(part) for part in groups.values()]


def _row(printed: Sequence[Printed]) -> PaperRow:
    """The row that a table's cells of one data set, sigma, method and setting make."""
    paper, object, _, dataset, sigma, method, setting = printed[0][:7]
    preset = REPEATED.get((paper, object, dataset, sigma, method)) or preset_of(
        paper, dataset, method, setting
    )
    figures = {cell.metric: float(cell.value) for cell in printed}
    decimals = {cell.metric: len(cell.value.partition(".")[2]) for cell in printed}
    images = 500 if (paper, object) in OF_500 else IMAGES[paper]
    return PaperRow(
        paper,
        dataset,
        float(sigma or "nan"),
        method,
        setting,
        preset,
        figures,
        decimals,
        images,
    )


def preset_of(paper: str, dataset: str, method: str, setting: str) -> str:
    """The preset that trains a row: the variation that the setting names, else the method's main one.

    On MNIST the figures of CAT-RS's baselines are of released logs: "table1" trains them, not the text's preset.
    """
    logged = (paper, dataset) == ("cat-rs", "mnist") and method != "cat-rs"
    variation = setting or ("table1" if logged else "")
    return f"{paper}/{method}" + (f"/{variation}" if variation else "")


def is_main(preset: str) -> bool:
    """Whether a preset is that of a main row, not of an ablation."""
    return preset.count("/") == 1 or preset.endswith(("/table1", "/prose"))


def named(rows: Sequence[PaperRow]) -> str:
    """`gaussian, amplify/E_t=50 at sigma 0.5; macer at sigma 1`."""
    sigmas = dict.fromkeys(row.sigma for row in rows)
    names = {
        s: ", ".join(row.name.replace(", ", "/") for row in rows if row.sigma == s)
        for s in sigmas
    }
    return "; ".join(f"{name} at sigma {sigma:g}" for sigma, name in names.items())


@dataclass(frozen=True)
class PaperObject:
    """A table or figure of a paper.

    Attributes:
        name: PAPER/OBJECT.
        title: what it shows.
        maker: MODULE:FUNCTION of `papers`, imported only when it draws. It takes context and rows; that of a formula,
            nothing.
        rows: the models that it is about; none where formulas alone give it.
        needs_models: whether the models themselves are needed, not only their certificates.
        needs_p_a: whether the certificates have to tell p_A.
        more_rows: further models, shown where there are certificates of them.

    Example:
        >>> from randsmooth.papers import find_object
        >>> table = find_object("acr/table2")
        >>> table.title, len(table.rows()), table.needs_models
        ('certified accuracy and ACR on CIFAR-10, all methods', 21, False)
    """

    name: str
    title: str
    maker: str
    rows: Callable[[], list[PaperRow]] = list
    needs_models: bool = False
    needs_p_a: bool = False
    more_rows: Callable[[Context], list[PaperRow]] = lambda context: []

    @property
    def text(self) -> str:
        """The text by which it is numbered, and whose figures are shown."""
        return TEXTS[self.name.partition("/")[0]]

    def make(self, context: Context, rows: list[PaperRow]) -> Output:
        """Draw the object from the certificates and models at hand, for the rows that can be shown."""
        function: Callable[..., Output] = resolve_name(
            f"randsmooth.papers.{self.maker}"
        )
        return function(context, rows) if rows else function()

    def missing(self, context: Context) -> list[PaperRow]:
        """The rows without certificates of their own run that tell enough, or without a model where one is needed."""
        return [row for row in self.rows() if self.lack(context, row)]

    def lack(self, context: Context, row: PaperRow) -> str:
        """What is at hand of a missing row, in words; empty where it is not missing."""
        if self.needs_models:
            return "no model" * (context.model(row) is None)
        return context.lack(row, p_a=self.needs_p_a)

    def unfinished(self, context: Context) -> list[PaperRow]:
        """The rows for which `--run` has work left: the missing ones, and models of its own not yet certified."""
        cut = [
            row
            for row in self.rows()
            if context.model(row) and context.certificates_of(row) is None
        ]
        return [row for row in self.rows() if row in cut or self.lack(context, row)]


def _on_imagenet(sigma: float, method: str) -> PaperRow:
    return PaperRow(
        "acr", "imagenet", sigma, method, "", preset_of("acr", "imagenet", method, "")
    )


def _imagenet() -> list[PaperRow]:
    return [
        _on_imagenet(sigma, method)
        for sigma in (0.25, 0.5, 1.0)
        for method in ("gaussian", "amplify")
    ]


def _more_imagenet(context: Context) -> list[PaperRow]:
    """Every other method that there are main certificates of on ImageNet: the released logs have seven."""
    there = sorted(
        {
            (found.sigma, found.method)
            for found in context.found
            if found.dataset == "imagenet"
        }
    )
    more = (row for row in starmap(_on_imagenet, there) if row not in _imagenet())
    return [row for row in more if context.certificates_of(row) is not None]


def _described(line: dict[str, str]) -> PaperObject:
    """The object of a line of objects.csv."""
    paper, shows = line["name"].partition("/")[0], line["shows"].split()

    def rows() -> list[PaperRow]:
        every = [
            row for table in line["tables"].split() for row in rows_of(paper, table)
        ]
        return [
            r
            for r in every
            if line["sigma"] in ("", f"{r.sigma:g}")
            and line["method"] in ("", r.method)
        ]

    facts: dict[str, Any] = {
        "rows": rows,
        "needs_models": "models" in shows,
        "needs_p_a": "p_A" in shows,
    }
    facts |= (
        {"rows": _imagenet, "more_rows": _more_imagenet}
        if line["name"] == "acr/imagenet"
        else {}
    )
    return PaperObject(line["name"], line["title"], line["maker"], **facts)


with resources.files("randsmooth.papers").joinpath("objects.csv").open() as _lines:
    OBJECTS = tuple(map(_described, csv.DictReader(_lines)))
SETTINGS = "a table of settings, which randsmooth methods --presets lists"
NOT_COMPUTED = dict.fromkeys(
    ("acr/table4", "macer/table4", "macer/table5", "macer/table9"), SETTINGS
)
NOT_COMPUTED |= dict.fromkeys(("acr/figure1", "cat-rs/figure2"), "an illustration")
# The text by which each paper's objects are numbered, and whose figures are shown.
TEXTS = {
    "acr": "the first version of the text (arXiv v1, October 2024); ICML 2025 numbers its tables otherwise",
    "macer": "the text of ICLR 2020",
    "cat-rs": "the submission to AAAI 2023",
}
# A table as ICML 2025 numbers it, and its name here. Table 7 there, settings on ImageNet, is in no earlier text; the
# numbers of its other tables are not known here.
ICML = "acr/icml-"
ALIASES = {"acr/icml-table6": "acr/table4"}
NOT_COMPUTED["acr/icml-table7"] = SETTINGS


def find_object(name: str) -> PaperObject:
    """The table or figure called PAPER/OBJECT, or by the name of a later text in ALIASES.

    Raises:
        Problem: no such object, or one of which nothing is computed.

    Example:
        >>> find_object("acr/theorem1").title
        'budget at which a constant classifier passes any ACR'
    """
    by_name = {candidate.name: candidate for candidate in OBJECTS}
    own = ALIASES.get(name, name)
    if own in NOT_COMPUTED:
        raise BadValue(f"{name} has nothing to compute: it is {NOT_COMPUTED[own]}")
    if own.startswith(ICML):
        known = ", ".join(
            sorted(each for each in {*ALIASES, *NOT_COMPUTED} if each.startswith(ICML))
        )
        raise BadValue(
            f"{name}: of the numbers that ICML 2025 prints, {known} are known here. Take the number in the first "
            "version of the text (arXiv v1), by what the table shows: randsmooth reproduce --list"
        )
    check_known("object", by_name, own)
    return by_name[own]
