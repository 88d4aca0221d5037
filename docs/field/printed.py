"""What the papers print of the model of a log, and whether the log agrees."""

from dataclasses import dataclass
from functools import cache

from docs.field.judging import Judged

from randsmooth import certificates
from randsmooth.papers import OBJECTS, PaperRow
from randsmooth.papers.cell_comparison import CellAgreement, agreement_of
from randsmooth.papers.find_certificates import (
    SAME_IMAGES,
    CertificateFile,
    certificates_for,
)

PAPER = {
    "eth-sri/acr-weakness": "acr",
    "alinlab/smoothing-catrs": "cat-rs",
}  # which a repository is of
AGREES, WITHIN_CHANCE, DIFFERS, ANOTHER_RUN = (
    "as printed",
    "within chance",
    "differs",
    "another run",
)


@dataclass(frozen=True)
class Printed:
    """The row of a paper's table that prints the model of a log.

    Attributes:
        table: such as "cat-rs/table2".
        row: what is printed there.
        agreed: how well the figures of the log agree with it.
        said: AGREES to rounding; WITHIN_CHANCE where the paper's figures are of another number of images and a 99%
            interval explains the difference; DIFFERS; or ANOTHER_RUN, where at least half of the cells differ.
    """

    table: str
    row: PaperRow
    agreed: CellAgreement
    said: str


def printed(one: Judged) -> Printed | None:
    """The printed row of a log's data set, sigma, method and settings; None without one.

    Of several it is one of the repository's own paper, else one that is measured on as many images as the log, else
    the nearest. To be the nearest of several makes agreement more likely: a log that agrees was not thereby shown to be
    the one that the paper printed.
    """
    place = certificates.path_facts(one.place.filed)
    header = one.table.header
    if (
        place.other_parts
        or place.split == "train"
        or not header.dataset
        or header.sigma is None
    ):
        return None
    dataset = SAME_IMAGES.get(header.dataset, header.dataset)
    file = CertificateFile(
        one.place.filed,
        one.table,
        dataset,
        header.sigma,
        str(one.model.get("method")),
        "",
        place,
    )
    found = [
        (table, row, agreement_of(row, file))
        for table, row in _rows()
        if row.sigma == file.sigma and certificates_for([file], row, row.dataset)
    ]
    if not found:
        return None
    own = PAPER.get(one.place.repository)

    def order(
        each: tuple[str, PaperRow, CellAgreement],
    ) -> tuple[bool, bool, float, float]:
        _, row, agreed = each
        return row.paper != own, not agreed.same_images, agreed.share, agreed.mean_error

    table, row, agreed = min(found, key=order)
    return Printed(table, row, agreed, _said(agreed))


def _said(agreed: CellAgreement) -> str:
    if agreed.unexplained:
        return ANOTHER_RUN if agreed.another_run else DIFFERS
    return AGREES if agreed.same_images else WITHIN_CHANCE


@cache
def _rows() -> tuple[tuple[str, PaperRow], ...]:
    """Every row of the papers' tables that prints figures of a certified model."""
    tables = [
        thing for thing in OBJECTS if "/table" in thing.name and not thing.needs_models
    ]
    return tuple(
        (table.name, row)
        for table in tables
        for row in table.rows()
        if "acr" in row.figures
    )
