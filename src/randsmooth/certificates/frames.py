"""Tables as pandas DataFrames, and back: the evidence, what follows from it, and the header in `DataFrame.attrs`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from randsmooth.certificates.counts import GivenCounts
from randsmooth.certificates.guarantee import rule_of
from randsmooth.certificates.header import Header
from randsmooth.certificates.table import Certificates
from randsmooth.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

ATTRS = "randsmooth"  # the key in a frame's attrs
LOG = ("idx", "label", "predict", "radius", "seconds")  # columns of a table without counts


def to_frame(table: Certificates) -> pd.DataFrame:
    """The frame of a table; see `Certificates.to_pandas`."""
    import pandas as pd  # here, since it takes long to load

    frame = pd.DataFrame(_log(table) if table.is_log else _counted(table))
    header = json.loads(table.header.model_dump_json())
    frame.attrs[ATTRS] = {"header": header, "name": table.name, "num_classes": table.num_classes}
    return frame


def _log(table: Certificates) -> dict[str, Any]:
    return {name: getattr(table, name) for name in LOG[:-1]} | {"correct": table.correct, "seconds": table.seconds}


def _counted(table: Certificates) -> dict[str, Any]:
    """The columns of a table with counts. Those that only mark the class, or all other answers, are left out.

    Read elsewhere, they would be taken for samples; and so would the class that the samples themselves picked be taken
    for one that was picked without them, if it had the same name.
    """
    counts0, counts = table.evidence()
    shown = table.derived()
    if table.header.bound == "any-class":
        shown = {"most_frequent" if name == "picked" else name: values for name, values in shown.items()}
    lists = {"path": [path.tolist() for path in table.paths or ()]} if table.paths is not None else {}
    if table.header.n0:
        lists["counts0"] = counts0[:, : table.num_classes].tolist()
    if table.header.lumped:
        shown["n"] = counts.sum(axis=1)
    else:
        lists["counts"] = counts.tolist()
    kept = {"machine": table.machine, "u": table.u}
    made = {"seconds": table.seconds} | {name: values for name, values in kept.items() if values is not None}
    return {"idx": table.idx, "label": table.label} | shown | lists | made


def from_frame(frame: pd.DataFrame) -> Certificates:
    """The table of a frame that `to_frame` made, or of some of its rows; see `Certificates.from_pandas`."""
    about = frame.attrs.get(ATTRS)
    if about is None:
        raise InputError(
            "the DataFrame does not say what it is about: its attrs, which some operations of pandas drop, lack "
            f"{ATTRS!r}. Copy them (frame.attrs = made.attrs), or judge its counts again: from_counts(frame, sigma=...)"
            ". Shards are put together from their files, by rs.merge"
        )
    header, name = Header(**about["header"]), str(about["name"])
    missing = [column for column in ("idx", "label", "seconds") if column not in frame.columns]
    if missing:
        raise InputError(f"the DataFrame lacks the column {missing[0]!r}")
    if "path" not in frame.columns:
        columns = {column: frame[column].to_numpy() for column in LOG}
        return Certificates(header, **columns, name=name)
    columns = {str(column): frame[column].to_numpy() for column in frame.columns}
    columns["picked"] = columns.get("most_frequent", columns.get("picked"))
    given = GivenCounts.of({key: value for key, value in columns.items() if key != "n"} | {"n": header.n})
    counted = given.counted(rule_of(header), header.bound or "", int(about["num_classes"]))
    return given.table(header, counted, name, **{key: columns[key] for key in ("machine", "u") if key in columns})
