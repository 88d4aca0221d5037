"""Small real data sets on disk: PNG bytes in Parquet files and in class folders."""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from PIL import Image


def png(pixels: NDArray[np.uint8]) -> Any:
    """`pixels` (C, H, W) or (H, W) uint8 as PNG bytes."""
    image = Image.fromarray(
        pixels
        if pixels.ndim == 2
        else pixels.squeeze(0)
        if len(pixels) == 1
        else np.ascontiguousarray(pixels.transpose(1, 2, 0))
    )
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture(scope="session")
def encode() -> Any:
    return png


@pytest.fixture
def pixels(random_images: Callable[..., NDArray[np.uint8]]) -> Any:
    """Four images like those of MNIST."""
    return random_images(4, (1, 28, 28))


@pytest.fixture
def random_images() -> Any:
    """n random images (n, C, H, W) uint8, always the same ones."""

    def make(n: int, shape: tuple[int, ...]) -> Any:
        return np.random.default_rng(0).integers(0, 256, (n, *shape), dtype=np.uint8)

    return make


@pytest.fixture
def write_parquet() -> Any:
    """Write images (arrays or bytes) and labels in Hugging Face layout."""

    def write(
        file: Path,
        images: Any,
        labels: Any,
        *,
        image: str = "image",
        label: Any = "label",
        classes: list[str] | None = None,
    ) -> None:
        encoded = [each if isinstance(each, bytes) else png(each) for each in images]
        kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        table = pa.table({image: pa.array([{"bytes": each, "path": None} for each in encoded], kind), label: labels})
        if classes:
            features = {image: {"_type": "Image"}, label: {"names": classes, "_type": "ClassLabel"}}
            info = json.dumps({"info": {"features": features}})
            table = table.replace_schema_metadata({"huggingface": info})
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, file)

    return write


@pytest.fixture
def write_folder() -> Any:
    """Write one image file an image: root/<class name>/<index>.png."""

    def write(root: Path, images: Any, names: Sequence[str]) -> None:
        for index, (pixels, name) in enumerate(zip(images, names, strict=True)):
            (root / name).mkdir(parents=True, exist_ok=True)
            (root / name / f"{index:03d}.png").write_bytes(png(pixels))

    return write
