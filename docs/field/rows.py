"""The rows of field.csv: one for each released log, judged or not."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.field.judging import RADII, Judged, against, judge, originals, reference_of
from docs.field.logs import Log, Place
from docs.field.printed import printed

from randsmooth import metrics
from randsmooth.errors import Problem
from randsmooth.escape import to_csv
from randsmooth.metrics import P_A_LEVELS, Comparison, Estimate
from randsmooth.progress import Reporter
from randsmooth.report.grouping import gathered

JUDGED, NOT_HERE, REFUSED = "judged", "not here", "refused"
BY = ("repository", "path")
FACTS = (
    *("dataset", "split", "sigma", "trained_sigma", "method", "settings", "more_data"),
    *("arch", "run", "images", "image_set", "n", "alpha"),
)
MORE_DATA = (
    "more",
    "pretrained",
)  # settings of models that saw other images than the training set's
P_A = tuple(f"p_a_{x:g}" for x in P_A_LEVELS)
ACCURACY = tuple(f"accuracy_{r:g}" for r in RADII)
ACR = ("acr", "acr_low", "acr_high")
AGAINST = ("gaussian", "outcome", "verdict")
PRINTED = (
    "paper_table",
    "paper_acr",
    "paper_cells",
    "paper_cells_differ",
    "paper_says",
)
COLUMNS = (
    *BY,
    "listed",
    "status",
    "reason",
    "copy_of",
    *FACTS,
    *P_A,
    *ACCURACY,
    *ACR,
    *AGAINST,
    *PRINTED,
)
FIGURES = (*P_A, *ACCURACY, *ACR, "paper_acr", "paper_cells", "paper_cells_differ")
NUMBERS = frozenset((*FIGURES, "sigma", "trained_sigma", "images", "n", "alpha"))

DIGITS = 6  # of figures: all of a share of 10,000 images

Row = dict[str, Any]


def judge_all(
    logs: Sequence[Log], progress: Reporter
) -> tuple[list[Judged], list[Row]]:
    """The logs that can be judged, and the rows of those that cannot, with the reason."""
    judged, refused = [], []
    for log in logs:
        progress.advance(1)
        try:
            if log.table is None:
                raise Problem(log.fault)
            judged.append(judge(log.place, log.table))
        except Problem as reason:
            refused.append({**_by(log.place), "status": REFUSED, "reason": str(reason)})
    return judged, refused


def rows_of(
    judged: Sequence[Judged],
    refused: Iterable[Row],
    known: Sequence[Place],
    progress: Reporter,
) -> list[Row]:
    """A row for each log that was found or is listed, by repository and path."""
    copies, released, rows = originals(judged), set(known), dict[Place, Row]()
    comparable = gathered((one.setting, one) for one in judged)
    for one in judged:
        rows[one.place] = _row(one, comparable[one.setting], copies)
        progress.advance(1)
    rows |= {Place(row["repository"], row["path"]): row for row in refused}
    rows |= {
        place: {**_by(place), "status": NOT_HERE}
        for place in known
        if place not in rows
    }
    return [
        _whole(row | {"listed": "yes" if place in released else "no"})
        for place, row in sorted(rows.items())
    ]


def _by(place: Place) -> Row:
    return {"repository": place.repository, "path": place.path}


def _whole(row: Row) -> Row:
    return {column: _kept(row.get(column, "")) for column in COLUMNS}


def _kept(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _row(one: Judged, judged: Sequence[Judged], copies: Mapping[Place, Place]) -> Row:
    copied = copies.get(one.place)
    return {
        **_by(one.place),
        "status": JUDGED,
        "copy_of": "" if copied is None else _named(copied),
        **_facts(one),
        **_figures(one),
        **_against(one, judged),
        **_printed(one),
    }


def _named(place: Place) -> str:
    return f"{place.repository}/{place.path}".strip("/")


def _facts(one: Judged) -> Row:
    header, model = one.table.header, one.model
    settings = model.get("hyperparameters", {})
    return {
        **{
            "dataset": header.dataset,
            "split": header.split or "test",
            "sigma": header.sigma,
        },
        **{
            "trained_sigma": model.get("sigma"),
            "method": model.get("method"),
            "settings": one.entry.settings,
        },
        "more_data": " and ".join(
            str(settings[key]) for key in MORE_DATA if key in settings
        ),
        **{
            "arch": model.get("arch"),
            "run": model.get("run"),
            "images": len(one.table),
        },
        **{"image_set": one.entry.images[:8], "n": header.n, "alpha": header.alpha},
    }


def _figures(one: Judged) -> Row:
    entry, table = one.entry, one.table
    reached = [
        (column, r)
        for column, r in zip(ACCURACY, RADII, strict=True)
        if r <= metrics.farthest(table)
    ]
    found = dict(zip(P_A, map(_value, _shares(one)), strict=True))
    found |= {
        column: metrics.certified_accuracy(table, r).value for column, r in reached
    }
    ends = () if entry.acr is None else (entry.acr.value, entry.acr.low, entry.acr.high)
    return found | dict(zip(ACR, ends, strict=False))


def _shares(one: Judged) -> list[Estimate | None]:
    """Of images with p_A of at least each level: a certified one has more than 1/2, whatever n and alpha are."""
    entry, log = one.entry, one.table.is_log
    return [
        entry.p_a.get(x) or (entry.smoothed if log and x == P_A_LEVELS[0] else None)
        for x in P_A_LEVELS
    ]


def _value(estimate: Estimate | None) -> float | str:
    return (
        "" if estimate is None or estimate.value != estimate.value else estimate.value
    )


def _against(one: Judged, judged: Sequence[Judged]) -> Row:
    reference = reference_of(one, judged)
    if reference is None:
        none = (
            "no Gaussian model of the same network, sigma and images among these logs"
        )
        return {
            "verdict": none
            if one.table.header.n
            else "not compared: its n and alpha are not known"
        }
    if reference is one:
        return {"gaussian": _named(one.place), "verdict": "is the Gaussian model"}
    found = against(one, reference)
    said = {"gaussian": _named(reference.place)}
    if not isinstance(found, Comparison):
        return said | {"verdict": f"not compared: {found}"}
    return said | {
        "outcome": "" if found.verdict is None else found.verdict.outcome,
        "verdict": str(found),
    }


def _printed(one: Judged) -> Row:
    found = printed(one)
    if found is None:
        return {"paper_says": "not printed"}
    cells = len(found.agreed.differences), len(found.agreed.unexplained)
    return dict(
        zip(
            PRINTED,
            (found.table, found.row.figures["acr"], *cells, found.said),
            strict=True,
        )
    )


def write_csv(rows: Sequence[Row]) -> str:
    """The rows as CSV, an empty cell for what is not known."""
    return to_csv(
        [COLUMNS, *([_cell(row[column]) for column in COLUMNS] for row in rows)]
    )


def _cell(value: Any) -> Any:
    return (
        None
        if value is None or value == ""
        else repr(value)
        if isinstance(value, float)
        else value
    )


def read_csv(path: Path) -> list[Row]:
    """The rows that `write_csv` wrote: numbers as floats, None for an empty number."""
    with path.open(newline="") as file:
        return [
            {key: _parsed(key, text) for key, text in row.items()}
            for row in csv.DictReader(file)
        ]


def _parsed(column: str, text: str) -> Any:
    return text if column not in NUMBERS else float(text) if text else None
