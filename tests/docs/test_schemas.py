"""The published schemas describe every field, and hold for the files that are really written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
import yaml

from certification.runs import interrupt
from cli.processes import Run
from randsmooth import certify, data, training
from randsmooth.training.recipe import resolve_denoiser

ROOT = Path(__file__).parents[2]
SCHEMAS = {
    path.stem: json.loads(path.read_text())
    for path in sorted((ROOT / "docs" / "schemas").glob("*.json"))
}


def check(name: str, instance: Any) -> None:
    """Raise jsonschema.ValidationError unless `instance` is what the schema describes."""
    jsonschema.Draft202012Validator(SCHEMAS[name]).validate(instance)


def header_of(path: Path) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(pq.read_metadata(path).metadata[b"randsmooth"])
    return header


def test_schemas_are_those_of_the_code_and_describe_every_field(
    tool: Callable[[str], Any],
) -> None:
    schemas = tool("schemas")
    for name in schemas.MODELS:
        written = (ROOT / "docs" / "schemas" / f"{name}.json").read_text()
        assert written == schemas.text(name), (
            f"python docs/_ext/schemas.py writes {name} again"
        )
    for name, schema in SCHEMAS.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        for each in schema.get("anyOf", [schema.get("items", schema)]):
            lacking = [
                field
                for field, part in each["properties"].items()
                if not part.get("description")
            ]
            assert not lacking, f"{name}: {lacking}"


def test_the_header_of_a_kept_table_is_valid_and_wrong_ones_are_not() -> None:
    good = header_of(ROOT / "results" / "mnist-methods" / "sigma1" / "gaussian.parquet")
    check("certificate-header", good)
    for wrong in ({"sigma": "0.5"}, {"n": 1.5}, {"unheard": 1}, {"classes": [1]}):
        with pytest.raises(jsonschema.ValidationError):
            check("certificate-header", good | wrong)


def test_how_a_denoiser_was_trained_is_valid() -> None:
    settings = training.DenoiserSettings(sigma=0.25, epochs=3)
    recipe = resolve_denoiser(
        "digits", settings, data.describe("digits"), device="cpu"
    )[0].model_dump(mode="json")
    check("provenance", recipe)
    assert {*SCHEMAS["provenance"]["properties"]} == {*recipe, "versions"}


@pytest.mark.slow
def test_what_the_command_line_writes_is_valid(
    cli: Run, tmp_path: Path, tool: Callable[[str], Any]
) -> None:
    train = (
        "train",
        "digits",
        "--sigma",
        0.25,
        "--epochs",
        1,
        "--take",
        64,
        "--out",
        "model",
    )
    cli.done(*train, "--save-config", "train.yaml")
    certify = (
        "certify",
        "model",
        "--take",
        4,
        "--n",
        100,
        "--n0",
        10,
        "--out",
        "runs/model.parquet",
    )
    cli.done(*certify, "--save-config", "certify.yaml")
    cli.done(*certify[:-1], "runs/two.parquet", "--shard", "1/2")
    cli.done("leaderboard", "runs", "--out", "board.html")
    tables = tool("tables")
    told, machine = (
        {*tables.TYPES, *tables.DERIVED} - {"u"},
        {"machine", "image"},
    )  # u is of the randomised bound
    for name, names in (("model", told - machine), ("two-1-of-2", told)):
        check("certificate-header", header_of(tmp_path / "runs" / f"{name}.parquet"))
        columns = pq.read_schema(tmp_path / "runs" / f"{name}.parquet")
        assert {*columns.names} == names, name
    assert all(
        str(columns.field(name).type) == kind
        for name, (kind, _) in tables.DERIVED.items()
    )
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    check("model-config", config)
    check("provenance", config["provenance"])
    check("leaderboard", json.loads((tmp_path / "board.json").read_text()))
    for name in ("train", "certify"):
        check(name, yaml.safe_load((tmp_path / f"{name}.yaml").read_text()))
    with pytest.raises(jsonschema.ValidationError):
        check("certify", yaml.safe_load((tmp_path / "train.yaml").read_text()))


def test_the_rows_of_a_journal_are_valid(model: Path, tmp_path: Path) -> None:
    """A run that is interrupted leaves its journal; of a shard its rows hold all that rows can."""
    settings: dict[str, Any] = {
        "take": 8,
        "n": 100,
        "n0": 10,
        "shard": "1/2",
        "batch": 128,
        "out": tmp_path / "t.parquet",
    }
    interrupt(certify, str(model), "digits", **settings, stop=2)
    (journal,) = tmp_path.glob("*.partial")
    first, *rows = (
        json.loads(line.rpartition("\t")[0])
        for line in journal.read_text().splitlines()
    )
    check("certificate-header", first)
    assert rows and "machine" in rows[0] and all("image" in row for row in rows)
    for row in rows:
        check("journal-row", row)
        with pytest.raises(jsonschema.ValidationError):
            check("journal-row", row | {"label": -2})
