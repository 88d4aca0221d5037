"""`randsmooth attack`: certificates that hold, forged ones that do not, and its exit codes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from cli.run import Run
from randsmooth import certify, models, read, train
from randsmooth.bounds import successes_of_q
from randsmooth.certificates import Certificates, from_evidence, write_parquet
from randsmooth.noise import Gaussian

N, TAKE = 2000, 6
FORGED = 10**9  # samples of which enough agree for any radius that N could certify, twice over


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a `model`, its `honest.parquet`, and `forged.parquet` with radii twice as large."""
    folder = tmp_path_factory.mktemp("attack")
    model = train("digits", sigma=0.25, epochs=6, out=folder / "model")
    table = certify(model, "digits", take=12, n=N, out=folder / "honest.parquet")
    write_parquet(forged(table), folder / "forged.parquet")
    return folder


def forged(table: Certificates) -> Certificates:
    """The table with the counts that radii twice as large would have come from."""
    assert table.header.sigma and table.header.alpha
    q = Gaussian(table.header.sigma).tail(2 * table.radius)
    successes = successes_of_q(q, FORGED, table.header.alpha)
    counts0, honest = table.evidence()
    rows, picked = np.arange(len(table)), counts0.argmax(axis=1)
    counts = np.zeros_like(honest)
    counts[rows, picked] = successes
    counts[rows, (picked + 1) % counts.shape[1]] = FORGED - successes
    header = table.header.model_copy(update={"n": FORGED})
    return from_evidence(
        header, idx=table.idx, label=table.label, counts0=counts0, counts=counts, seconds=table.seconds
    )


def test_a_sound_table_holds(cli: Run, made: Path) -> None:
    code, out, err = cli("attack", made / "model", made / "honest.parquet", "--take", TAKE)
    assert (code, err) == (0, "")
    assert "certified images attacked within 1 x their radius: 6; held" in out
    assert "changed 0" in out and "no certificate failed" in out
    assert "PREDICT with n=10000 at alpha=0.000167 per image" in out
    assert "FAILED" not in out


def test_forged_radii_exit_with_1(cli: Run, made: Path) -> None:
    honest, table = read(made / "honest.parquet"), read(made / "forged.parquet")
    certified = honest.radius > 0
    assert table.radius[certified] == pytest.approx(2 * honest.radius[certified], rel=1e-4)  # forged indeed
    code, out, _ = cli("attack", made / "model", made / "forged.parquet")
    assert code == 1
    told = next(line for line in out.splitlines() if line.startswith("FAILED:"))
    failed = int(told.split()[1])
    rows = [line.split() for line in out.splitlines() if line.endswith(" FAILED")]
    assert len(rows) == failed > 0
    for image, label, claimed, radius, distance, predict, _ in rows:
        place = table.idx.tolist().index(int(image))
        assert (int(label), int(claimed)) == (table.label[place], table.predict[place])
        assert float(distance) <= float(radius) <= table.radius[place]
        assert float(distance) > honest.radius[place] and predict != claimed


def test_machines_may_read_it(cli: Run, made: Path) -> None:
    words = ("attack", made / "model", made / "forged.parquet", "--take", 3, "--steps", 8, "--m", 16, "--format")
    code, out, _ = cli(*words, "json")
    answers = json.loads(out)
    assert len(answers) == 3
    assert (code == 1) == any(answer["verdict"] == "FAILED" for answer in answers)
    assert {answer["verdict"] for answer in answers} <= {"held", "abstained", "FAILED"}
    assert all((answer["predict"] is None) == (answer["verdict"] == "abstained") for answer in answers)
    as_csv = list(csv.DictReader(cli(*words, "csv")[1].splitlines()))
    assert [float(row["distance"]) for row in as_csv] == [answer["distance"] for answer in answers]


@pytest.mark.slow
def test_changes_outside_are_no_failure(cli: Run, made: Path) -> None:
    words = ("attack", made / "model", made / "honest.parquet", "--take", TAKE, "--scale", 4, "--steps", 10)
    code, out, _ = cli(*words)
    assert code == 0
    assert "no certificate failed: all changes lie outside the certified radii" in out
    assert out.count("changed outside") > 1
    assert out.splitlines()[0].startswith("attack honest")


BAD = [
    ("{model} {tmp}/none.parquet", "none.parquet"),
    ("{tmp}/none {table}", "none"),
    ("{model} {log}", "log does not say its sigma"),
    ("{model} {table} --scale 0", "scale=0"),
    ("{model} {table} --steps 0", "steps=0"),
    ("{model} {table} --m 0", "m=0"),
    ("{model} {table} --restarts -1", "restarts=-1"),
    ("{model} {table} --n 10", "got n=10"),
    ("{model} {table} --alpha 1", "alpha=1"),
    ("{model} {table} --take 1000", "cannot take 1000"),
    ("{model} {table} --format xml", "json"),
    ("{model} {table} --device tpu", "auto, cpu, cuda or"),
    ("{model} {table} --dataset mnits", "mnist"),
    ("{model} {table} --scale far", "--scale"),
    ("", "MODEL"),
    ("{model}", "CERTIFICATES"),
]


def test_bad_input_is_named_and_exits_with_2(cli: Run, made: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.5\t1\t0:00:01.5\n")
    places = {"model": made / "model", "table": made / "honest.parquet", "tmp": tmp_path, "log": log}
    for words, named in BAD:
        code, _, err = cli("attack", *words.format(**places).split())
        assert code == 2 and named in err and "Traceback" not in err, (words, err)


def test_another_model_is_refused_by_both_hashes(cli: Run, made: Path, tmp_path: Path) -> None:
    other = models.load(made / "model")
    other.network.requires_grad_(False)
    next(other.parameters()).add_(1.0)
    models.save(other, tmp_path / "other")
    code, _, err = cli("attack", tmp_path / "other", made / "honest.parquet")
    assert code == 2
    for model in (other, models.load(made / "model")):
        assert models.weights_hash(model)[:19] in err
