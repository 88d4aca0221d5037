"""Data sets of images: Parquet files and folders. They carry no digest; what is read must be images and labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from fuzz import parquet
from fuzz.draw import Draw
from fuzz.pictures import FORMATS, lying, picture, png_bent
from fuzz.reader import Files, Reader
from randsmooth.data import DatasetSpec, describe, load, read_image

TRAIN, TEST = "set/train.parquet", "set/test.parquet"


class Shelf(Reader):
    """A data set of a folder, as training reads it."""

    signed = False

    def read(self, folder: Path) -> Any:
        return self.taken(folder, describe(str(folder / "set")))

    def taken(self, folder: Path, spec: DatasetSpec) -> dict[str, Any]:
        images = load(str(folder / "set"), "train")
        x, y = images.batch(_first(len(images)))
        return {"classes": spec.classes, "shape": spec.shape, "sizes": spec.sizes, "mean": spec.mean, "x": x, "y": y}

    def fault(self, read: Any) -> str:
        x, y = read["x"], read["y"]
        if tuple(x.shape) != (len(y), *read["shape"]):
            return f"images of shape {tuple(x.shape)} with {len(y)} labels"
        if not bool(((x >= 0) & (x <= 1)).all()):
            return "pixels outside of [0, 1]"
        if not bool(((y >= 0) & (y < len(read["classes"]))).all() or (y == -1).all()):
            return "a label that is no class"
        return ""


class Images(Shelf):
    """Images in Parquet files, as the Hugging Face hub keeps them."""

    name = "data-parquet"

    def valid(self) -> list[Files]:
        return [{TRAIN: _shard(0, mode), TEST: _shard(9, mode)} for mode in ("L", "RGB")]

    def bombs(self) -> list[Files]:
        (files, _) = self.valid()
        far = _changed(files[TRAIN], label=[0, 1, 2, 10**12, 1, 2])
        large = _changed(files[TRAIN], image=[_cell(bytes(700 * 2**20))] + [_cell(picture(0, mode="L"))] * 5)
        return [files | {TRAIN: far}, files | {TRAIN: large}, *map(_with_first, LIES)]

    def bent(self, files: Files, draw: Draw) -> Files | None:
        """Other columns; or the bytes of an image."""
        name = draw.pick(list(files))
        if draw.chance(0.5):
            content = parquet.rewritten(files[name], draw)
            return None if content is None else files | {name: content}
        images = parquet.read(files[name]).column("image").to_pylist()
        at = draw.below(len(images))
        images[at] = _cell(png_bent(images[at]["bytes"], draw))
        return files | {name: _changed(files[name], image=images)}


class Folders(Shelf):
    """Images in class folders, in all formats, and each of them by itself."""

    name = "image-folders"

    def valid(self) -> list[Files]:
        return [_folders(0, ("png", "jpg", "bmp")), _folders(50, ("png", "webp", "tif", "ppm"))]

    def bombs(self) -> list[Files]:
        return [self.valid()[0] | {"set/train/a/0.png": lying(*size)} for size in LIES]

    def read(self, folder: Path) -> Any:
        spec = describe(str(folder / "set"))
        files = sorted(path for path in (folder / "set" / "train").rglob("*") if path.is_file())
        return self.taken(folder, spec) | {"each": [read_image(path, spec) for path in files]}

    def bent(self, files: Files, draw: Draw) -> Files | None:
        name = draw.pick([name for name in files if name.endswith(".png")])
        return files | {name: png_bent(files[name], draw)}


LIES = ((10**6, 10**6), (2**31 - 1, 2**31 - 1), (13_000, 13_000), (9_000, 9_000), (2**31 - 1, 1), (170_000_000, 1))


def _first(count: int) -> Any:
    import torch

    return torch.arange(count)


def _shard(seed: int, mode: str) -> bytes:
    images = [_cell(picture(seed + k, mode=mode)) for k in range(6)]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table({"image": pa.array(images, kind), "label": pa.array([0, 1, 2, 0, 1, 2], pa.int64())})
    features = {"image": {"_type": "Image"}, "label": {"names": ["a", "b", "c"], "_type": "ClassLabel"}}
    said = {"huggingface": json.dumps({"info": {"features": features}})} if seed == 0 else None
    return parquet.written(table.replace_schema_metadata(said))


def _cell(content: bytes) -> dict[str, Any]:
    return {"bytes": content, "path": None}


def _changed(content: bytes, **columns: list[Any]) -> bytes:
    table = parquet.read(content)
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, pa.array(values, table.schema.field(at).type))
    return parquet.written(table.replace_schema_metadata(None))


def _with_first(size: tuple[int, int]) -> Files:
    content = _shard(0, "RGB")
    images = [_cell(lying(*size)), *parquet.read(content).column("image").to_pylist()[1:]]
    return {TRAIN: _changed(content, image=images), TEST: _shard(9, "RGB")}


def _folders(seed: int, suffixes: Sequence[str]) -> Files:
    """Two classes: one with an image of each format, the other with one; and a test split of one."""
    kinds = {f"train/a/{k}.{suffix}": FORMATS[suffix] for k, suffix in enumerate(suffixes)}
    kinds |= {"train/b/0.png": "PNG", "test/a/0.png": "PNG"}
    return {f"set/{name}": picture(seed + k, kind) for k, (name, kind) in enumerate(kinds.items())}
