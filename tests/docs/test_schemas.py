"""The published schemas are those of the code, describe every field, and hold for the files that are really written."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
import yaml

from cli.run import Run
from randsmooth import certify, data, training
from randsmooth.progress import Silent
from randsmooth.training.recipe import resolve_denoiser

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
NAMES = sorted(path.stem for path in SCHEMAS.glob("*.json"))


def check(name: str, instance: Any) -> None:
    """Raise jsonschema.ValidationError unless `instance` is what the schema describes."""
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.validators.validator_for(schema)(schema).validate(instance)


def header_of(path: Path) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(pq.read_metadata(path).metadata[b"randsmooth"])
    return header


@pytest.mark.parametrize("name", NAMES)
def test_the_published_schema_is_that_of_the_code(name: str, extension: Callable[[str], Any]) -> None:
    schemas = extension("schemas")
    assert {*schemas.SCHEMAS} == {*NAMES}
    assert (SCHEMAS / f"{name}.json").read_text() == schemas.text(name), "python docs/_ext/schemas.py writes it again"
    jsonschema.Draft202012Validator.check_schema(schemas.schema(name))


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_described(name: str) -> None:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    for each in schema.get("anyOf", [schema.get("items", schema)]):
        for field, part in each["properties"].items():
            assert part.get("description"), f"{name}: {field}"


@pytest.mark.parametrize("path", sorted((ROOT / "results").rglob("*.parquet")), ids=lambda path: path.stem)
def test_headers_of_older_tables_are_valid(path: Path) -> None:
    check("certificate-header", header_of(path))


def test_the_schema_of_the_header_refuses_what_the_reader_refuses() -> None:
    good = header_of(ROOT / "results" / "mnist-methods" / "sigma1" / "gaussian.parquet")
    for wrong in ({"sigma": "0.5"}, {"n": 1.5}, {"unheard": 1}, {"classes": [1]}):
        with pytest.raises(jsonschema.ValidationError):
            check("certificate-header", good | wrong)


def check_columns(folder: Path, tables: Any) -> None:
    """The columns of a whole table and of a shard are those that the page tells."""
    whole, shard = (pq.read_schema(folder / name) for name in ("model.parquet", "two-1-of-2.parquet"))
    assert {*whole.names} == {*tables.TYPES, *tables.DERIVED} - {"machine", "image"}
    assert {*shard.names} == {*tables.TYPES, *tables.DERIVED}
    assert all(str(shard.field(name).type) == kind for name, (kind, _) in tables.DERIVED.items())


def test_how_a_denoiser_was_trained_is_valid() -> None:
    settings = training.DenoiserSettings(sigma=0.25, epochs=3)
    recipe = resolve_denoiser("digits", settings, data.describe("digits"), device="cpu")
    check("provenance", recipe.model_dump(mode="json"))


@pytest.mark.slow
def test_what_the_command_line_writes_is_valid(cli: Run, tmp_path: Path, extension: Callable[[str], Any]) -> None:
    train = ("train", "digits", "--sigma", 0.25, "--epochs", 1, "--take", 64, "--out", "model")
    assert cli(*train, "--save-config", "train.yaml").code == 0
    certify = ("certify", "model", "--take", 4, "--n", 100, "--n0", 10, "--out", "runs/model.parquet")
    assert cli(*certify, "--save-config", "certify.yaml").code == 0
    assert cli(*certify[:-1], "runs/two.parquet", "--shard", "1/2").code == 0
    assert cli("leaderboard", "runs", "--out", "board.html").code == 0
    check("certificate-header", header_of(tmp_path / "runs" / "model.parquet"))
    check("certificate-header", header_of(tmp_path / "runs" / "two-1-of-2.parquet"))
    check_columns(tmp_path / "runs", extension("format_tables"))
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    check("model-config", config)
    check("provenance", config["provenance"])
    check("leaderboard", json.loads((tmp_path / "board.json").read_text()))
    for name in ("train", "certify"):
        check(name, yaml.safe_load((tmp_path / f"{name}.yaml").read_text()))
    with pytest.raises(jsonschema.ValidationError):
        check("certify", yaml.safe_load((tmp_path / "train.yaml").read_text()))


class Enough(Exception):
    """Ends a run."""


class UntilTwo(Silent):
    """Ends the run once two images are finished."""

    done = 0

    def advance(self, steps: int, info: str = "") -> None:
        self.done += steps
        if self.done >= 2:
            raise Enough


def test_the_rows_of_a_journal_are_valid(model: Path, tmp_path: Path) -> None:
    """A run that is interrupted leaves its journal; of a shard its rows hold all that rows can."""
    out = tmp_path / "t.parquet"
    settings: dict[str, Any] = {"take": 8, "n": 100, "n0": 10, "shard": "1/2", "out": out, "batch": 128}
    with pytest.raises(Enough):
        certify(str(model), "digits", **settings, progress=lambda *_: nullcontext(UntilTwo()))
    (journal,) = tmp_path.glob("*.partial")
    first, *rows = journal.read_text().splitlines()
    check("certificate-header", json.loads(first.rpartition("\t")[0]))
    assert rows
    for row in rows:
        found = json.loads(row.rpartition("\t")[0])
        assert {"machine", "image"} <= {*found}
        check("journal-row", found)
        with pytest.raises(jsonschema.ValidationError):
            check("journal-row", found | {"label": -2})
