"""Logs as the literature writes them, of the tables whose certificates a log can say."""

from datetime import timedelta

from randsmooth.atomic import write_atomically
from randsmooth.certificates.header import CLOPPER_PEARSON
from randsmooth.certificates.logs.first_line import TSV_COLUMNS
from randsmooth.certificates.table import Certificates
from randsmooth.errors import WrongTable
from randsmooth.noise import NORMS, round_down
from randsmooth.urls import Place, delivered

# Decimals of a radius in a log.
DECIMALS = 6


def write_tsv(table: Certificates, path: Place) -> None:
    """Write a log as the literature does.

    Radii are rounded *down* to six decimals, so that they stay certified.

    A log does not say how it was made. Its readers assume n samples of every image,
    judged by Clopper-Pearson, and recover p_A from a radius by inverting that bound at
    the sigma, n and alpha that accompany the file.

    Raises:
        Problem: the table was made in another way, so that its log would be misread.

    Example:
        >>> from pathlib import Path
        >>> from randsmooth.certificates import from_radii
        >>> write_tsv(from_radii([0.0, 0.75]), "log.tsv")
        >>> print(Path("log.tsv").read_text().splitlines()[2].expandtabs(4))
        1   0   0   0.750000    1   0:00:00
    """
    _check_a_log_can_say(table)
    columns = {
        "idx": table.idx,
        "label": table.label,
        "predict": table.predict,
        "radius": [round_down(radius, DECIMALS) for radius in table.radius],
        "correct": table.correct.astype(int),
        "time": [timedelta(seconds=seconds) for seconds in table.seconds.tolist()],
    }
    rows = zip(*(columns[name] for name in TSV_COLUMNS), strict=True)
    lines = ["\t".join(map(str, cells)) for cells in (TSV_COLUMNS, *rows)]
    text = "\n".join(lines) + "\n"
    with delivered(path, overwrite=True) as local:
        write_atomically(local, text.encode())


def _check_a_log_can_say(table: Certificates) -> None:
    """Raise Problem unless all rows are CERTIFY's.

    That is, under Gaussian noise, by n samples each and one-sided Clopper-Pearson.
    """
    header = table.header
    if table.sigmas is not None:
        raise WrongTable(
            f"{table.name or 'this log'} has a sigma for each image, "
            "which a TSV log of "
            "ours cannot say"
        )
    gaussian = header.noise is None or header.sigma is not None
    if not gaussian or table.converted is not None:
        radii = NORMS[table.norm].radius.replace("radius", "radii")
        noise = f"{header.noise_title}, {radii}"
        raise WrongTable(
            f"{table.name or 'this table'} ({noise}): a TSV log has L2 radii; keep the "
            "Parquet file"
        )
    usual = header.rule == "fixed" and header.bound in (None, CLOPPER_PEARSON)
    if not usual or header.n0 == 0 or header.label_aware or not table.labelled:
        raise WrongTable(
            f"{table.name or 'this table'} was certified otherwise than readers of a "
            "TSV log assume, who would recover a false p_A",
            fix="keep the Parquet file, or certify by the rule fixed with the bound "
            "clopper-pearson, n0 and labels",
        )
