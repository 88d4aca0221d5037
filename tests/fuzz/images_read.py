"""Data sets of images as they come in. They carry no digest; what is read must be images and labels."""

import io
import json
import tarfile
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import torch

from fuzz.formats import lying_png, parquet, picture, read_table, with_columns
from fuzz.harness import Files, Reader, written
from randsmooth.data import describe, load, read_image
from randsmooth.notes import Note

TRAIN, TEST = "set/train.parquet", "set/test.parquet"
KINDS = {
    "png": "PNG",
    "jpg": "JPEG",
    "bmp": "BMP",
    "webp": "WEBP",
    "tif": "TIFF",
    "ppm": "PPM",
}
LIES = (
    (10**6, 10**6),
    (2**31 - 1, 2**31 - 1),
    (13_000, 13_000),
    (9_000, 9_000),
    (2**31 - 1, 1),
    (170_000_000, 1),
)


class Shelf(Reader):
    """A data set at `place`, of which `split` is read."""

    signed = False
    place: ClassVar[str] = "set"
    split: ClassVar[str] = "train"

    def read(self, folder: Path) -> Any:
        spec = describe(str(folder / self.place))
        images = load(str(folder / self.place), self.split)
        x, y = images.batch(torch.arange(len(images)))
        found = {
            "classes": images.spec.classes,
            "shape": images.spec.shape,
            "mean": spec.mean,
            "x": x,
            "y": y,
        }
        return found | {"sizes": spec.sizes}

    def fault(self, read: Any) -> str:
        x, y = read["x"], read["y"]
        if tuple(x.shape) != (len(y), *read["shape"]):
            return f"images of shape {tuple(x.shape)} with {len(y)} labels"
        if not bool(((x >= 0) & (x <= 1)).all()):
            return "pixels outside of [0, 1]"
        labelled = bool(
            ((y >= 0) & (y < len(read["classes"]))).all() or (y == -1).all()
        )
        return "" if labelled else "a label that is no class"


class Images(Shelf):
    """Images in Parquet files, as the Hugging Face hub keeps them."""

    name = "data-parquet"

    def valid(self) -> list[Files]:
        return [{TRAIN: shard(0, mode), TEST: shard(9, mode)} for mode in ("L", "RGB")]

    def bombs(self) -> list[Files]:
        files = self.valid()[0]
        far = with_columns(files[TRAIN], label=[0, 1, 2, 10**12, 1, 2])
        large = with_columns(
            files[TRAIN],
            image=[cell(bytes(700 * 2**20))] + [cell(picture(0, mode="L"))] * 5,
        )
        colour = shard(0, "RGB")
        others = read_table(colour).column("image").to_pylist()[1:]
        lies = [
            with_columns(colour, image=[cell(lying_png(*size)), *others])
            for size in LIES
        ]
        return [
            *(files | {TRAIN: each} for each in (far, large)),
            *({TRAIN: each, TEST: colour} for each in lies),
        ]


def cell(content: bytes) -> dict[str, Any]:
    return {"bytes": content, "path": None}


def shard(seed: int, mode: str) -> bytes:
    images = [cell(picture(seed + k, mode=mode)) for k in range(6)]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table(
        {
            "image": pa.array(images, kind),
            "label": pa.array([0, 1, 2, 0, 1, 2], pa.int64()),
        }
    )
    features = {
        "image": {"_type": "Image"},
        "label": {"names": ["a", "b", "c"], "_type": "ClassLabel"},
    }
    said = (
        {"huggingface": json.dumps({"info": {"features": features}})}
        if seed == 0
        else None
    )
    return parquet(table, said)


class Folders(Shelf):
    """Images in class folders, in all formats, and each of them by itself."""

    name = "image-folders"

    def valid(self) -> list[Files]:
        return [
            folders(0, ("png", "jpg", "bmp")),
            folders(50, ("png", "webp", "tif", "ppm")),
        ]

    def bombs(self) -> list[Files]:
        return [
            self.valid()[0] | {"set/train/a/0.png": lying_png(*size)} for size in LIES
        ]

    def read(self, folder: Path) -> Any:
        spec = describe(str(folder / "set"))
        files = sorted(
            path for path in (folder / "set" / "train").rglob("*") if path.is_file()
        )
        return super().read(folder) | {
            "each": [read_image(path, spec) for path in files]
        }


def folders(seed: int, suffixes: Sequence[str]) -> Files:
    """Two classes: one with an image of each format, the other with one; and a test split of one."""
    kinds = {
        f"train/a/{k}.{suffix}": KINDS[suffix] for k, suffix in enumerate(suffixes)
    }
    kinds |= {"train/b/0.png": "PNG", "test/a/0.png": "PNG"}
    return {
        f"set/{name}": picture(seed + k, kind)
        for k, (name, kind) in enumerate(kinds.items())
    }


