"""`randsmooth export`."""

from __future__ import annotations

from pathlib import Path

from randsmooth.cli.messages import note
from randsmooth.cli.outputs import writing
from randsmooth.cli.settings import Settings, argument, option
from randsmooth.escape import say


class Export(Settings):
    """Settings of `randsmooth export`."""

    file: Path = argument("Parquet file of `randsmooth certify`.")
    out: Path | None = option("TSV file to write. (default: FILE.tsv)")
    n: int | None = option(
        "Judge as if n samples per image had been drawn: a random subset is taken. (default: all samples)"
    )
    alpha: float | None = option(
        "Judge at this alpha, the probability that an image's certificate is wrong. (default: that of the file)"
    )
    overwrite: bool = option("Replace a file that exists.", False)


def export(settings: Export) -> None:
    """Write certificates as a TSV log, the format of the literature. Radii are rounded down, to stay certified.

    A log has no place for a rule or a bound, so only tables of --rule fixed with the clopper-pearson bound can be
    written. Nor does it hold sigma, n and alpha: this command prints them, to be given to whoever reads the log.

    Example: randsmooth export gaussian.parquet --out gaussian.tsv
    """
    from randsmooth.certificates import write_tsv
    from randsmooth.cli import reading

    out = settings.out or settings.file.with_suffix(".tsv")
    with writing([out], overwrite=settings.overwrite):
        (table,) = reading.load([settings.file], n=settings.n, alpha=settings.alpha)
        write_tsv(table, out)
    say(out)
    facts = {name: getattr(table.header, name) for name in ("sigma", "n", "alpha")}
    options = " ".join(f"--{name} {value}" for name, value in facts.items() if value is not None)
    if options:
        note(f"a log does not say what it was made with; give its readers {options}")
