"""Try what README, docs and --help promise: the commands of results/promises.csv, each in a folder of its own.

    make promises                      # all rows, results/promises.json
    make promises PROMISES="rule,shard"   # rows that hold one of these words, runs/promises.json

Before the first row two models of digits are trained, and tables, images and files of data made that the rows read.
A row passes where its command ends with 0; where it begins with `!`, where it ends with 2, a refusal in a sentence.
A row of tests must select at least one, which is asked before the first row, and not all of them may be skipped.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "results" / "promises.csv"
MOST = 900  # seconds of a row
STAGE = """
set -e
randsmooth train digits --sigma 0.25 --take 300 --epochs 2 --out model
randsmooth train digits --method amplify --sigma 0.25 --take 300 --epochs 2 --out other
randsmooth certify model --take 20 --n 300 --n0 20 --out tables/gaussian.parquet
randsmooth certify other --take 20 --n 300 --n0 20 --out tables/amplify.parquet
randsmooth export tables/gaussian.parquet --out digits-sigma0.25/gaussian.tsv
python files.py
"""
FILES = """
import io, tarfile
import numpy as np
import pandas as pd
from pathlib import Path
from PIL import Image
from sklearn.datasets import load_digits
x, y = load_digits(return_X_y=True)
x = (x[1500:1530].reshape(-1, 8, 8) * 15.9).astype(np.uint8)
y = y[1500:1530]
np.savez("set.npz", x=x, y=y)
rows, cells = [], []
for i, (image, label) in enumerate(zip(x, y)):
    path = Path("images/test") / str(label) / f"{i}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)
    rows.append({"path": str(path), "label": label})
    cells.append({"image": {"bytes": path.read_bytes(), "path": None}, "label": label})
pd.DataFrame(rows).to_csv("set.csv", index=False)
pd.DataFrame(cells).to_parquet("set.parquet")
with tarfile.open("set.tar", "w") as tar:
    for i, cell in enumerate(cells):
        for name, content in ((f"{i:02}.png", cell["image"]["bytes"]), (f"{i:02}.cls", str(cell["label"]).encode())):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
Image.fromarray(x[0]).save("digit.png")
Path("counts.csv").write_text("label,picked,n_A,n\\n0,0,990,1000\\n1,1,600,1000\\n")
Path("mine.py").write_text(
    "import torch\\n\\n\\ndef make():\\n"
    "    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()\\n"
)
Path("grid.yaml").write_text(
    "datasets: digits\\nmethods: {gaussian: {}}\\nsigmas: [0.25]\\n"
    "train: {take: 60, epochs: 1}\\ncertify: {n: 200, take: 4}\\n"
)
"""


def tried(
    row: dict[str, str], stage: Path, environment: dict[str, str]
) -> dict[str, Any]:
    """What came of a row."""
    command, begun = row["command"], time.perf_counter()
    refused = command.startswith("! ")
    with tempfile.TemporaryDirectory() as name:
        folder = (
            ROOT
            if command.startswith("pytest ")
            else shutil.copytree(stage, Path(name) / "work")
        )
        words = ["bash", "-c", command.removeprefix("! ")]
        how: dict[str, Any] = {
            "cwd": folder,
            "env": environment,
            "capture_output": True,
            "errors": "replace",
        }
        try:
            done = subprocess.run(words, **how, timeout=MOST, check=False)
            passed, said = (
                done.returncode == (2 if refused else 0),
                (done.stdout + done.stderr).strip()[-600:],
            )
            passed &= (
                " passed" in done.stdout or folder is not ROOT
            )  # not all of them are skipped
        except subprocess.TimeoutExpired:
            passed, said = False, f"no end within {MOST} s"
    seconds = round(time.perf_counter() - begun, 1)
    print(
        f"{'passed' if passed else 'FAILED'} {seconds:6.1f} s  {row['promise']}: {command}",
        flush=True,
    )
    told = {
        "promise": row["promise"],
        "command": command,
        "passed": passed,
        "seconds": seconds,
    }
    return told if passed else told | {"said": said}


def unselected(rows: list[dict[str, str]], environment: dict[str, str]) -> list[str]:
    """The rows of tests that select none: a file is gone, or a word of theirs names nothing any more."""
    commands = [row["command"] for row in rows if row["command"].startswith("pytest ")]
    how: dict[str, Any] = {
        "cwd": ROOT,
        "env": environment,
        "capture_output": True,
        "check": False,
    }
    return [
        one
        for one in commands
        if subprocess.run(["bash", "-c", f"{one} --collect-only"], **how).returncode
    ]


def main() -> None:
    wanted = [word for word in os.environ.get("PROMISES", "").split(",") if word]
    with ROWS.open(newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if not wanted or any(word in str(row) for word in wanted)
        ]
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    environment = os.environ | {
        "PATH": tools,
        "PYTHONPATH": paths,
        "PYTEST_ADDOPTS": "-q -m ''",
    }
    if none := unselected(rows, environment):
        sys.exit(
            "these rows select no test, name those that there are: " + "; ".join(none)
        )
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "files.py").write_text(FILES)
        subprocess.run(
            ["bash", "-c", STAGE],
            cwd=name,
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        told = [tried(row, Path(name), environment) for row in rows]
    passed = sum(bool(row["passed"]) for row in told)
    machine = {
        "cpu": platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    out = ROOT / ("runs" if wanted else "results") / "promises.json"
    out.parent.mkdir(exist_ok=True)
    found = {
        "passed": passed,
        "failed": len(told) - passed,
        "seconds": sum(row["seconds"] for row in told),
    }
    out.write_text(
        json.dumps(found | {"machine": machine, "rows": told}, indent=1) + "\n"
    )
    print(f"{passed} of {len(told)} passed; {out}")
    sys.exit(passed < len(told))


if __name__ == "__main__":
    main()
