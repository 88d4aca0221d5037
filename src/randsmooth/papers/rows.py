"""The rows of the published tables, a model each, and the presets that train them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from randsmooth.papers.published_values import ACCURACY, Printed, cells

# Paper -> the number of images on which its figures are measured. For "acr" and "cat-rs"
# it is that of the released logs. MACER's text names none: 500 is the default of its
# code.
IMAGES = {"acr": 10_000, "cat-rs": 10_000, "macer": 500}
# The tables, as (paper, object), whose figures are measured on 500 images instead: the
# ablations of CAT-RS on CIFAR-10 (section 4.3).
OF_500_IMAGES = (
    ("cat-rs", "table3"),
    ("cat-rs", "table5"),
    ("cat-rs", "table6"),
    ("cat-rs", "table7"),
)

# Rows that print the figures of another paper's run: (paper, object, dataset, sigma,
# method) -> the preset of that run. Table 3 of Sun et al. repeats the Gaussian row of
# CAT-RS's table 2 (m = 1) at sigma 0.5, all nine figures of it.
REPEATED = {("acr", "table3", "cifar10", "0.5", "gaussian"): "cat-rs/gaussian"}


@dataclass(frozen=True)
class PaperRow:
    """One row of a published table: a model and its figures.

    Attributes:
        paper: "acr", "macer" or "cat-rs".
        dataset, sigma, method: the data set, noise level and method of training.
        setting: the setting that an ablation changes, such as "E_t=50"; empty for a
            main row.
        preset: the preset that trains the model.
        figures: metric -> published value; empty for a model of which the paper prints
            no figures.
        decimals: metric -> number of decimals printed.
        images: the number of images on which the figures are measured; None for a
            model of which the paper prints no figures.

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
        """Return radius -> published certified accuracy in percent."""
        return {
            float(metric.removeprefix(ACCURACY)): value
            for metric, value in self.figures.items()
            if metric.startswith(ACCURACY)
        }


def rows_of(paper: str, object: str) -> list[PaperRow]:
    """Return the rows of a published table or figure in the paper's order.

    Args:
        paper: "acr", "macer" or "cat-rs".
        object: the name of a table or figure, such as "table2".

    Raises:
        Problem: no such paper, or no such object in it.

    Example:
        >>> row = rows_of("acr", "table2")[7]
        >>> row.name, row.sigma, row.preset
        ('gaussian', 0.5, 'acr/gaussian')
        >>> row.figures["acr"], row.figures["accuracy@1"]
        (0.562, 23.7)
    """
    cells_of_row: dict[tuple[str, ...], list[Printed]] = {}
    for cell in cells(paper, object):
        row_key = (cell.dataset, cell.sigma, cell.method, cell.setting)
        cells_of_row.setdefault(row_key, []).append(cell)
    return [_row(row_cells) for row_cells in cells_of_row.values()]


def _row(row_cells: Sequence[Printed]) -> PaperRow:
    """Make a row of its cells, which share data set, sigma, method and setting."""
    first = row_cells[0]
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
        sigma=float(first.sigma),
        method=first.method,
        setting=first.setting,
        preset=preset,
        figures={cell.metric: float(cell.value) for cell in row_cells},
        decimals={cell.metric: _decimals(cell.value) for cell in row_cells},
        images=images,
    )


def _decimals(value: str) -> int:
    """Return the number of digits behind the point of a printed number."""
    _, _, digits_behind_the_point = value.partition(".")
    return len(digits_behind_the_point)


def preset_of(paper: str, dataset: str, method: str, setting: str) -> str:
    """Return the name of the preset that trains a row: PAPER/METHOD[/VARIATION].

    The setting of an ablation names a variation of the method's main preset. A main row
    has no setting, and no variation but for CAT-RS's baselines on MNIST. The text of the
    paper describes their training otherwise than the released logs, whose figures it
    prints: the variation "table1" trains as the logs tell.
    """
    variation = setting
    is_baseline_on_mnist = (
        paper == "cat-rs" and dataset == "mnist" and method != "cat-rs"
    )
    if is_baseline_on_mnist and not setting:
        variation = "table1"
    if variation:
        return f"{paper}/{method}/{variation}"
    return f"{paper}/{method}"


def is_main(preset: str) -> bool:
    """Return whether the preset of this name belongs to a main row, not to an ablation.

    A main row has a preset PAPER/METHOD. Where a paper's text and the logs of its
    figures describe the training differently, it has two: PAPER/METHOD/prose follows the
    text, and PAPER/METHOD/table1 the logs.
    """
    return preset.count("/") == 1 or preset.endswith(("/table1", "/prose"))


def named(rows: Sequence[PaperRow]) -> str:
    """Return the names of rows: `gaussian, amplify/E_t=50 at sigma 0.5; macer at sigma 1`."""
    names_of_sigma: dict[float, list[str]] = {}
    for row in rows:
        # A comma separates rows here, so that there can be none in a row's name.
        name = row.name.replace(", ", "/")
        names_of_sigma.setdefault(row.sigma, []).append(name)
    return "; ".join(
        f"{', '.join(names)} at sigma {sigma:g}"
        for sigma, names in names_of_sigma.items()
    )
