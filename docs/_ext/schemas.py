"""JSON Schemas of the files that a pydantic model checks: the header of certificates, and settings in YAML.

    python docs/_ext/schemas.py        # writes these of docs/schemas again

Descriptions of fields are those of the classes' docstrings and of `--help`. The other schemas of docs/schemas are
written by hand; tests hold all of them against files that are really written.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from tables import meanings

from randsmooth.certificates.header import Machine, StoredHeader
from randsmooth.cli.verbs.certify import Certify
from randsmooth.cli.verbs.train import Train
from randsmooth.cli.verbs.train_denoiser import TrainDenoiser

FOLDER = Path(__file__).parents[1] / "schemas"
MODELS: dict[str, tuple[str, type[BaseModel]]] = {
    "certificate-header": ("Header of a certificate table", StoredHeader),
    "certify": ("YAML settings of `randsmooth certify`", Certify),
    "train": ("YAML settings of `randsmooth train`", Train),
    "train-denoiser": ("YAML settings of `randsmooth train-denoiser`", TrainDenoiser),
}


class OfFiles(GenerateJsonSchema):
    """Leaves out what fields say for the command line alone: their types there are no JSON."""

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        metadata = {
            key: said
            for key, said in schema.get("metadata", {}).items()
            if key != "pydantic_js_extra"
        }
        return super().generate_inner({**schema, "metadata": metadata})


def schema(name: str) -> dict[str, Any]:
    """The schema called `name`, with what the docstrings say of fields that have no description of their own."""
    title, model = MODELS[name]
    whole = model.model_json_schema(schema_generator=OfFiles)
    parts: list[tuple[dict[str, Any], type]] = [(whole, kind) for kind in model.mro()]
    if "Machine" in whole.get("$defs", {}):
        parts.append((whole["$defs"]["Machine"], Machine))
    for part, kind in parts:
        for field, text in meanings(kind).items():
            if field in part["properties"]:
                part["properties"][field].setdefault("description", text)
    for field in whole["properties"].values():
        field.pop("title", None)
    if name != "certificate-header":
        verb = {"verb": {"const": name, "description": "which verb it is for"}}
        whole["properties"] = verb | whole["properties"]
    said = {
        key: part for key, part in whole.items() if key not in ("title", "description")
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **said,
    }


def text(name: str) -> str:
    """The schema's file."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for each in MODELS:
        (FOLDER / f"{each}.json").write_text(text(each), encoding="utf-8")
