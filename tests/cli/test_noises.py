"""Every verb that takes --sigma takes --noise, says it with its norm, and knows the one of a model's training."""

import json
from pathlib import Path

import pytest

from cli.processes import Run
from randsmooth import read
from randsmooth.noise import make_noise
from untrained import untrained

NOISE = "uniform=0.6"


def folder(path: Path, text: str) -> Path:
    """An untrained model of digits that says to be trained under a noise."""
    noise = make_noise(text).of((1, 8, 8))
    return untrained(
        path,
        extra_channels=noise.shape((1, 8, 8))[0] - 1,
        dataset="digits",
        noise=noise.facts(),
    )


@pytest.mark.slow
def test_each_verb_takes_a_noise_or_the_one_of_training(
    cli: Run, model: Path, tmp_path: Path, image: str
) -> None:
    """`model` was trained at sigma 0.25, `own` under the noise, which no option then needs to say."""
    own, few = folder(tmp_path / "own", NOISE), ("--n", 100, "--seed", 3)
    for which, said in ((model, ("--noise", NOISE)), (own, ())):
        cli.done(
            "certify",
            which,
            *said,
            *few,
            "--take",
            2,
            "--out",
            "t.parquet",
            "--overwrite",
        )
        assert read("t.parquet").noise.text == NOISE, which
        planned = cli(
            "plan", which, *said, *few, "--take", 2, "--format", "json", "--seconds", 1
        )
        assert planned.code == 0 and json.loads(planned.out)["rule"] == "fixed", which
        (answer,) = json.loads(
            cli("predict", which, image, *said, *few, "--format", "json").out
        )
        assert (answer["noise"], answer["norm"], answer["n"]) == (NOISE, "l1", 100), (
            which
        )
        page = cli(
            "explain",
            which,
            image,
            *said,
            *few,
            "--no-attack",
            "--no-training",
            "--overwrite",
        )
        assert page.code == 0 and NOISE in Path("explanation.html").read_text(), which
        assert (
            cli("serve", which, *said, "--space", tmp_path / f"space-{which.name}").code
            == 0
        ), which
    assert "'lam': 0.6" in (tmp_path / "space-m" / "app.py").read_text()
    accuracy = ("--radius", 0.1, "--take", 5, "--n", 100, "--within", 0.2)
    cli.done("accuracy", model, "--noise", NOISE, *accuracy)
    assert "give one of them" in cli.refused(
        "predict", model, image, "--noise", NOISE, "--sigma", 0.5
    )
    like = (
        "predict",
        own,
        image,
        "--like",
        "t.parquet",
        "--n",
        100,
        "--format",
        "json",
    )
    assert json.loads(cli(*like).out)[0]["noise"] == NOISE
    assert "is not what t.parquet was certified with" in cli.refused(
        *like, "--noise", "laplace=0.3"
    )


@pytest.mark.slow
def test_a_network_that_takes_marks_is_certified_explained_and_exported(
    cli: Run, tmp_path: Path, image: str
) -> None:
    own = folder(tmp_path / "own", "ablation=10")
    cli.done(
        "explain", own, image, "--n", 100, "--seed", 1, "--no-training", "--no-attack"
    )
    cli.done("export", own, "--torch-export", "net.pt2")
    say = ("--noise", "ablation=10", "--dataset", "digits", "--n", 100, "--take", 2)
    cli.done("certify", "net.pt2", *say, "--identity", "net", "--out", "b.parquet")
    assert read("b.parquet").header.norm == "l0"
    assert "under ablation=10" in cli.refused(
        "certify", own, "--sigma", 0.5, "--n", 100, "--take", 2
    )


def test_help_lists_the_noises_and_shards_are_made_by_a_command_that_names_theirs(
    cli: Run, model: Path
) -> None:
    said = " ".join(cli("certify", "--help").out.split())
    assert all(
        word in said for word in ("uniform=LAM", "splitting=LAM", "ablation=K", "exact")
    )
    options = (
        "--noise",
        "splitting=0.5",
        "--rule",
        "exact",
        "--take",
        4,
        "--out",
        "s.parquet",
    )
    cli.done("certify", model, *options, "--shard", "1/2")
    refused = cli("merge", "s-1-of-2.parquet")
    assert refused.code == 2 and "--noise splitting=0.5" in refused.out
    cli.done(*refused.out.split()[1:])
    cli.done("merge", "s-1-of-2.parquet", "s-2-of-2.parquet")
    header = read("s.parquet").header
    assert (
        "certainty" in (header.guarantee or "") and cli("verify", "s.parquet").code == 0
    )
    cli.done("evaluate", "s.parquet")
    cli.done("attack", model, "s.parquet")
