"""Texts on the command line: a folder of transformers, from a table of texts, through every verb that takes them."""

import json
from pathlib import Path

import pandas as pd
import pytest

from cli.processes import Run
from models.text_networks import made_texts, saved
from randsmooth import read
from randsmooth.noise import WordAblation

FEW = ("--noise", "ablation=30%", "--n", 100, "--n0", 20, "--seed", 2)


@pytest.fixture
def texts(cli: Run) -> str:
    """A table of texts in the folder where `cli` runs."""
    made, labels = made_texts(6, seed=5)
    pd.DataFrame({"review": made, "label": labels}).to_csv("texts.csv", index=False)
    return "texts.csv"


@pytest.mark.slow
def test_each_verb_takes_texts(cli: Run, texts: str, tmp_path: Path) -> None:
    source = f"hf:{saved(tmp_path / 'model')}"
    certify = ("certify", source, "--dataset", texts, *FEW)
    cli.done(*certify, "--out", "whole.parquet")
    table = read("whole.parquet")
    assert table.header.noise == WordAblation(percent=30.0) and len(table) == 6
    for shard in ("1/2", "2/2"):
        cli.done(*certify, "--shard", shard, "--out", "s.parquet")
    cli.done("merge", "s-1-of-2.parquet", "s-2-of-2.parquet", "--out", "m.parquet")
    merged = read("m.parquet")
    assert merged.radius.tolist() == table.radius.tolist()
    assert merged.words is not None and table.words is not None
    assert merged.words.tolist() == table.words.tolist()
    assert cli("verify", "m.parquet", "whole.parquet").code == 0
    cli.done("compare", "m.parquet", "whole.parquet", "--out", "page.html")
    planned = cli("plan", *certify[1:], "--format", "json", "--seconds", 1)
    assert planned.code == 0 and json.loads(planned.out)["rule"] == "fixed"
    attack = ("attack", source, "whole.parquet", "--dataset", texts, "--n", 500)
    attacked = cli(*attack, "--steps", 3, "--m", 50, "--format", "json")
    assert attacked.code == 0
    assert all(len(answer["text"].split()) > 3 for answer in json.loads(attacked.out))
    # Without the name of its column, it is found; another is refused.
    refused = cli(*certify, "--text-column", "none", "--out", "n.parquet")
    assert refused.code != 0 and "review" in refused.err


@pytest.mark.slow
def test_predict_answers_about_texts(cli: Run, texts: str, tmp_path: Path) -> None:
    source = f"hf:{saved(tmp_path / 'model')}"
    answers = json.loads(cli("predict", source, texts, *FEW, "--format", "json").out)
    assert [answer["words"] for answer in answers] == [
        len(text.split()) for text in made_texts(6, seed=5)[0]
    ]
    assert all(answer["norm"] == "words" for answer in answers)
    lines = cli("predict", source, texts, *FEW).out.splitlines()
    for line, answer in zip(lines, answers, strict=True):
        wanted = f"of its {answer['words']} words may be replaced"
        assert answer["label"] is None or wanted in line
