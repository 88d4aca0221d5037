"""The rows of the published tables, a model each, and the presets that train them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from randsmooth.papers.published_values import ACCURACY, Printed, cells

# How many images figures rest on: those of the released logs. MACER's text does not say:
# it is the default of its code.
IMAGES = {"acr": 10_000, "cat-rs": 10_000, "macer": 500}
# CAT-RS's ablations on CIFAR-10 rest on 500 images (section 4.3).
OF_500_IMAGES = (
    ("cat-rs", "table3"),
    ("cat-rs", "table5"),
    ("cat-rs", "table6"),
    ("cat-rs", "table7"),
)

# Rows that print another paper's run: (paper, object, dataset, sigma, method) -> the
# preset of that run. Table 3 of Sun et al. repeats the Gaussian row of CAT-RS's table 2
# (m = 1) at sigma 0.5, all nine figures of it.
REPEATED = {("acr", "table3", "cifar10", "0.5", "gaussian"): "cat-rs/gaussian"}


@dataclass(frozen=True)
class PaperRow:
    """One model of a published table.

    Attributes:
        paper: "acr", "macer" or "cat-rs".
        setting: the setting that an ablation changes; empty for a main row.
        preset: the preset that trains the model.
        figures: metric -> published value.
        decimals: metric -> number of decimals printed.
        images: the number of images that the figures are measured on; None where
            neither text nor code says.

    Example:
        >>> row = PaperRow("acr", "cifar10", 0.5, "amplify", "E_t=50", "acr/amplify/E_t=50")
        >>> row.name
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
        """Return the name of the row in a legend."""
        return f"{self.method}, {self.setting}" if self.setting else self.method

    @property
    def accuracy(self) -> dict[float, float]:
        """Radius -> published certified accuracy in percent."""
        return {
            float(metric.removeprefix(ACCURACY)): value
            for metric, value in self.figures.items()
            if metric.startswith(ACCURACY)
        }


def rows_of(paper: str, object: str) -> list[PaperRow]:
    """Return the rows of a published object in the paper's order.

    They are of the first version of the text, where two differ.

    Args:
        paper: "acr", "macer" or "cat-rs".
        object: the name of a table or figure, such as "table2".

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
    cells_of_row: dict[tuple[str, ...], list[Printed]] = {}
    for cell in printed:
        if cell.version == printed[0].version:
            key = (cell.dataset, cell.sigma, cell.method, cell.setting)
            cells_of_row.setdefault(key, []).append(cell)
    return [_row(row_cells) for row_cells in cells_of_row.values()]


def _row(printed: Sequence[Printed]) -> PaperRow:
    """Make a row of a table's cells of one data set, sigma, method and setting."""
    first = printed[0]
    run = (first.paper, first.object, first.dataset, first.sigma, first.method)
    preset = REPEATED.get(run)
    if preset is None:
        preset = preset_of(first.paper, first.dataset, first.method, first.setting)
    images = IMAGES[first.paper]
    if (first.paper, first.object) in OF_500_IMAGES:
        images = 500
    return PaperRow(
        paper=first.paper,
        dataset=first.dataset,
        sigma=float(first.sigma or "nan"),
        method=first.method,
        setting=first.setting,
        preset=preset,
        figures={cell.metric: float(cell.value) for cell in printed},
        decimals={cell.metric: _decimals(cell.value) for cell in printed},
        images=images,
    )


def _decimals(printed: str) -> int:
    return len(printed.partition(".")[2])


def preset_of(paper: str, dataset: str, method: str, setting: str) -> str:
    """Name the preset that trains a row.

    It is the variation that the setting names, else the method's main one. On MNIST the
    figures of CAT-RS's baselines are of released logs: "table1" trains them, not the
    text's preset.
    """
    variation = setting
    logged = paper == "cat-rs" and dataset == "mnist" and method != "cat-rs"
    if logged and not setting:
        variation = "table1"
    if variation:
        return f"{paper}/{method}/{variation}"
    return f"{paper}/{method}"


def is_main(preset: str) -> bool:
    """Return whether a preset belongs to a main row, not to an ablation."""
    return preset.count("/") == 1 or preset.endswith(("/table1", "/prose"))


def named(rows: Sequence[PaperRow]) -> str:
    """Name rows: `gaussian, amplify/E_t=50 at sigma 0.5; macer at sigma 1`."""
    names_of_sigma: dict[float, list[str]] = {}
    for row in rows:
        name = row.name.replace(", ", "/")
        names_of_sigma.setdefault(row.sigma, []).append(name)
    return "; ".join(
        f"{', '.join(names)} at sigma {sigma:g}"
        for sigma, names in names_of_sigma.items()
    )
