"""`randsmooth cite` on a real table, a model folder and names."""

from __future__ import annotations

import json
from pathlib import Path

from cli.run import Run


def test_a_table_and_its_model_are_cited(cli: Run, model: Path, tmp_path: Path) -> None:
    table = tmp_path / "m.parquet"
    certified = cli("certify", model, "--take", 2, "--n", 1000, "--rule", "grid", "--sound", "--out", table)
    assert certified.code == 0, certified.err
    found = json.loads(cli("cite", table, model, "--format", "json").out)
    reasons = {one["key"]: one["for"] for one in found["citations"]}
    assert [*reasons] == [
        *("randsmooth", "cohen2019certified", "lan1983discrete", "armitage1969repeated", "voracek2023sound"),
        *("salmon2011parallel", "alpaydin1998optical", "zhai2020macer", "sun2025acr"),
    ]
    assert reasons["lan1983discrete"] == ["the rule grid"]
    assert reasons["alpaydin1998optical"] == ["the data set digits"]


def test_the_program_alone_is_cited_where_nothing_is_named(cli: Run) -> None:
    done = cli("cite", "--format", "bibtex")
    assert done.code == 0
    assert done.out.startswith("% the program\n@software{randsmooth,")
    assert done.out.count("@") == 1


def test_what_cannot_be_cited_is_refused(cli: Run) -> None:
    for words, said in (["nothing.parquet"], "nothing.parquet"), (["macer", "--format", "ris"], "'ris'"), (["."], "."):
        done = cli("cite", *words)
        assert done.code == 2, words
        assert said in done.err, words
