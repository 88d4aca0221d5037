"""The tables and figures of the papers: what each shows, and of which models."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from randsmooth.errors import BadValue, check_known
from randsmooth.papers.rows import PaperRow, preset_of, rows_of

# Paper -> the edition that numbers its tables and figures, and whose values are shown.
EDITIONS = {
    "acr": (
        "the first version of the text (arXiv v1, October 2024); "
        "ICML 2025 numbers its tables otherwise"
    ),
    "macer": "the text of ICLR 2020",
    "cat-rs": "the submission to AAAI 2023",
}


class Drawing(Enum):
    """The kinds of drawings; `drawings.py` has the function for each.

    Objects have these names instead of the functions, so that listing the objects loads
    nothing heavy.
    """

    # from formulas alone
    RADIUS_AND_SLOPE = auto()
    BUDGETS_FOR_ACR = auto()
    DENSITY_ON_SPHERE = auto()
    SAMPLING_WEIGHTS = auto()
    HINGE_BOUNDS = auto()
    THREE_GUARANTEES = auto()
    # from certificates
    TABLE = auto()
    TABLE_WITH_COSTS = auto()
    ACCURACY_CURVES = auto()
    ABLATION_CURVES = auto()
    P_A_CURVES = auto()
    BEST_SIGMAS = auto()
    ACR_BY_BUDGET = auto()
    TRADE_OFF_AT_2 = auto()
    TRADE_OFFS = auto()
    # from the models themselves
    GRADIENT_TABLE = auto()
    GRADIENTS_UNDER_ATTACK = auto()
    REMAINING_DATA = auto()
    SOFT_AND_HARD = auto()


# Drawings that need certificates from which p_A follows.
NEEDS_P_A = frozenset({Drawing.P_A_CURVES, Drawing.ACR_BY_BUDGET})


@dataclass(frozen=True)
class PaperObject:
    """A table or figure of a paper.

    Attributes:
        name: the name, in the form PAPER/OBJECT.
        title: a title that says what it shows.
        drawing: the kind of drawing.
        tables: the published tables of the same paper whose models it is about; empty
            where formulas alone give it.
        sigma, method: the sigma or the method to which the models are restricted; by
            default those of all rows of the tables.
        needs_models: whether the models themselves are needed, not only their
            certificates.

    Example:
        >>> from randsmooth.papers import find_object
        >>> table = find_object("acr/table2")
        >>> table.title, len(table.rows()), table.needs_models
        ('certified accuracy and ACR on CIFAR-10, all methods', 21, False)
    """

    name: str
    title: str
    drawing: Drawing
    tables: tuple[str, ...] = ()
    sigma: float | None = None
    method: str | None = None
    needs_models: bool = False

    @property
    def paper(self) -> str:
        """Return the name of the paper, such as "acr"."""
        return self.name.partition("/")[0]

    @property
    def file_name(self) -> str:
        """Return the name of the files that it is written to, without suffixes."""
        return self.name.replace("/", "-")

    @property
    def edition(self) -> str:
        """Return the edition of the paper that numbers it, and whose values are shown."""
        return EDITIONS[self.paper]

    @property
    def needs_p_a(self) -> bool:
        """Return whether p_A has to follow from the certificates."""
        return self.drawing in NEEDS_P_A

    def rows(self) -> list[PaperRow]:
        """Return the rows that it is about; none where formulas alone give it."""
        return [
            row
            for table in self.tables
            for row in rows_of(self.paper, table)
            if self.sigma in (None, row.sigma) and self.method in (None, row.method)
        ]

    def further_rows(
        self, certified: Iterable[tuple[str, float, str]]
    ) -> list[PaperRow]:
        """Return rows of other models to show as well, of those that are certified.

        Most objects show their own `rows` alone: there are none.

        Args:
            certified: data set, sigma and method of every model with certificates.
        """
        return []


@dataclass(frozen=True)
class ImageNetTable(PaperObject):
    """The models of the ACR paper on ImageNet, for which it prints no table."""

    def rows(self) -> list[PaperRow]:
        """Return Gaussian training and Amplify at every sigma."""
        return [
            _on_imagenet(sigma, method)
            for sigma in (0.25, 0.5, 1.0)
            for method in ("gaussian", "amplify")
        ]

    def further_rows(
        self, certified: Iterable[tuple[str, float, str]]
    ) -> list[PaperRow]:
        """Return a row for each other sigma and method that is certified on ImageNet.

        The released logs have seven methods.
        """
        on_imagenet = {
            (sigma, method)
            for dataset, sigma, method in certified
            if dataset == "imagenet"
        }
        rows = [_on_imagenet(sigma, method) for sigma, method in sorted(on_imagenet)]
        rows_shown_anyway = self.rows()
        return [row for row in rows if row not in rows_shown_anyway]


def _on_imagenet(sigma: float, method: str) -> PaperRow:
    """Return a row of the ACR paper on ImageNet, without published figures."""
    paper = "acr"
    dataset = "imagenet"
    return PaperRow(
        paper=paper,
        dataset=dataset,
        sigma=sigma,
        method=method,
        setting="",
        preset=preset_of(paper, dataset, method, setting=""),
    )


OBJECTS: tuple[PaperObject, ...] = (
    PaperObject(
        "acr/figure2",
        "certified radius and its slope against p_A, at n = 100,000 and for p_A known",
        Drawing.RADIUS_AND_SLOPE,
    ),
    PaperObject(
        "acr/theorem1",
        "budget at which a constant classifier passes any ACR",
        Drawing.BUDGETS_FOR_ACR,
    ),
    PaperObject(
        "acr/theorem2",
        "density of Gaussian noise on a sphere",
        Drawing.DENSITY_ON_SPHERE,
    ),
    PaperObject(
        "acr/figure3",
        "distribution of p_A of every method",
        Drawing.P_A_CURVES,
        tables=("table2",),
    ),
    PaperObject(
        "acr/table1",
        "gradient norms of easy and hard images",
        Drawing.GRADIENT_TABLE,
        tables=("table1",),
        needs_models=True,
    ),
    PaperObject("acr/figure4", "sampling weight against p_A", Drawing.SAMPLING_WEIGHTS),
    PaperObject(
        "acr/figure5",
        "gradient norm against p_A before and after the attack",
        Drawing.GRADIENTS_UNDER_ATTACK,
        tables=("table2",),
        sigma=0.5,
        method="gaussian",
        needs_models=True,
    ),
    PaperObject(
        "acr/table2",
        "certified accuracy and ACR on CIFAR-10, all methods",
        Drawing.TABLE,
        tables=("table2",),
    ),
    PaperObject(
        "acr/figure6",
        "certified accuracy against the radius on CIFAR-10",
        Drawing.ACCURACY_CURVES,
        tables=("table2",),
    ),
    PaperObject(
        "acr/table3",
        "Amplify's parts, alone and together",
        Drawing.TABLE,
        tables=("table3",),
    ),
    PaperObject(
        "acr/table5",
        "certified accuracy and ACR for each epoch of discarding, E_t",
        Drawing.TABLE,
        tables=("table5",),
    ),
    PaperObject(
        "acr/table6",
        "certified accuracy and ACR for each threshold of discarding, p_t",
        Drawing.TABLE,
        tables=("table6",),
    ),
    PaperObject(
        "acr/table7",
        "certified accuracy and ACR for each step size of the attack, eps",
        Drawing.TABLE,
        tables=("table7",),
    ),
    PaperObject(
        "acr/table8",
        "certified accuracy and ACR for each number of steps of the attack, T",
        Drawing.TABLE,
        tables=("table8",),
    ),
    PaperObject(
        "acr/table9",
        "certified accuracy and ACR for each step size, L-infinity attack",
        Drawing.TABLE,
        tables=("table9",),
    ),
    PaperObject(
        "acr/table10",
        "certified accuracy and ACR for each number of steps, L-infinity attack",
        Drawing.TABLE,
        tables=("table10",),
    ),
    PaperObject(
        "acr/figure7",
        "curves for each eps and T",
        Drawing.ABLATION_CURVES,
        tables=("table7", "table8"),
    ),
    PaperObject(
        "acr/c1",
        "share of the data that discarding leaves",
        Drawing.REMAINING_DATA,
        tables=("c1-remaining-data",),
        needs_models=True,
    ),
    PaperObject(
        "acr/section7",
        "certified accuracy at each radius by each method's best sigma",
        Drawing.BEST_SIGMAS,
        tables=("table2",),
    ),
    ImageNetTable(
        "acr/imagenet",
        "certified accuracy and ACR on ImageNet, every method found",
        Drawing.TABLE,
    ),
    PaperObject(
        "acr/budget",
        "ACR of every method against the samples spent",
        Drawing.ACR_BY_BUDGET,
        tables=("table2",),
    ),
    PaperObject(
        "macer/proposition1",
        "the hinge bounds the derivative of the radius",
        Drawing.HINGE_BOUNDS,
    ),
    PaperObject(
        "macer/table1",
        "certified accuracy and ACR on CIFAR-10",
        Drawing.TABLE,
        tables=("table1",),
    ),
    PaperObject(
        "macer/table2",
        "certified accuracy and ACR on ImageNet",
        Drawing.TABLE,
        tables=("table2",),
    ),
    PaperObject(
        "macer/table3",
        "training time and ACR",
        Drawing.TABLE_WITH_COSTS,
        tables=("table3",),
        needs_models=True,
    ),
    PaperObject(
        "macer/table6",
        "certified accuracy and ACR on MNIST",
        Drawing.TABLE,
        tables=("table6",),
    ),
    PaperObject(
        "macer/table7",
        "certified accuracy and ACR on SVHN",
        Drawing.TABLE,
        tables=("table7",),
    ),
    PaperObject(
        "macer/table8",
        "150 epochs on CIFAR-10, and what they cost",
        Drawing.TABLE_WITH_COSTS,
        tables=("table8",),
    ),
    PaperObject(
        "macer/table10",
        "certified accuracy and ACR for each number of noises, k",
        Drawing.TABLE,
        tables=("table10",),
    ),
    PaperObject(
        "macer/table11",
        "certified accuracy and ACR for each weight of the robustness term, lambda",
        Drawing.TABLE,
        tables=("table11",),
    ),
    PaperObject(
        "macer/table12",
        "certified accuracy and ACR for each hinge factor, gamma",
        Drawing.TABLE,
        tables=("table12",),
    ),
    PaperObject(
        "macer/table13",
        "certified accuracy and ACR for each inverse temperature, beta",
        Drawing.TABLE,
        tables=("table13",),
    ),
    PaperObject(
        "macer/figure1",
        "certified accuracy against the radius on CIFAR-10",
        Drawing.ACCURACY_CURVES,
        tables=("table1",),
    ),
    PaperObject(
        "macer/figure2",
        "certified accuracy against the radius on ImageNet",
        Drawing.ACCURACY_CURVES,
        tables=("table2",),
    ),
    PaperObject(
        "macer/figure3",
        "curves for each k, lambda, gamma and beta",
        Drawing.ABLATION_CURVES,
        tables=("table10", "table11", "table12", "table13"),
        sigma=0.25,
    ),
    PaperObject(
        "macer/figure4",
        "soft against hard certification",
        Drawing.SOFT_AND_HARD,
        tables=("table1",),
        needs_models=True,
    ),
    PaperObject(
        "cat-rs/figure1",
        "radius against confidence by three guarantees",
        Drawing.THREE_GUARANTEES,
    ),
    PaperObject(
        "cat-rs/table1",
        "certified accuracy and ACR on MNIST",
        Drawing.TABLE,
        tables=("table1",),
    ),
    PaperObject(
        "cat-rs/table2",
        "certified accuracy and ACR on CIFAR-10",
        Drawing.TABLE,
        tables=("table2",),
    ),
    PaperObject(
        "cat-rs/table3", "the parts of CAT-RS", Drawing.TABLE, tables=("table3",)
    ),
    PaperObject(
        "cat-rs/table4",
        "trade-off of three methods on MNIST at sigma 1",
        Drawing.TABLE,
        tables=("table4",),
    ),
    PaperObject(
        "cat-rs/table5",
        "certified accuracy and ACR for each p0",
        Drawing.TABLE,
        tables=("table5",),
    ),
    PaperObject(
        "cat-rs/table6",
        "certified accuracy and ACR for each weight of the high loss, lambda",
        Drawing.TABLE,
        tables=("table6",),
    ),
    PaperObject(
        "cat-rs/table7",
        "certified accuracy and ACR for each number of noises, M",
        Drawing.TABLE,
        tables=("table7",),
    ),
    PaperObject(
        "cat-rs/figure3",
        "certified accuracy against the radius on MNIST",
        Drawing.ACCURACY_CURVES,
        tables=("table1",),
    ),
    PaperObject(
        "cat-rs/figure4",
        "certified accuracy against the radius on CIFAR-10",
        Drawing.ACCURACY_CURVES,
        tables=("table2",),
    ),
    PaperObject(
        "cat-rs/figure5",
        "clean accuracy against that at radius 2 on MNIST",
        Drawing.TRADE_OFF_AT_2,
        tables=("table4",),
    ),
    PaperObject(
        "cat-rs/figure6",
        "curves of the ablations",
        Drawing.ABLATION_CURVES,
        tables=("table3", "table5", "table6", "table7"),
        sigma=0.5,
    ),
    PaperObject(
        "cat-rs/figure7",
        "clean accuracy against ACR and accuracy at radii 1 and 2 on MNIST",
        Drawing.TRADE_OFFS,
        tables=("table4",),
    ),
)

# Reasons why a table or figure is not computed.
SETTINGS = "a table of settings, which `randsmooth methods` lists"
ILLUSTRATION = "an illustration"
# The tables and figures that are not computed, and the reason.
NOT_COMPUTED = {
    "acr/table4": SETTINGS,
    "acr/figure1": ILLUSTRATION,
    "acr/icml-table7": SETTINGS,
    "macer/table4": SETTINGS,
    "macer/table5": SETTINGS,
    "macer/table9": SETTINGS,
    "cat-rs/figure2": ILLUSTRATION,
}
# The names of tables as ICML 2025 numbers them begin so. Table 7 there, settings on
# ImageNet, is in no earlier text. Of its other tables only the number 6 is known here.
ICML = "acr/icml-"
# A table as ICML 2025 numbers it -> its name here.
ALIASES = {"acr/icml-table6": "acr/table4"}


def find_object(name: str) -> PaperObject:
    """Return the table or figure with the name PAPER/OBJECT, or with one in ALIASES.

    Raises:
        Problem: no such object, or one with nothing to compute.

    Example:
        >>> find_object("acr/theorem1").title
        'budget at which a constant classifier passes any ACR'
    """
    name_here = ALIASES.get(name, name)
    if name_here in NOT_COMPUTED:
        raise BadValue(
            f"{name} has nothing to compute: it is {NOT_COMPUTED[name_here]}"
        )
    if name_here.startswith(ICML):
        known = {*ALIASES, *NOT_COMPUTED}
        listed = ", ".join(sorted(each for each in known if each.startswith(ICML)))
        raise BadValue(
            f"{name}: of the numbers that ICML 2025 prints, {listed} are known here. "
            "Take the number in the first version of the text (arXiv v1), by what the "
            "table shows: `randsmooth reproduce` lists them"
        )
    by_name = {thing.name: thing for thing in OBJECTS}
    check_known("object", by_name, name_here)
    return by_name[name_here]
