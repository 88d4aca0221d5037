"""Folders of `save_to_disk`: the column that is asked for, of files inside, and damage that ends no process."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from data.making import DIGITS, png
from models.refusing import check_refusals
from randsmooth.data import load
from randsmooth.errors import NotFound, Problem, WrongData, WrongFile
from values import Refusal

datasets = pytest.importorskip("datasets")

ARROW = "data-00000-of-00001.arrow"


@pytest.fixture
def heard() -> Iterator[tuple[str, list[str]]]:
    """The address of a server, and what it was asked for."""
    asked: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def saved(folder: Path, columns: dict[str, Any], features: dict[str, Any]) -> Path:
    made = datasets.Dataset.from_dict(columns, datasets.Features(features))
    made.save_to_disk(folder)
    return folder


def pixels(folder: Path) -> Path:
    """Images as arrays, with labels."""
    rows = {"image": [each[0] for each in DIGITS], "label": [0, 1, 2, 1]}
    return saved(
        folder,
        rows,
        {"image": datasets.Array2D((28, 28), "uint8"), "label": datasets.ClassLabel(3)},
    )


CELL = {
    "bytes": datasets.Value("binary"),
    "path": datasets.Value("string"),
}  # as an image is stored


def said(folder: Path, file: str, **changes: Any) -> None:
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def called_images(folder: Path, **columns: Any) -> None:
    """Let the description of a folder say that these columns are images, which `save_to_disk` would fetch."""
    features = json.loads((folder / "dataset_info.json").read_text())["features"]
    said(folder, "dataset_info.json", features=features | columns)


def compressed(folder: Path, **more: Any) -> Path:
    """Images as PNG, with labels, and other columns of images."""
    rows = {
        "image": [{"bytes": png(each), "path": None} for each in DIGITS],
        "label": [0, 1, 2, 1],
        **more,
    }
    saved(
        folder,
        rows,
        {
            "image": datasets.Image(),
            "label": datasets.Value("int64"),
            **dict.fromkeys(more, CELL),
        },
    )
    called_images(folder, **{name: {"_type": "Image"} for name in more})
    return folder


def test_nothing_is_fetched_or_opened_but_the_folder(
    tmp_path: Path, heard: tuple[str, list[str]]
) -> None:
    """Another column of images, whatever it names, is not looked at; a chosen one holds its images itself."""
    address, asked = heard
    (tmp_path / "mine.png").write_bytes(png(DIGITS[0]))
    places = [
        f"{address}/a.png",
        str(tmp_path / "mine.png"),
        f"zip://x::{address}/b.zip",
        f"{address}/c.png",
    ]
    named = [{"bytes": None, "path": place} for place in places]
    kinds = {
        "image": datasets.Array2D((28, 28), "uint8"),
        "label": datasets.Value("int64"),
        "other": CELL,
    }
    arrays = {
        "image": [each[0] for each in DIGITS],
        "label": [0, 1, 2, 1],
        "other": named,
    }
    folder = saved(tmp_path / "arrays", arrays, kinds)
    called_images(folder, other={"_type": "Image"})
    found = load(folder, "test").batch(torch.arange(4))[0]
    assert torch.equal((found * 255).round().to(torch.uint8), torch.from_numpy(DIGITS))
    folder = compressed(tmp_path / "pictures", other=named)
    assert len(load(folder, "test")) == 4
    nested = saved(
        tmp_path / "nested", {"image": [[each] for each in named]}, {"image": [CELL]}
    )
    called_images(nested, image={"_type": "List", "feature": {"_type": "Image"}})
    check_refusals(
        [
            (
                lambda: load(folder, "test", image_column="other"),
                Refusal(WrongData),
            ),
            (lambda: load(nested, "test"), Refusal(WrongData, "item 0")),
        ]
    )
    assert asked == []


def test_a_folder_names_files_of_itself_alone(tmp_path: Path) -> None:
    other = compressed(tmp_path / "other")
    rows: list[tuple[Callable[[], object], Refusal]] = []
    for name in (f"../other/{ARROW}", str(other / ARROW), "..", "", 5, "a\0"):
        folder = compressed(tmp_path / f"of {len(rows)}")
        said(folder, "state.json", _data_files=[{"filename": name}])
        rows.append((partial(load, folder, "test"), Refusal(WrongData)))
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "dataset_dict.json").write_text('{"splits": ["../other"]}')
    rows.append(
        (partial(load, tmp_path / "splits", "test"), Refusal(WrongData, "'../other'"))
    )
    states: list[tuple[str, dict[str, Any], type[Problem]]] = [
        ("none", {"_data_files": []}, WrongData),
        ("twice", {"_data_files": [{"filename": ARROW}] * 2}, WrongData),
        ("no list", {"_data_files": 5}, WrongData),
        ("not there", {"_data_files": [{"filename": "b.arrow"}]}, NotFound),
        (
            "in another order",
            {"_indices_data_files": [{"filename": "indices.arrow"}]},
            WrongData,
        ),
    ]
    for name, changes, kind in states:
        said(compressed(tmp_path / name), "state.json", **changes)
        expected = Refusal(kind, str(tmp_path / name))
        rows.append((partial(load, tmp_path / name, "test"), expected))
    check_refusals(rows)


def test_what_is_cut_short_or_packed_is_refused(tmp_path: Path) -> None:
    path = pixels(tmp_path / "a") / ARROW
    whole = path.read_bytes()
    table = pa.ipc.open_stream(whole).read_all()
    for packing in ("zstd", "lz4"):
        options = pa.ipc.IpcWriteOptions(compression=packing)
        with (
            pa.OSFile(str(path), "wb") as file,
            pa.ipc.new_stream(file, table.schema, options=options) as writer,
        ):
            writer.write_table(table)
        check_refusals(
            [(lambda: load(path.parent, "test"), Refusal(WrongData, str(ARROW)))]
        )
    for length in (len(whole) - 8, len(whole) // 2, 100, 0):
        path.write_bytes(whole[:length])
        check_refusals(
            [(lambda: load(path.parent, "test"), Refusal(WrongFile, str(ARROW)))]
        )


FLIPPED = """
import sys
from pathlib import Path

