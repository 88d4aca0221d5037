"""`randsmooth from-counts`: certificates of the counts of another program."""

from __future__ import annotations

from pathlib import Path

from randsmooth import certificates
from randsmooth.cli.options import Answered, certification_option
from randsmooth.cli.output import writing
from randsmooth.cli.settings import Argument
from randsmooth.errors import BadValue


class FromCounts(Answered):
    """Settings of `randsmooth from-counts`.

    Attributes:
        file: Counts: comma- or tab-separated values with a line of column names, or
            JSON lines.
        sigma: Standard deviation of the Gaussian noise that was added, for pixels in
            [0, 1].
        noise: Any noise in its place, such as uniform=0.6.
        n: Samples per image that were counted; under a sequential rule, the most that
            an image may take. (default: what the counts of an image add up to, or the
            column n)
        rule: By which rule the samples were drawn: fixed, or a sequential one (column
            path).
        bound: Confidence bound of the fixed rule; any-class where the same samples
            picked the class.
        dataset: Name of the data set, for comparisons.
        split: Its split.
        source: Where the counts come from, in words. (default: the name of the file)
        out: Parquet file to write. (default: FILE.parquet)
        overwrite: Replace a file that exists.
    """

    file: Argument[Path]
    sigma: float | None = None
    noise: str | None = None
    n: int | None = None
    alpha: float = certification_option("alpha", default=0.001)
    rule: str = "fixed"
    bound: str = "clopper-pearson"
    dataset: str | None = None
    split: str | None = None
    source: str | None = None
    out: Path | None = None
    overwrite: bool = False


# Settings of the command alone; `from_counts` takes the others by their names.
OF_THE_COMMAND = {"file", "out", "overwrite", "format"}


def run(settings: FromCounts) -> None:
    """Turn the counts of another program into certificates, with radii from here.

    Each row is an image. It has the column label, and the counts of the samples that
    bound p_A: either counts_0, counts_1, ... for each class, or n_A for the picked
    class, and n. What the counts prove depends on how the class was picked. If other
    samples picked it, give their counts as counts0_0, counts0_1, .... If the class was
    fixed without these samples, give it as picked. If it is the most frequent class of
    these very samples, pass --bound any-class. Further columns are idx, seconds, and
    path, the looks of a sequential rule. The columns counts, counts0 and path may be
    lists, such as [990, 10].

    The table records facts that counts cannot show, such as their noise, as unknown.
    `randsmooth verify` lists them.

    Example: randsmooth from-counts counts.csv --sigma 0.5 --out mine.parquet
    """
    out = settings.out or settings.file.with_suffix(".parquet")
    if out.suffix != ".parquet":
        raise BadValue(
            f"{out} must end in .parquet; `randsmooth export` makes a TSV log of such "
            "a file"
        )
    with writing([out], overwrite=settings.overwrite):
        facts = settings.model_dump(exclude=OF_THE_COMMAND)
        table = certificates.from_counts(settings.file, **facts, name=out.stem)
        certificates.write_parquet(table, out)
    settings.answer_tables([table], f"certificates in {out}", certificates=str(out))
