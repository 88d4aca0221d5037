"""JSON Schemas of the files that randsmooth writes, made of the code that checks them.

    python docs/_ext/schemas.py        # writes docs/schemas/*.json again

Descriptions of fields are those of the classes' docstrings and of `--help`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from field_docs import described
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from randsmooth.certificates import Header
from randsmooth.certificates.evidence_checks import ADDRESS
from randsmooth.certificates.header import Machine
from randsmooth.certificates.journal import EVIDENCE, MOST, OPTIONAL, JournalRow
from randsmooth.cli.certification import Certify
from randsmooth.cli.verbs.train import Train, TrainDenoiser
from randsmooth.models.classifier import Classifier
from randsmooth.models.denoiser import Denoiser
from randsmooth.training.recipe import DenoiserRecipe

FOLDER = Path(__file__).parents[1] / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0, "exclusiveMaximum": MOST}
COUNTS: Schema = {"type": "array", "items": COUNT}
SHA: Schema = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
PER_CHANNEL: Schema = {"type": ["array", "null"], "items": {"type": "number"}}
NUMBER: Schema = {"type": ["number", "null"]}
TEXT: Schema = {"type": ["string", "null"]}


class OfFiles(GenerateJsonSchema):
    """Leaves out what fields say for the command line alone: their types there are no JSON."""

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        metadata = {key: said for key, said in schema.get("metadata", {}).items() if key != "pydantic_js_extra"}
        return super().generate_inner({**schema, "metadata": metadata})


def of_model(model: type[BaseModel], *leave_out: str) -> Schema:
    """The schema of a pydantic model, with what the docstrings say of fields that have no description of their own."""
    schema = model.model_json_schema(schema_generator=OfFiles)
    _describe(schema, model)
    if "Machine" in schema.get("$defs", {}):
        _describe(schema["$defs"]["Machine"], Machine)
    for name in leave_out:
        del schema["properties"][name]
    for part in schema["properties"].values():
        part.pop("title", None)
    schema.pop("description", None)
    return schema


def _describe(schema: Schema, model: type) -> None:
    for name, text in described(model).items():
        if name in schema["properties"]:
            schema["properties"][name].setdefault("description", text)


def _closed(properties: dict[str, Schema], *optional: str) -> Schema:
    """An object with these properties and no others, all of them required but the `optional` ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _said(properties: dict[str, Schema], words: dict[str, str]) -> dict[str, Schema]:
    return {name: {**part, "description": words[name]} for name, part in properties.items()}


def header() -> Schema:
    """Of `certificates.Header`."""
    return of_model(Header)


def journal_row() -> Schema:
    """Of a line of a journal, but the first and without its checksum."""
    machine = {"oneOf": [COUNT, {"$ref": "#/$defs/Machine"}]}
    properties: dict[str, Schema] = {
        "idx": COUNT,
        "label": {"type": "integer", "minimum": -1, "exclusiveMaximum": MOST},
        "seconds": {"type": "number", "minimum": 0},
        **dict.fromkeys(EVIDENCE, COUNTS),
        "machine": machine,
        "image": {"type": "string", "pattern": f"^[0-9a-f]{{{2 * ADDRESS}}}$"},
        "u": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    }
    return {**_closed(_said(properties, described(JournalRow)), *OPTIONAL), "$defs": of_model(Header)["$defs"]}


def provenance() -> Schema:
    """Of the `provenance` of what `train` or `train-denoiser` made: its recipe, and the versions of the libraries."""
    schema = of_model(DenoiserRecipe)  # all of `Recipe`, and what only denoisers have
    for name in OF_DENOISERS:
        schema["properties"][name]["description"] = (
            f"of a denoiser: {schema['properties'][name]['description'].rstrip('.')}"
        )
    schema["required"] = [name for name in schema["required"] if name not in OF_DENOISERS]
    versions = {"type": "object", "additionalProperties": {"type": "string"}}
    schema["properties"]["versions"] = versions | {"description": "of the libraries that trained it"}
    for name, text in RECIPE.items():
        schema["properties"][name].setdefault("description", text)
    schema["properties"] = {name: schema["properties"][name] for name in [*RECIPE, *OF_DENOISERS, "versions"]}
    return schema


OF_DENOISERS = ("objective", "classifier", "start")
RECIPE = {
    "dataset": "name or path; for images that a program held, their name and hash",
    "image_column": "as `--image-column`",
    "label_column": "as `--label-column`",
    "resize": "how images were scaled",
    "crop": "how they were cut",
    "take": "how many training images, spread evenly over the split; null: all",
    "arch": "the network",
    "method": "the training method",
    "hyperparameters": "all settings of the method, by name",
    "preset": "the preset that the others come from",
    "sigma": "standard deviation of the noise",
    "epochs": "length of the run",
    "batch": "noisy samples a step: m for each of batch / m images",
    "lr": "first learning rate",
    "lr_milestones": "epochs, counted from 0, at which it is multiplied by `lr_gamma`",
    "lr_gamma": "what it is multiplied by",
    "momentum": "of SGD",
    "weight_decay": "of SGD",
    "precision": "arithmetic of the training",
    "seed": "of initialisation, order, augmentation and noise",
    "device": "as asked for",
    "compile": "whether torch.compile was used",
    "threads": "of the CPU",
    "batch_norm_devices": "devices that normalised a part of each batch on their own",
    "asked": "hash of the weights of each model that a hyperparameter names",
    "changed": "settings changed when the run was resumed, and after which epoch",
}


