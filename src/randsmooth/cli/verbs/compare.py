"""`randsmooth compare`: certificate files beside each other, on one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from randsmooth import data, metrics, report
from randsmooth.atomic import write_atomically
from randsmooth.certificates import Certificates, Header
from randsmooth.cli.certificate_files import Compared
from randsmooth.cli.options import Answered
from randsmooth.cli.output import note, writing
from randsmooth.cli.printed_commands import as_typed, words_of
from randsmooth.cli.settings import Given, words
from randsmooth.cli.true_labels import labels_at_hand
from randsmooth.documents import shown
from randsmooth.errors import NotComparable, NotFound, Problem, WrongTable
from randsmooth.extras import needs
from randsmooth.progress import worded

# The way on where packages are missing that the page needs.
WITHOUT_PAGE = "`randsmooth evaluate A B` prints the paired comparison without it"

# Format of a table of metrics -> the suffix of its file.
SUFFIXES = {
    "text": "txt",
    "md": "md",
    "latex": "tex",
    "csv": "csv",
    "json": "json",
}


class Compare(Answered, Compared):
    """Settings of `randsmooth compare`.

    Attributes:
        out: The HTML page to write; it works offline.
        title: Title of the page.
        figures: Also write plots beside the page: png, pdf or both. They show certified
            accuracy and p_A. A third shows methods or noises with several widths at
            their best width.
        tables: Also write the table of metrics beside the page, in any of text, md,
            latex, csv, json.
        pictures: Show some of the images that the baseline certifies and a method gives
            up, if the data is on this machine.
        overwrite: Replace files that exist.
    """

    out: Path = Path("report.html")
    title: str | None = None
    figures: Annotated[
        list[Literal["png", "pdf"]],
        BeforeValidator(words),
        Given(by_commas=True, metavar="png,pdf"),
    ] = []
    tables: Annotated[
        list[Literal["text", "md", "latex", "csv", "json"]],
        BeforeValidator(words),
        Given(by_commas=True, metavar="md,latex,..."),
    ] = []
    pictures: bool = False
    overwrite: bool = False


def run(settings: Compare) -> None:
    """Compare certificate files on one HTML page.

    The command checks the files, and answers which method certifies more at one radius.
    The page also has the evidence: curves, each method against the baseline, classes and
    provenance.

    Example: randsmooth compare gaussian.parquet amplify.parquet --out report.html
    --figures png --tables latex
    """
    tables = settings.read_tables()
    # Path -> the function that writes it.
    beside = files_beside(settings, tables)
    with (
        needs("randsmooth compare", WITHOUT_PAGE),
        writing([settings.out, *beside], overwrite=settings.overwrite),
    ):
        content = report.page_content(
            tables,
            radii=settings.radii,
            baseline=settings.baseline,
            at=settings.at,
            pictures=_pictures_if_at_hand(tables) if settings.pictures else None,
            command=as_typed(words_of("compare", settings)),
            labels=labels_at_hand(tables),
            anyway=settings.anyway,
        )
        summary = report.write_page(content, settings.out, title=settings.title)
        for remark in report.remarks(tables):
            # The summary is printed, too: nothing is said twice.
            if worded(remark) not in summary:
                note(remark)

        written = [str(settings.out)]
        for path, write in beside.items():
            # A figure that the tables do not allow does not stop the others.
            try:
                write(path)
                written.append(str(path))
            except Problem as reason:
                note(f"no {path.name}: {reason}")

    sheet = content.sheet
    settings.answer(
        report.to_short_lines(sheet, [*summary, *written]),
        lambda: {
            "checks": sheet.check_block.content,
            "answer": sheet.answer.content,
            "summary": summary,
            "written": written,
        },
    )


def files_beside(
    settings: Compare, tables: Sequence[Certificates]
) -> dict[Path, Callable[[Path], None]]:
    """Return path -> the function that writes it, of the files beside the page."""
    baseline = settings.baseline
    # The part of a file's name that says what it shows -> the function that draws it.
    figures: dict[str, Callable[[Path], None]] = {
        "radius": partial(report.draw_radius_accuracy, tables, baseline=baseline),
        "p_A": partial(_draw_p_a, tables, baseline),
        "sigmas": partial(_draw_envelopes, tables),
    }
    stem = settings.out.with_suffix("")
    files: dict[Path, Callable[[Path], None]] = {}
    for suffix in settings.figures:
        for subject, draw in figures.items():
            files[Path(f"{stem}-{subject}.{suffix}")] = draw
    for format in settings.tables:
        path = Path(f"{stem}-table.{SUFFIXES[format]}")
        files[path] = partial(_write_table, settings, tables, format)
    return files


def _write_table(
    settings: Compare, tables: Sequence[Certificates], format: str, path: Path
) -> None:
    """Write the table of metrics to `path`."""
    write_atomically(path, settings.rendered(tables, format).encode())


def _draw_p_a(tables: Sequence[Certificates], baseline: str | None, path: Path) -> None:
    """Draw the p_A curves of the tables whose p_A is known.

    Raises:
        WrongTable: the p_A of no table is known.
    """
    known = [table for table in tables if metrics.knows_p_a(table)]
    unknown = [table.name for table in tables if not metrics.knows_p_a(table)]
    if not known:
        raise WrongTable("the p_A of no table is known")
    if unknown:
        note(f"{path.name} leaves out {', '.join(unknown)}, whose p_A is not known")
    # Without the named one, `draw_p_a_curves` looks for a baseline itself.
    if baseline in unknown:
        baseline = None
    report.draw_p_a_curves(known, path, baseline=baseline)


def _draw_envelopes(tables: Sequence[Certificates], path: Path) -> None:
    """Draw each method at its best sigma.

    Raises:
        WrongTable: no method, and no kind of noise, has tables under several sigmas.
    """
    groups = report.group_by_method(tables)
    if not groups:
        raise WrongTable(
            "it needs tables of one method, or of one kind of noise, under several "
            "sigmas"
        )
    report.draw_envelopes(groups, path)
    note(f"{path.name}: {metrics.NO_ONE_CLASSIFIER}")


def _pictures_if_at_hand(tables: Sequence[Certificates]) -> report.Pictures | None:
    """Return the pixels of the images; None, with a note, where they are not here."""
    try:
        return pictures_of(tables)
    except Problem as reason:
        note(f"no pictures: {reason}")
        return None


def pictures_of(tables: Sequence[Certificates]) -> report.Pictures:
    """Return a function that gives the pixels of images by their positions.

    The images are those of the split that was certified, by the first table that names
    one. Nothing is fetched.

    Raises:
        Problem: no table names its data set, it is not on this machine, or its images
            are not those of a table.
    """
    header = _header_with_split(tables)
    dataset = str(header.dataset)
    if dataset not in data.DATASETS:
        # A folder that a file names is not opened unasked.
        raise WrongTable(
            f"{shown(dataset)} is not the name of a data set, and pictures are shown "
            "of those only"
        )
    if not data.is_at_hand(dataset):
        raise NotFound(
            f"{dataset} is not on this machine; set RANDSMOOTH_DATA to the folder that "
            "holds it"
        )
    images = data.load(
        dataset, str(header.split), resize=header.resize, crop=header.crop
    )
    _check_labels(tables, images.labels.numpy())

    def pixels(idx: Sequence[int]) -> list[Any]:
        """Return the images at positions, each (H, W, C) in bytes."""
        # Late, as most comparisons need no torch.
        import torch

        x, _ = images.batch(torch.tensor(list(idx)))  # (B, C, H, W) in [0, 1]
        in_bytes = (x * 255.0).round().to(torch.uint8)
        return list(in_bytes.permute(0, 2, 3, 1).cpu().numpy())

    return pixels


def _header_with_split(tables: Sequence[Certificates]) -> Header:
    """Return the first header that names a data set and a split. Problem if none does."""
    for table in tables:
        if table.header.dataset and table.header.split:
            return table.header
    raise WrongTable("no table says which data set and split its images are from")


def _check_labels(tables: Sequence[Certificates], labels: Any) -> None:
    """Raise Problem for a table of other images than those at hand.

    Args:
        tables: the certificates.
        labels: (N,) the labels of the images at hand.
    """
    for table in tables:
        # Positions beyond the images at hand have no label to compare.
        inside = (table.idx >= 0) & (table.idx < len(labels))
        if not inside.all() or (labels[table.idx] != table.label).any():
            raise NotComparable(
                f"the images at hand are not those of {table.name}: their labels differ"
            )
