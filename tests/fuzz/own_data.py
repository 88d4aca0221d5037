"""A user's own data sets in one file: .npz, CSV of paths, WebDataset tar. They carry no digest, as those in folders."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fuzz.data import Shelf
from fuzz.pictures import picture
from fuzz.reader import Files
from randsmooth.data import load


class OneFile(Shelf):
    """A data set of one file, `place`, as certification reads it."""

    place: ClassVar[str]

    def read(self, folder: Path) -> Any:
        images = load(str(folder / self.place), "test")
        x, y = images.batch(_every(len(images)))
        return {"classes": images.spec.classes, "shape": images.spec.shape, "x": x, "y": y}


class Arrays(OneFile):
    """Images and labels in .npz files, packed and unpacked, 8-bit and floats."""

    name = "data-npz"
    place = "set.npz"

    def valid(self) -> list[Files]:
        x = np.random.default_rng(0).integers(0, 256, (4, 3, 6, 5), dtype=np.uint8)
        return [_npz(np.savez, x, np.arange(4)), _npz(np.savez_compressed, x / 255.0, np.arange(4) % 2)]

    def bombs(self) -> list[Files]:
        return [
            _npz(np.savez_compressed, np.zeros((300, 1, 2000, 1000), np.uint8), np.zeros(300, int)),
            _claiming(10**12),
        ]


class Paths(OneFile):
    """CSV files of paths and labels."""

    name = "data-csv"
    target = "set.csv"
    place = "set.csv"

    def valid(self) -> list[Files]:
        images = {f"{k}.png": picture(k, mode="L") for k in range(3)}
        rows = "".join(f"{k}.png,{k}\n" for k in range(3))
        named = "".join(f'"{k}.png";'.replace(";", ",") + f"{'ab'[k % 2]}\n" for k in range(3))
        return [
            images | {"set.csv": f"path,label\n{rows}".encode()},
            images | {"set.csv": f"path,label\n{named}".encode()},
        ]


class Tar(OneFile):
    """WebDataset tar files, with labels as numbers and in JSON."""

    name = "data-tar"
    place = "set.tar"

    def valid(self) -> list[Files]:
        plain = {f"{k}.cls": str(k).encode() for k in range(3)}
        json = {f"{k}.json": f'{{"label": {k}}}'.encode() for k in range(3)}
        return [{"set.tar": _tar(labels)} for labels in (plain, json)]


def _every(count: int) -> Any:
    import torch

    return torch.arange(count)


def _npz(save: Any, x: Any, y: Any) -> Files:
    buffer = io.BytesIO()
    save(buffer, x=x, y=y)
    return {"set.npz": buffer.getvalue()}


def _claiming(count: int) -> Files:
    """A file whose header announces many more images than it holds."""
    files = _npz(np.savez, np.zeros((4, 1, 6, 5), np.uint8), np.arange(4))
    lie = f"({count}, 1, 6, 5), }}".encode()
    content = files["set.npz"]
    at = content.index(b"(4, 1, 6, 5), }")
    return {"set.npz": content[:at] + lie + content[at + len(lie) :]}


def _tar(labels: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    members = {f"{k}.png": picture(k, mode="L") for k in range(3)} | labels
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in sorted(members):
            info = tarfile.TarInfo(name)
            info.size = len(members[name])
            archive.addfile(info, io.BytesIO(members[name]))
    return buffer.getvalue()
