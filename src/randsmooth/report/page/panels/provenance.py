"""What was compared and how: the facts in the headers, those in common once, the others side by side."""

import csv
from collections import Counter

from randsmooth.certificates import Certificates
from randsmooth.escape import NOT_RECORDED, printable, setting, shortened
from randsmooth.report import web
from randsmooth.report.page.panels import PageContent, PanelView

ASKED = ("shard", "resize", "crop")  # which nobody misses where they were not asked for
UNTOLD = {"rule", "label_aware", "sound"}  # of which a log says nothing


NAMED = list(
    csv.DictReader(web.asset(__package__, "provenance.csv").splitlines())
)  # what the page calls each fact
FACTS = {line["fact"]: line["words"] for line in NAMED if line["of"] == "header"}
MODEL_FACTS = {
    line["fact"]: line["words"] for line in NAMED if line["of"] == "model"
}  # others by the file's own names


def view(content: PageContent) -> PanelView:
    """Facts in common as (what, value), differing ones as (what, one value a table), and those that no file records."""
    columns = [_facts(table) for table in content.sheet.tables]
    keys = list(dict.fromkeys(key for column in columns for key in column))
    rows = [
        (key, [column.get(key, NOT_RECORDED) for column in columns]) for key in keys
    ]
    alike = [(key, values[0]) for key, values in rows if len(set(values)) == 1]
    return PanelView(
        {
            "common": [(key, value) for key, value in alike if value != NOT_RECORDED],
            "differing": [
                (key, values) for key, values in rows if len(set(values)) > 1
            ],
            "unrecorded": [key for key, value in alike if value == NOT_RECORDED],
            "command": content.command,
        }
    )


def _facts(table: Certificates) -> dict[str, str]:
    facts = {"images": f"{len(table):,}", "origin of the counts": _origin(table)}
    unasked = {field for field in ASKED if getattr(table.header, field) is None} | (
        UNTOLD if table.is_log else set()
    )
    facts |= {
        label: setting(getattr(table.header, field))
        for field, label in FACTS.items()
        if field not in unasked
    }
    if table.header.alpha == 0.0:
        facts[FACTS["alpha"]] = (
            "none: all copies were counted, the certificates are certain"
        )
    if table.header.machines:
        facts["machines that made the rows"] = _machines(table)
    if not (model := table.header.model):
        return facts | {"model": NOT_RECORDED}
    return facts | {
        f"model: {MODEL_FACTS.get(key) or shortened(printable(key))}": setting(
            model[key]
        )
        for key in model
    }


def _origin(table: Certificates) -> str:
    """Who counted: randsmooth, or another program, in the words of whoever brought its counts; a log does not say."""
    if table.header.source is None:
        return NOT_RECORDED if table.is_log else "randsmooth"
    few = "; only the picked class was counted" if table.header.lumped else ""
    return f"another program ({setting(table.header.source)}){few}"


def _machines(table: Certificates) -> str:
    """How many rows each machine made; the one that the rest of the header describes is called so."""
    numbers = [] if table.machine is None else table.machine.tolist()
    names = [machine.host or "unnamed" for machine in table.header.machines]
    made = Counter(names[number] if number >= 0 else "as above" for number in numbers)
    return ", ".join(
        f"{printable(name)}: {rows:,}" for name, rows in sorted(made.items())
    )
