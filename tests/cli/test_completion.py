"""What a shell completes, and that names of other packages are known to help and completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from openness.plugin import POINTS, announce


def completed(*words: str, site: Path | None = None) -> list[str]:
    """What bash is offered for the last word."""
    path = [str(site)] if site else []
    environment = os.environ | {
        "_RANDSMOOTH_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["randsmooth", *words]),
        "COMP_CWORD": str(len(words)),
        "PYTHONPATH": os.pathsep.join([*path, os.environ.get("PYTHONPATH", "")]),
    }
    program = "import sys; sys.argv = ['randsmooth']; from randsmooth.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split()


OFFERED = {
    "cert": ["certify"],
    "data ": ["list", "describe"],
    "certify m --back": ["--backend"],
    "certify m --backend o": ["onnx", "openvino"],
    "train mn": ["mnist"],
    "train mnist --method smooth": ["smoothadv", "smoothmix"],
    "train mnist --logger ": ["tensorboard", "csv", "mlflow", "wandb"],
    "train mnist --preset cat-rs/macer/t": ["cat-rs/macer/table1"],
    "completion ": ["bash", "zsh", "fish", "powershell"],
}


def test_words_are_completed() -> None:
    for words, offered in OFFERED.items():
        assert set(completed(*words.split(" "))) == set(offered), words


def test_names_of_other_packages_are_known(tmp_path: Path) -> None:
    announce(tmp_path)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}
    settings = {"backend": "certify", "arch": "train", "method": "train", "dataset": "certify"}
    for setting, verb in settings.items():
        names = [*POINTS[f"randsmooth.{'architecture' if setting == 'arch' else setting}s"]]
        assert set(names) <= set(completed(verb, "m", f"--{setting}", "", site=tmp_path)), setting
        program = (
            f"import sys; sys.argv = ['randsmooth', {verb!r}, '--help']; from randsmooth.cli.main import main; main()"
        )
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert all(f"{name} (from smoothing-extras)" in " ".join(done.stdout.split()) for name in names), setting