import torch

from randsmooth.data import load
from randsmooth.errors import Problem

folder, step = Path(sys.argv[1]), int(sys.argv[2])
(path,) = folder.glob("*.arrow")
whole = path.read_bytes()
read = refused = 0
for bit in range(0, 8 * len(whole), step):
    content = bytearray(whole)
    content[bit // 8] ^= 1 << bit % 8
    path.unlink()  # what was mapped before stays as it was
    path.write_bytes(content)
    print(bit, flush=True)
    try:
        images = load(folder, "test")
        images.batch(torch.arange(len(images)))
        read += 1
    except Problem:
        refused += 1
print(read, refused)
"""


def flips(folder: Path, step: int) -> None:
    """Flip a bit in every `step` ones, each by itself, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", FLIPPED, folder, str(step)],
        capture_output=True,
        text=True,
    )
    last = done.stdout.strip().splitlines()[-1:]
    assert done.returncode == 0, f"bit {last}: {done.stderr[-2000:]}"
    assert int(last[0].split()[1]) > 10  # refused


def small(folder: Path) -> Path:
    """Two images of 4 x 4, and names of classes as texts."""
    rows = {
        "image": [{"bytes": png(each[:, :4, :4]), "path": None} for each in DIGITS[:2]],
        "label": ["a", "b"],
    }
    return saved(
        folder, rows, {"image": datasets.Image(), "label": datasets.Value("string")}
    )


def test_a_flipped_bit_ends_no_process(tmp_path: Path) -> None:
    flips(small(tmp_path / "a"), 131)


@pytest.mark.slow
def test_no_flipped_bit_ends_a_process(tmp_path: Path) -> None:
    flips(small(tmp_path / "a"), 1)
    rows = {"image": [each[0, :2, :3] for each in DIGITS[:3]], "label": [0, 1, 0]}
    kinds = {
        "image": datasets.Array2D((2, 3), "uint8"),
        "label": datasets.ClassLabel(2),
    }
    flips(saved(tmp_path / "b", rows, kinds), 1)


def test_arrays_of_all_kinds_are_read(tmp_path: Path) -> None:
    """And splits, and columns of features."""
    found = load(pixels(tmp_path / "a"), "test")
    assert found.labels.tolist() == [0, 1, 2, 1] and found.spec.shape == (1, 28, 28)
    rows = {"x": np.arange(12.0).reshape(4, 3).tolist(), "label": [0, 1, 0, 1]}
    kinds = {
        "x": datasets.List(datasets.Value("float32"), 3),
        "label": datasets.Value("int8"),
    }
    one = datasets.Dataset.from_dict(rows, datasets.Features(kinds))
    datasets.DatasetDict(train=one, test=one.select([2, 1])).save_to_disk(
        tmp_path / "b"
    )
    features = load(tmp_path / "b", "test", image_column="x")
    assert features.batch(torch.arange(2))[0].tolist() == [[6, 7, 8], [3, 4, 5]]
