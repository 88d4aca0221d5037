"""Which cells of the papers' tables the published logs fill, and how they agree, for the page on the papers.

    python docs/_figures/survey_papers.py FOLDER_OF_LOGS

The folder may hold clones of the repositories that released logs. Only derived figures are written.
"""

import json
import sys
from pathlib import Path

from randsmooth.extras import versions
from randsmooth.papers import survey
from randsmooth.papers.cell_comparison import OTHER_RUNS
from randsmooth.papers.output import write_cells

RESULTS = Path(__file__).parents[2] / "results" / "papers"


def main(logs: str) -> None:
    found = survey(logs)
    cells = found.frame()
    write_cells(cells[cells["here"].notna()], RESULTS / "cells.csv")
    tables = {}
    for table in found.drawn:
        others = table.lacking.get(OTHER_RUNS, [])
        rows = {"rows": table.cells.rows, "filled": table.filled, "other_runs": others}
        cells_of = {"compared": table.compared, "explained": table.explained}
        tables[table.object.name] = {
            name: len(each) for name, each in rows.items()
        } | cells_of
    about = {
        "command": "python docs/_figures/survey_papers.py FOLDER_OF_LOGS",
        "logs": len(found.files),
    }
    made = {**about, "versions": versions(), "tables": tables}
    (RESULTS / "made.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
