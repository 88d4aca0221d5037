"""Logs as the literature writes them, of the tables that readers would not misread."""

from datetime import timedelta

from randsmooth.atomic import write_atomically
from randsmooth.certificates.header import CLOPPER_PEARSON
from randsmooth.certificates.logs.first_line import TSV_COLUMNS
from randsmooth.certificates.table import Certificates
from randsmooth.errors import WrongTable
from randsmooth.noise import NORMS, round_down
from randsmooth.urls import Place, delivered

# Decimals of a radius in a log.
RADIUS_DECIMALS = 6


def write_tsv(table: Certificates, path: Place) -> None:
    """Write a table as a log, in the columns of the literature.

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
    _require_usual_certificates(table)
    columns = {
        "idx": table.idx,
        "label": table.label,
        "predict": table.predict,
        "radius": [round_down(radius, RADIUS_DECIMALS) for radius in table.radius],
        "correct": table.correct.astype(int),
        "time": [timedelta(seconds=seconds) for seconds in table.seconds.tolist()],
    }
    rows = zip(*(columns[name] for name in TSV_COLUMNS), strict=True)
    lines = ["\t".join(map(str, cells)) for cells in (TSV_COLUMNS, *rows)]
    text = "\n".join(lines) + "\n"
    with delivered(path, overwrite=True) as local:
        write_atomically(local, text.encode())


def _require_usual_certificates(table: Certificates) -> None:
    """Refuse a table whose log its readers would misread.

    They assume that CERTIFY of Cohen et al. 2019 made it: one Gaussian noise for all
    images, n0 samples that pick a class, n others, and one-sided Clopper-Pearson.

    Raises:
        WrongTable: the table was made in another way.
    """
    header = table.header
    name = table.name or "this table"
    if table.sigmas is not None:
        raise WrongTable(
            f"{name} has a sigma for each image, which a TSV log of ours cannot say"
        )

    # The noise of a table that was read from a log is unknown, and Gaussian.
    is_gaussian = header.noise is None or header.sigma is not None
    if not is_gaussian or table.converted is not None:
        norm = NORMS[table.norm].label
        raise WrongTable(
            f"{name} ({header.noise_title}) has {norm} radii, and a TSV log has L2 radii "
            "of Gaussian noise; keep the Parquet file"
        )

    is_fixed_rule = header.rule == "fixed"
    # A log names no bound, and is taken to have the usual one.
    is_usual_bound = header.bound in (None, CLOPPER_PEARSON)
    picks_class_by_samples = header.n0 != 0 and not header.label_aware
    is_usual = is_fixed_rule and is_usual_bound and picks_class_by_samples
    if not is_usual or not table.labelled:
        raise WrongTable(
            f"{name} was certified otherwise than readers of a TSV log assume, who would "
            "recover a false p_A",
            fix="keep the Parquet file, or certify by the rule fixed with the bound "
            "clopper-pearson, n0 and labels",
        )
    if table.declined.any():
        raise WrongTable(
            f"{name} has images that are certified as declined, which a TSV log cannot "
            "say: its readers would take them for wrong answers",
            fix="keep the Parquet file",
        )
