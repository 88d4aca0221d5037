"""What the tests of the command line share: one model that was trained, and one table of its certificates."""

import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cli.processes import Result, Run
from randsmooth import certify, train
from randsmooth.cli.main import main
from untrained import untrained


@pytest.fixture
def cli(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Run:
    """Runs a command line in an empty folder; its exit code and what it printed."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(
        tmp_path
    )  # a verb that wrongly starts must not write into the checkout

    def run(*words: object) -> Result:
        monkeypatch.setattr("sys.argv", ["randsmooth", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        for number, before in (
            (signal.SIGINT, signal.default_int_handler),
            (signal.SIGTERM, signal.SIG_DFL),
        ):
            signal.signal(number, before)
        printed = capsys.readouterr()
        return Result(int(stop.value.code or 0), printed.out, printed.err)

    return Run(run)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The folder of an untrained model of digits."""
    return untrained(tmp_path / "m", dataset="digits", sigma=0.25)


@pytest.fixture
def image(cli: Run) -> str:
    """An image of 8x8 pixels in the folder where `cli` runs."""
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8) * 4).save("image.png")
    return "image.png"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained `model` of digits, and certificates of 20 images, `a.parquet`. Nobody writes into it."""
    folder = tmp_path_factory.mktemp("made")
    train("digits", sigma=0.25, epochs=6, out=folder / "model")
    certify(folder / "model", take=20, n=500, out=folder / "a.parquet")
    return folder


@pytest.fixture
def trained(made: Path, tmp_path: Path) -> Path:
    """A copy of the trained model, to be changed."""
    return Path(shutil.copytree(made / "model", tmp_path / "model"))
