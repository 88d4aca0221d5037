"""Code that makes a model has a command line of its own, and its options come from the model's arguments."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import randsmooth as rs
from models.refusing import check_refusals, problem_of
from randsmooth.errors import BadValue, WrongModel
from values import Refusal

SCRIPT = """import argparse, sys
from torch import nn
parser = argparse.ArgumentParser()
parser.add_argument("--classes", type=int{more})
parser.add_argument("--wide", action="store_true")
parser.add_argument("--sizes", type=int, nargs="*", default=[])
given = parser.parse_args()
seen = list(sys.argv)


def make(bias=True):
    assert sys.argv == seen
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, given.classes or 10, bias=bias)).eval()
    net.seen, net.given = seen, given
    return net


class Lazy:
    def __call__(self):
        return make(argparse.ArgumentParser().parse_args() is None)
"""


def outputs(name: str, **given: object) -> int:
    """How many classes the model has that the code makes."""
    model: Any = rs.load_model(name, **given)
    return int(model[1].out_features)


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of a script, run as if the command line were that of ours."""
    path = tmp_path / "net.py"
    path.write_text(SCRIPT.format(more=""))
    monkeypatch.setattr(
        sys, "argv", ["randsmooth", "certify", "net.py:make", "--sigma", "0.25"]
    )
    return path


def test_code_sees_a_command_line_of_its_own(script: Path) -> None:
    ours = [*sys.argv]
    plain: Any = rs.load_model(f"{script}:make")
    assert plain.seen == [str(script)]
    more = {"argv:classes": 7, "argv:wide": True, "argv:sizes": [3, 5], "bias": False}
    told: Any = rs.load_model(f"{script}:make", **more)
    assert (told.given.classes, told.given.wide, told.given.sizes) == (7, True, [3, 5])
    assert told[1].out_features == 7
    assert told[1].bias is None
    assert sys.argv == ours


def test_code_that_ends_the_program_is_named_and_our_command_line_comes_back(
    script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ours = [*sys.argv]
    script.write_text(SCRIPT.format(more=", required=True"))
    problem = problem_of(rs.load_model, f"{script}:make")
    Refusal(WrongModel, "argv:NAME=").check(problem)
    assert "usage: net.py" in capfd.readouterr().err
    assert outputs(f"{script}:make", **{"argv:classes": 5}) == 5
    check_refusals(
        [
            (
                lambda: rs.load_model(f"{script}:make", **{"argv:clases": 5}),
                Refusal(WrongModel, "argv:"),
            )
        ]
    )
    script.write_text("import sys\nsys.exit('no weights here')\n")
    check_refusals(
        [
            (
                lambda: rs.load_model(f"{script}:make"),
                Refusal(WrongModel),
            )
        ]
    )
    assert sys.argv == ours


def test_a_module_that_was_imported_is_not_taken_for_one_with_other_options(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(script.parent)
    (script.parent / "read_once.py").write_text(SCRIPT.format(more=""))
    for _ in range(2):
        assert outputs("read_once:make", **{"argv:classes": 5}) == 5
    problem = problem_of(lambda: outputs("read_once:make", **{"argv:classes": 6}))
    Refusal(WrongModel, "classes=5").check(problem)
    check_refusals(
        [(lambda: rs.load_model("read_once:make"), Refusal(WrongModel, "classes=5"))]
    )


def test_options_are_told_in_the_header_and_are_for_code_alone(script: Path) -> None:
    how = {"sigma": 0.25, "n": 100, "take": 1}
    given = {"argv:classes": 10}
    table = rs.certify(f"{script}:make", "digits", model_args=given, **how)  # type: ignore[arg-type]
    assert table.header.model is not None
    assert json.loads(json.dumps(table.header.model["arguments"])) == given
    check_refusals(
        [(lambda: rs.load_model("demo", **given), Refusal(BadValue, field="model_arg"))]
    )
