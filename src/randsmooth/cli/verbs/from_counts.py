"""`randsmooth from-counts`."""

from __future__ import annotations

from pathlib import Path

from randsmooth import bounds
from randsmooth.cli.messages import writing
from randsmooth.cli.options import certification_option
from randsmooth.cli.settings import Argument, Settings
from randsmooth.errors import InputError
from randsmooth.escape import printable, say
from randsmooth.noise import check_sigma


class FromCounts(Settings):
    """Settings of `randsmooth from-counts`.

    Attributes:
        file: Counts: comma- or tab-separated values with a line of column names, or JSON lines.
        sigma: Standard deviation of the noise that was added, for pixels in [0, 1].
        n: Samples per image that were counted; under a sequential rule, the most that an image may take. (default: what
            the counts of an image add up to, or the column n)
        rule: By which rule the samples were drawn: fixed, or a sequential one (column path).
        bound: Confidence bound of the fixed rule; any-class where the same samples picked the class.
        dataset: Name of the data set, for comparisons.
        split: Its split.
        source: Where the counts come from, in words. (default: the name of the file)
        out: Parquet file to write. (default: FILE.parquet)
        overwrite: Replace a file that exists.
    """

    file: Argument[Path]
    sigma: float
    n: int | None = None
    alpha: float = certification_option("alpha", 0.001)
    rule: str = "fixed"
    bound: str = "clopper-pearson"
    dataset: str | None = None
    split: str | None = None
    source: str | None = None
    out: Path | None = None
    overwrite: bool = False


def from_counts(settings: FromCounts) -> None:
    """Turn the counts of another program into a table of certificates, whose radii are computed here.

    One row an image, with the columns label and, of the samples that bound p_A, either counts_0, counts_1, ... (how
    often each class came out) or n_A (how often the picked class did) and n. How the class was picked decides what
    the counts prove: counts0_0, counts0_1, ... are the counts of other samples that picked it; picked is a class that
    was fixed without these samples; if it is the most frequent of these very samples, say --bound any-class. More
    columns: idx, seconds, and path, the looks of a sequential rule. Lists, such as [990, 10], may be columns, too:
    counts, counts0 and path.

    What counts cannot show, such as their noise, is recorded as unknown: `randsmooth verify` says what that is.

    Example: randsmooth from-counts counts.csv --sigma 0.5 --out mine.parquet
    """
    check_sigma(settings.sigma)
    bounds.check_level(settings.alpha)
    if not settings.file.is_file():
        raise InputError(f"no file at {settings.file}; give a file of counts")
    out = settings.out or settings.file.with_suffix(".parquet")
    if out.suffix != ".parquet":
        raise InputError(f"{out} must end in .parquet; `randsmooth export` makes a TSV log of such a file")
    from randsmooth import certificates

    with writing([out], overwrite=settings.overwrite):
        facts = settings.model_dump(exclude={"file", "out", "overwrite"})
        table = certificates.from_counts(settings.file, **facts, name=out.stem)
        certificates.write_parquet(table, out)
    from randsmooth.report import render

    say(render([table]), end="")
    say(printable(f"certificates in {out}"))
