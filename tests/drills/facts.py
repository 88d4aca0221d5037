"""What a folder holds, file by file, as far as two runs of one command must agree on it to the last bit."""

import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from randsmooth import read

CLOCKED = {
    "seconds",
    "digest",
}  # times are of the machine, and a checkpoint's digest is of them, too


def facts(folder: Path) -> dict[str, str]:
    """Name -> hash of the file's content, less its times. Curves are there or not: their names are of the moment."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or "/events/" in name:
            found[
                name.partition("/events/")[0] + "/events"
                if "/events/" in name
                else name
            ] = "folder"
        else:
            found[name] = hashlib.sha256(content(path)).hexdigest()
    return found


def content(path: Path) -> bytes:
    """What must be the same, in bytes."""
    match path.name:
        case "checkpoint.pt" | "teacher.pt":
            return b"".join(_flat(torch.load(path, weights_only=True)))
        case "history.csv":
            return str(pd.read_csv(path).drop(columns="seconds").to_csv()).encode()
    match path.suffix:
        case ".parquet":
            table = read(path)
            columns = (
                table.idx,
                table.label,
                table.predict,
                table.radius,
                table.correct,
            )
            arrays = (*columns, *table.evidence(), *(table.paths or ()))
            return b"".join(
                [
                    table.header.model_dump_json().encode(),
                    *(np.asarray(each).tobytes() for each in arrays),
                ]
            )
        case ".log":  # of a step: what each of its tries said
            return b"there"
        case ".pdf":
            return re.sub(rb"/CreationDate \(.*?\)", b"", path.read_bytes())
    return path.read_bytes()


def made_twice(folder: Path) -> str:
    """Which models and tables were made more than once, as the logs of their steps say."""
    logs = [*folder.rglob("model.log"), *folder.rglob("*.parquet.log")]
    often = []
    for path in sorted(logs):
        lines = path.read_text(errors="replace").splitlines()
        if sum(line.startswith("made ") for line in lines) > 1:
            often.append(path.name)
    return f"made twice: {', '.join(often)}" if often else ""


def _flat(value: object, name: str = "") -> Iterator[bytes]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in CLOCKED:
                yield from _flat(inner, f"{name}/{key}")
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _flat(inner, f"{name}/{place}")
    elif isinstance(value, torch.Tensor):
        file = io.BytesIO()
        np.save(file, value.cpu().numpy())
        yield name.encode() + file.getvalue()
    else:
        yield f"{name}={value!r}".encode()
