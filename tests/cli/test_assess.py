"""`randsmooth assess`, and what a file of weights alone is answered with."""

import json
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from cli.processes import Run
from randsmooth import certificates
from randsmooth.app import assessing

FEW = ("--sigma", "0.25", "--take", "10", "--n", "200")
NETWORK = "from torch import nn\n\n\ndef MyNetwork():\n    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less time for the plan and for attacks."""
    monkeypatch.setattr(assessing, "PLAN_SECONDS", 0.05)
    monkeypatch.setattr(assessing, "SECONDS_FOR_CERTIFICATES", 0.1)
    monkeypatch.setattr(assessing, "SECONDS_FOR_ATTACKS", 0.1)


def test_a_model_is_assessed_into_a_folder(cli: Run, made: Path) -> None:
    done = cli(
        "assess",
        made / "model",
        "digits",
        *FEW,
        "--out",
        "a",
        "--format",
        "json",
        "--quiet",
    )
    told = json.loads(done.out)
    assert (
        done.err == ""
        and done.code == 0
        and told["n"] == 200
        and told["noise"] == "gaussian=0.25"
    )
    assert [Path(file).exists() for file in told["files"]] == [True] * 3
    assert len(certificates.read(Path("a/certificates.parquet"))) == 10
    assert (
        f"randsmooth assess {made / 'model'} digits --sigma 0.25 --take 10 --n 200 --out a"
        in Path("a/assessment.html").read_text()
    )
    assert "--overwrite" in cli.refused(
        "assess", made / "model", "digits", *FEW, "--out", "a"
    )
    text = cli("assess", made / "model", *FEW, "--out", "a", "--overwrite")
    assert re.search(
        r"attacked +\d+ of the \d+ images .* by chance \(at most 20, ", text.out
    )
    assert (
        text.code == 0 and "certified" in text.out and "a/assessment.html" in text.out
    )


def test_what_is_stopped_keeps_its_certificates_and_what_is_refused_leaves_no_folder(
    cli: Run, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*args: object, **how: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(assessing, "attempt", stop)
    stopped = cli("assess", made / "model", "digits", *FEW, "--out", "a")
    assert stopped.code == 130 and "a/certificates.parquet" in stopped.err
    assert [path.name for path in Path("a").iterdir()] == ["certificates.parquet"]
    assert len(certificates.read(Path("a/certificates.parquet"))) == 10
    assert (
        cli("assess", made / "model", "digits", "--take", "0", "--out", "b").code == 2
    )
    assert not Path("b").exists()


def test_weights_alone_are_answered_with_lines_that_open_them(cli: Run) -> None:
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    Path("my_code.py").write_text(NETWORK)
    for name, held in (
        ("a.pth", network.state_dict()),
        ("b.pt", {"state_dict": network.state_dict(), "epoch": 3}),
    ):
        torch.save(held, name)
        refused = cli("assess", name, "digits", *FEW)
        assert refused.code == 2 and "open_model.py:make" in refused.err, name
        Path("open_model.py").write_text(
            re.split("# open_model.py\n", refused.err)[1]
        )  # as it is printed
        assert (
            cli(
                "assess", "open_model.py:make", "digits", *FEW, "--out", name + "-out"
            ).code
            == 0
        ), name