class Arrays(Shelf):
    """Images and labels in .npz files, packed and unpacked, 8-bit and floats."""

    name, place, split = "data-npz", "set.npz", "test"

    def valid(self) -> list[Files]:
        x = np.random.default_rng(0).integers(0, 256, (4, 3, 6, 5), dtype=np.uint8)
        return [
            npz(np.savez, x, np.arange(4)),
            npz(np.savez_compressed, x / 255.0, np.arange(4) % 2),
        ]

    def bombs(self) -> list[Files]:
        """Many images of zeros; and a header that announces many more images than there are."""
        large = npz(
            np.savez_compressed,
            np.zeros((300, 1, 2000, 1000), np.uint8),
            np.zeros(300, int),
        )
        content = npz(np.savez, np.zeros((4, 1, 6, 5), np.uint8), np.arange(4))[
            "set.npz"
        ]
        lie, at = b"(%d, 1, 6, 5), }" % 10**12, content.index(b"(4, 1, 6, 5), }")
        return [large, {"set.npz": content[:at] + lie + content[at + len(lie) :]}]


def npz(save: Any, x: Any, y: Any) -> Files:
    buffer = io.BytesIO()
    save(buffer, x=x, y=y)
    return {"set.npz": buffer.getvalue()}


class Paths(Shelf):
    """CSV files of paths and labels."""

    name, place, split, target = "data-csv", "set.csv", "test", "set.csv"

    def valid(self) -> list[Files]:
        images = {f"{k}.png": picture(k, mode="L") for k in range(3)}
        rows = (
            "".join(f"{k}.png,{k}\n" for k in range(3)),
            "".join(f'"{k}.png",{"ab"[k % 2]}\n' for k in range(3)),
        )
        return [images | {"set.csv": f"path,label\n{each}".encode()} for each in rows]


class Lists(Shelf):
    """JSON lines, of paths and of names without suffix."""

    name, place, split, target = "data-jsonl", "set.jsonl", "test", "set.jsonl"

    def read(self, folder: Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Note)  # of how the files were found
            return super().read(folder)

    def valid(self) -> list[Files]:
        images = {f"{k}.png": picture(k, mode="L") for k in range(3)}
        rows = [{"path": f"{k}.png", "label": k} for k in range(3)]
        bare = [
            {"file_name": str(k), "label": "ab"[k % 2], "split": "test"}
            for k in range(3)
        ]
        return [
            images | {"set.jsonl": "\n".join(map(json.dumps, each)).encode()}
            for each in (rows, bare)
        ]


class Beside(Shelf):
    """A folder of images beside a list with their labels."""

    name, place, split, target = "data-beside", "set", "test", "set/metadata.csv"

    def read(self, folder: Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Note)  # of how the files were found
            return super().read(folder)

    def valid(self) -> list[Files]:
        images = {f"set/{k}.png": picture(k, mode="L") for k in range(3)}
        rows = (
            "".join(f"{k}.png,{k}\n" for k in range(3)),
            "".join(f'"{k}.png",{"ab"[k % 2]}\n' for k in range(3)),
        )
        return [
            images | {"set/metadata.csv": f"file_name,label\n{each}".encode()}
            for each in rows
        ]


class Tar(Shelf):
    """WebDataset tar files, with labels as numbers and in JSON."""

    name, place, split = "data-tar", "set.tar", "test"

    def valid(self) -> list[Files]:
        plain = {f"{k}.cls": str(k).encode() for k in range(3)}
        said = {f"{k}.json": f'{{"label": {k}}}'.encode() for k in range(3)}
        made = []
        for labels in (plain, said):
            members, buffer = (
                {f"{k}.png": picture(k, mode="L") for k in range(3)} | labels,
                io.BytesIO(),
            )
            with tarfile.open(fileobj=buffer, mode="w") as archive:
                for name in sorted(members):
                    info = tarfile.TarInfo(name)
                    info.size = len(members[name])
                    archive.addfile(info, io.BytesIO(members[name]))
            made.append({"set.tar": buffer.getvalue()})
        return made


class Saved(Shelf):
    """A folder of `save_to_disk`, with images as files or as arrays."""

    name, split, target = "data-saved", "test", "set/"

    def fault(self, read: Any) -> str:
        """Classes of arrays are as many as there are labels."""
        return super().fault(read | {"classes": read["classes"] or range(100)})

    def valid(self) -> list[Files]:
        return [saved(arrays=False), saved(arrays=True)]

    def bombs(self) -> list[Files]:
        """Packed numbers; and files elsewhere."""
        files = saved(arrays=True)
        table = pa.ipc.open_stream(files[ARROW]).read_all()
        rows = table.slice(0, 1).take(pa.array([0] * 200_000))
        buffer = io.BytesIO()
        with pa.ipc.new_stream(
            buffer, rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
        ) as writer:
            writer.write_table(rows.combine_chunks())
        state = json.loads(files["set/state.json"]) | {
            "_data_files": [{"filename": "../../../../../dev/zero"}]
        }
        return [
            files | {ARROW: buffer.getvalue()},
            files | {"set/state.json": json.dumps(state).encode()},
        ]


ARROW = "set/data-00000-of-00001.arrow"


@cache
def saved(*, arrays: bool) -> Files:
    import datasets

    kind = datasets.Array3D((3, 8, 8), "uint8") if arrays else datasets.Image()
    images = np.random.default_rng(0).integers(0, 256, (4, 3, 8, 8), dtype=np.uint8)
    cells = (
        list(images)
        if arrays
        else [{"bytes": picture(k), "path": None} for k in range(4)]
    )
    kinds = {"image": kind, "label": datasets.ClassLabel(names=["a", "b"])}
    made = datasets.Dataset.from_dict(
        {"image": cells, "label": [0, 1, 0, 1]}, datasets.Features(kinds)
    )
    return written(lambda folder: made.save_to_disk(folder / "set"))
