"""Small data sets as users have them, in memory and on disk, and loading that must fail."""

import io
import json
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from PIL import Image

from models.refusing import problem_of
from randsmooth import data
from values import Refusal

Pixels = NDArray[np.uint8]


def random_images(n: int, shape: tuple[int, ...]) -> Pixels:
    """n random images (n, C, H, W), always the same ones."""
    return np.random.default_rng(0).integers(0, 256, (n, *shape), dtype=np.uint8)


DIGITS = random_images(4, (1, 28, 28))  # four images like those of MNIST


def png(pixels: Pixels) -> bytes:
    """`pixels` (C, H, W) or (H, W) as PNG bytes."""
    stream = io.BytesIO()
    channels_last = (
        pixels if pixels.ndim == 2 else np.ascontiguousarray(np.moveaxis(pixels, 0, -1))
    )
    Image.fromarray(channels_last[..., 0] if len(pixels) == 1 else channels_last).save(
        stream, "PNG"
    )
    return stream.getvalue()


def write_parquet(
    file: Path,
    images: Any,
    labels: Any,
    *,
    image: str = "image",
    label: str = "label",
    classes: Any = None,
) -> Path:
    """Write images (arrays or bytes) and labels in Hugging Face layout."""
    encoded = [each if isinstance(each, bytes) else png(each) for each in images]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table(
        {
            image: pa.array([{"bytes": each, "path": None} for each in encoded], kind),
            label: labels,
        }
    )
    if classes:
        features = {
            image: {"_type": "Image"},
            label: {"names": classes, "_type": "ClassLabel"},
        }
        table = table.replace_schema_metadata(
            {"huggingface": json.dumps({"info": {"features": features}})}
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, file)
    return file


def write_folder(root: Path, images: Any, names: Sequence[str]) -> None:
    """Write one image file an image: root/<class name>/<index>.png."""
    for index, (pixels, name) in enumerate(zip(images, names, strict=True)):
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / f"{index:03d}.png").write_bytes(png(pixels))


def tar(members: Iterable[tuple[str, bytes | str]]) -> bytes:
    """A tar file of members with bytes; with text, a link."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size = len(content)
            archive.addfile(
                info, None if isinstance(content, str) else io.BytesIO(content)
            )
    return stream.getvalue()


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def refuses(
    expected: Refusal, dataset: object, split: str = "train", **options: Any
) -> None:
    """Loading `dataset` is refused as `expected` says."""
    expected.check(problem_of(lambda: data.load(dataset, split, **options)))


def pixels_of(images: data.Images) -> torch.Tensor:
    """The pixels (N, C, H, W) uint8 of a split that is held in memory."""
    assert isinstance(images, data.TensorImages)
    return images.pixels
