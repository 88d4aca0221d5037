"""The page of the field's results: one file that works offline and lets nothing run but its own scripts."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docs.field.curves import Curves, fingerprint
from docs.field.findings import sentences
from docs.field.judging import RADII
from docs.field.pairs import judged_of, setting_of
from docs.field.rows import ACCURACY, ACR, P_A, Row, read_csv

from randsmooth.atomic import write_atomically
from randsmooth.certificates.logs.paths import CORRUPTED
from randsmooth.escape import say
from randsmooth.metrics import P_A_LEVELS
from randsmooth.report import web

HERE = Path(__file__).parent
CSV, JSON = HERE / "field.csv", HERE / "curves.json"
SHOWN = tuple(
    r for r in RADII if r in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
)  # columns of certified accuracy
KEPT = (
    *("repository", "path", "dataset", "split", "sigma", "method"),
    *("settings", "more_data", "images", "n", "alpha", "copy_of"),
)
SAID = (
    "gaussian",
    "outcome",
    "verdict",
    "paper_table",
    "paper_acr",
    "paper_cells",
    "paper_cells_differ",
    "paper_says",
)


def read_kept() -> tuple[list[Row], Curves]:
    """What lies beside the page."""
    return read_csv(CSV), json.loads(JSON.read_text())


def whole_page(rows: Sequence[Row], curves: Curves, *, site: bool = False) -> str:
    """The page as HTML with everything inlined.

    Args:
        site: whether it lies beside the built documentation, to which it then links.
    """
    judged = judged_of(rows)
    folder = __package__
    styles = [web.asset(web.__name__, name) for name in ("base.css", "leaderboard.css")]
    styles.append(web.asset(folder, "page.css"))
    scripts = [web.asset(web.__name__, name) for name in ("ordering.js", "charts.js")]
    scripts += [
        web.asset(folder, name) for name in ("own.js", "comparison.js", "page.js")
    ]
    return web.page(
        folder,
        "page.html.j2",
        styles=styles,
        scripts=scripts,
        data=_payload(judged, curves),
        sentences=sentences(rows, curves),
        listed=sum(row["listed"] == "yes" for row in rows),
        judged=len(judged),
        levels=[f"{x:g}" for x in P_A_LEVELS],
        radii=[f"{r:g}" for r in SHOWN],
        site=site,
    )


def _payload(judged: Sequence[Row], curves: Curves) -> dict[str, Any]:
    """The judged logs, in the order of `curves`, and the curves."""
    if fingerprint(judged) != curves["logs"]:
        raise ValueError(
            "field.csv and curves.json are of different logs; run make field"
        )
    groups = [(setting_of(row), bool(row["more_data"])) for row in judged]
    first = dict(zip(reversed(groups), reversed(judged), strict=True))
    methods = Counter(
        group
        for group, _ in {
            (group, row["method"]) for group, row in zip(groups, judged, strict=True)
        }
    )
    settings = sorted(first, key=lambda group: _order(first[group], methods[group]))
    logs = [
        _log(row, settings.index(group))
        for group, row in zip(groups, judged, strict=True)
    ]
    kept = {key: value for key, value in curves.items() if key != "logs"}
    words = {"settings": [_words(first[setting]) for setting in settings]}
    return {"logs": logs, "p_a_levels": P_A_LEVELS, "radii": SHOWN} | words | kept


def _order(row: Row, methods: int) -> tuple[Any, ...]:
    """Corrupted images and, before them, more data come last; then by most images and methods; the unknown last."""
    numbers = [(row[key] is None, row[key] or 0.0) for key in ("sigma", "n", "alpha")]
    where = (
        row["dataset"] in CORRUPTED,
        bool(row["more_data"]),
        -row["images"],
        -methods,
        row["dataset"],
        row["split"],
    )
    return *where, *numbers, row["image_set"]


def _words(row: Row) -> str:
    where = row["dataset"] or "data set not known"
    split = "" if row["split"] == "test" else f" {row['split']}"
    facts = [
        f"{key} {f'{row[key]:,g}' if row[key] is not None else 'not known'}"
        for key in ("sigma", "n", "alpha")
    ]
    radius = ranking_radius(row)
    ranked = [] if radius is None else [f"ranked by certified accuracy at {radius:g}"]
    more = ["models that saw more data"] if row["more_data"] else []
    return ", ".join(
        [
            f"{where}{split}",
            f"{row['images']:,.0f} images ({row['image_set']})",
            *facts,
            *more,
            *ranked,
        ]
    )


def ranking_radius(row: Row) -> float | None:
    """The radius at which the logs of a setting are ranked: the first shown that is no less than sigma."""
    if row["sigma"] is None:
        return None
    return next((r for r in SHOWN if r >= row["sigma"]), None)


def _ranked_by(row: Row) -> float | None:
    """Certified accuracy at that radius."""
    radius = ranking_radius(row)
    return None if radius is None else _short(row[f"accuracy_{radius:g}"])


def _log(row: Row, setting: int) -> dict[str, Any]:
    shown = [column for column, r in zip(ACCURACY, RADII, strict=True) if r in SHOWN]
    facts = {key: row[key] if row[key] != "" else None for key in (*KEPT, *SAID)}
    return facts | {
        "setting": setting,
        "ranked_by": _ranked_by(row),
        "p_a_at": [_short(row[column]) for column in P_A],
        "certified": [_short(row[column]) for column in shown],
        "acr": [_short(row[column]) for column in ACR],
    }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


if __name__ == "__main__":
    write_atomically(Path(sys.argv[1]), whole_page(*read_kept()).encode())
    say(sys.argv[1])
