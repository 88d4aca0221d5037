"""Nobody is told what a user does: nothing reaches beyond this machine, and no file waits to be sent."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from unheard import heard, is_isolated

RUNS_ONNX = """
import numpy as np
import randsmooth.models
from models.graphs import linear
from pathlib import Path
from randsmooth.models import OnnxModel
import onnxruntime

path = linear(Path("net.onnx"))
OnnxModel(path)
session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
session.run(None, {"x": np.zeros((2, 1, 8, 8), np.float32)})
"""
ASKS = """
import ctypes, socket, sys

def look_up(name):
    try:
        socket.getaddrinfo(name, 443)
    except OSError:
        pass

if sys.argv[1] == "python":
    look_up("example.com")
elif sys.argv[1] == "localhost":
    look_up("localhost")
else:  # as a library in C would, of which Python learns nothing
    found = ctypes.c_void_p()
    ctypes.CDLL(None).getaddrinfo(b"example.com", b"443", None, ctypes.byref(found))
"""
# Every way in, each on as little as it takes; the longest wait of a queue of reports is ten seconds.
DOORS = """
import sys, time, urllib.request
from pathlib import Path

from PIL import Image

from randsmooth.cli.main import main

Image.new("L", (8, 8), 100).save("digit.png")
Path("zoo.py").write_text('''
import torch
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

def tree():
    x, y = load_digits(return_X_y=True)
    return DecisionTreeClassifier(max_depth=5, random_state=0).fit(x / 16, y)
''')

def verb(words):
    sys.argv = ["randsmooth", *words.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, words

def serve():
    from randsmooth.app import Served, serve as start

    running = start(Served.of("demo", "digits", sigma=0.5), wait=False)
    assert urllib.request.urlopen(running.local_url).status == 200
    running.close()

few = "--take 3 --n0 10 --n 100"
verb("doctor")
for line in LINES:
    serve() if line == "serve" else verb(line.format(few=few))
time.sleep(10)
"""
ON_ONNX = [
    "export demo --onnx net.onnx",
    "certify net.onnx --dataset digits --sigma 0.5 {few} --backend onnx",
]
ON_OPENVINO = [
    "certify demo {few} --backend openvino --out openvino.parquet",
    "certify net.onnx --dataset digits --sigma 0.5 {few} --backend openvino --out both.parquet",
]
ON_INT8 = [
    "quantise demo --out int8.xml --images 20 --compare 20",
    "certify int8.xml --dataset digits {few}",
]
OTHERS = [
    "certify demo {few} --backend torch --out a.parquet",
    "certify zoo.py:tree --dataset digits --sigma 0.1 {few} --identity tree --out tree.parquet",
    "train digits --sigma 0.25 --epochs 1 --out model",
    "certify model {few} --out b.parquet",
    "certify model {few} --workers 2 --out c.parquet",
    "predict model digit.png --n 200",
    "explain model digits:3 --n 200 --out page.html",
    "attack model b.parquet --steps 2 --m 2 --n 100",
    "evaluate a.parquet b.parquet",
    "verify model a.parquet",
    "cite a.parquet",
    "data list",
]
DRAWN = ["compare a.parquet b.parquet --out compared.html", "leaderboard ."]
# What Python, fontconfig and we ourselves keep in a home folder.
KNOWN = ("/matplotlib/", "/fontconfig/", "/randsmooth/", "__pycache__")


def unexpected(left: list[str]) -> list[str]:
    return [path for path in left if not any(part in f"/{path}" for part in KNOWN)]


@pytest.mark.skipif(
    find_spec("onnxruntime") is None, reason="ONNX Runtime is not installed"
)
def test_onnx_runtime_notes_nothing_for_its_makers(tmp_path: Path) -> None:
    assert unexpected(heard(RUNS_ONNX, tmp_path).left) == []


def test_what_is_asked_of_others_is_heard(tmp_path: Path) -> None:
    for place, how in enumerate(("python", "c", "localhost")):
        folder = tmp_path / str(place)
        folder.mkdir()
        program = ASKS.replace("sys.argv[1]", repr(how))
        if how != "c" or is_isolated():
            assert bool(heard(program, folder).reached) == (how != "localhost"), how


@pytest.mark.slow
def test_no_backend_and_no_door_reaches_beyond_this_machine(tmp_path: Path) -> None:
    parts = {
        "onnxruntime": ON_ONNX,
        "openvino": ON_OPENVINO,
        "nncf": ON_INT8,
        "plotly": DRAWN,
        "gradio": ["serve"],
    }
    lines = [*OTHERS]
    for package, those in parts.items():
        if find_spec(package) is not None:
            lines += those
    done = heard(f"LINES = {lines!r}\n{DOORS}", tmp_path)
    assert done.reached == [] and unexpected(done.left) == []