def model_config() -> Schema:
    """Of config.json in a model folder."""
    made: Schema = {"type": "object"}
    classifier: dict[str, Schema] = {
        "arch": {"type": "string"},
        "classes": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 3, "maxItems": 3},
        "mean": PER_CHANNEL,
        "std": PER_CHANNEL,
        "provenance": made,
        **SIGNS,
    }
    denoiser = {"arch": {"type": "string"}, "channels": {"type": "integer", "minimum": 1}, "provenance": made, **SIGNS}
    one = _closed(_said(classifier, described(Classifier, "Args") | HASHES), *SIGNS)
    other = _closed(_said(denoiser, described(Denoiser, "Args") | HASHES), *SIGNS)
    return {"anyOf": [one, other]}


SIGNS = {"weights": SHA, "digest": SHA}
HASHES = {
    "weights": "hash of the file of weights; older folders have none",
    "digest": "hash of the rest of this file, its keys sorted; older folders have none",
}


def leaderboard() -> Schema:
    """Of what `leaderboard` writes beside its page."""
    between = {"value": NUMBER, "low": NUMBER, "high": NUMBER}
    estimate = {**_closed(between), "type": ["object", "null"]}
    at_least = _closed({"at_least": {"type": "number"}, **between}, *between)
    at_radius = _closed({"radius": {"type": "number"}, **between}, "low", "high")
    against: Schema = {"type": ["object", "null"], "required": ["baseline", "words", "judged_together"]}
    integer: Schema = {"type": ["integer", "null"]}
    properties: dict[str, Schema] = {
        **{key: {"type": "string"} for key in ("name", "file", "setting")},
        **dict.fromkeys(("dataset", "split", "rule", "method", "settings", "repository"), TEXT),
        **{"sigma": NUMBER, "n0": integer, "n": integer, "alpha": NUMBER, "label_aware": {"type": "boolean"}},
        "logged": {"type": "boolean"},
        "notes": {"type": "array", "items": {"type": "string"}},
        "images": COUNT,
        "p_A": {"type": "array", "items": at_least},
        "smoothed_accuracy": estimate,
        "certified_accuracy": {"type": "array", "items": at_radius},
        "acr": estimate,
        "against": against,
    }
    return {"type": "array", "items": _closed(_said(properties, RECORD))}


RECORD = {
    "name": "of the table",
    "file": "where it was found, below the folder",
    "setting": "what it is ranked within: only tables of one setting can be compared",
    "dataset": "data set",
    "split": "its split",
    "rule": "rule of certification",
    "method": "training method, where it is recorded",
    "settings": "other settings of the training, in words",
    "repository": "where a published log is from",
    "sigma": "standard deviation of the noise",
    "n0": "samples that picked the class",
    "n": "samples that bounded its probability, at most",
    "alpha": "probability that a certificate is wrong",
    "label_aware": "whether labels decided which class was tested",
    "logged": "whether it is a published log, which tells p_A from 1/2 upward only",
    "notes": "remarks on the table",
    "images": "how many there are",
    "p_A": "share of images whose label has at least this probability under noise, with its 95% interval",
    "smoothed_accuracy": "share of images that are right and not abstained",
    "certified_accuracy": "share certified at each radius",
    "acr": "average certified radius; not what the list is ordered by",
    "against": "the comparison with the baseline of the setting, in words; null: none",
}


def settings(model: type[BaseModel], verb: str) -> Schema:
    """Of the YAML file that configures a verb: what `--save-config` writes, and a person may."""
    schema = of_model(model)
    schema["properties"] = {"verb": {"const": verb, "description": "which verb it is for"}, **schema["properties"]}
    return schema


SCHEMAS: dict[str, tuple[str, Callable[[], Schema]]] = {
    "certificate-header": ("Header of a certificate table", header),
    "journal-row": ("A row of the journal of an unfinished table", journal_row),
    "model-config": ("config.json of a model folder", model_config),
    "provenance": ("How a model was trained", provenance),
    "leaderboard": ("JSON of a leaderboard", leaderboard),
    "certify": ("YAML settings of `randsmooth certify`", lambda: settings(Certify, "certify")),
    "train": ("YAML settings of `randsmooth train`", lambda: settings(Train, "train")),
    "train-denoiser": (
        "YAML settings of `randsmooth train-denoiser`",
        lambda: settings(TrainDenoiser, "train-denoiser"),
    ),
}


def schema(name: str) -> Schema:
    """The schema called `name`, as it is published."""
    title, make = SCHEMAS[name]
    return {"$schema": DIALECT, "title": title, **{key: part for key, part in make().items() if key != "title"}}


def text(name: str) -> str:
    """The schema's file."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in SCHEMAS:
        (FOLDER / f"{each}.json").write_text(text(each), encoding="utf-8")
