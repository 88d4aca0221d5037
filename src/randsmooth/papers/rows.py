"""The rows of a published table: which model each is about, and what the paper says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from randsmooth.papers.published_values import Cell, cells

ALL = 10_000  # of the test sets of MNIST and CIFAR-10

# By paper and object; by paper alone for its other objects.
IMAGES: dict[tuple[str, ...], int] = {
    ("acr",): ALL,  # the released logs, which give the figures of table 2
    ("acr", "imagenet"): 500,  # likewise
    ("cat-rs",): ALL,  # the released logs
    **{("cat-rs", name): 500 for name in ("table3", "table5", "table6", "table7")},  # section 4.3
    ("macer",): 500,  # the default of the released code; the text does not say
}


def images_of(paper: str, object: str) -> int | None:
    """Images that the figures of `object` rest on; None where nothing says."""
    return IMAGES.get((paper, object), IMAGES.get((paper,)))


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


def rows_of(paper: str, object: str, version: str | None = None) -> list[PaperRow]:
    """The rows of a published object in the paper's order.

    Args:
        paper: "acr", "macer" or "cat-rs".
        object: such as "table2".
        version: of the text, where two versions of it differ; by default the first.

    Raises:
        InputError: no such object.

    Example:
        >>> row = rows_of("acr", "table2")[7]
        >>> row.name, row.sigma, row.preset
        ('gaussian', 0.5, 'acr/gaussian')
        >>> row.figures["acr"], row.figures["accuracy@1"]
        (0.562, 23.7)
    """
    printed = cells(paper, object)
    version = version or printed[0].version
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in printed:
        if cell.version == version:
            groups.setdefault((cell.dataset, cell.sigma, cell.method, cell.setting), []).append(cell)
    return [_row(part) for part in groups.values()]


def _row(printed: Sequence[Cell]) -> PaperRow:
    """The row that a table's cells of one data set, sigma, method and setting make."""
    paper, object, _, dataset, sigma, method, setting = printed[0][:7]
    repeated = REPEATED.get((paper, object, dataset, sigma, method))
    texts = {cell.metric: cell.value for cell in printed}
    return PaperRow(
        paper,
        dataset,
        float(sigma or "nan"),
        method,
        setting,
        repeated or preset_of(paper, dataset, method, setting),
        figures={metric: float(text) for metric, text in texts.items()},
        decimals={metric: len(text.partition(".")[2]) for metric, text in texts.items()},
        images=images_of(paper, object),
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
    """`gaussian, macer at sigma 0.5; macer at sigma 1`."""
    sigmas = dict.fromkeys(row.sigma for row in rows)
    names = {sigma: ", ".join(row.name for row in rows if row.sigma == sigma) for sigma in sigmas}
    return "; ".join(f"{name} at sigma {sigma:g}" for sigma, name in names.items())


def metrics_of(rows: Sequence[PaperRow]) -> list[str]:
    """The metrics that any row has, in the first row's order."""
    return list(dict.fromkeys(metric for row in rows for metric in row.figures))
