"""`randsmooth attack`: certificates that hold, forged ones that do not, and its exit codes."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.processes import Run
from randsmooth import certify, models, read
from randsmooth.bounds import successes_of_q
from randsmooth.certificates import Certificates, from_evidence, write_parquet
from randsmooth.noise import Gaussian
from untrained import another

FORGED = (
    10**9
)  # samples of which enough agree for any radius that n = 2000 could certify, twice over

QUICK = ("--take", 3, "--steps", 10, "--m", 32, "--n", 1000)


@pytest.fixture(scope="module")
def tables(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `honest.parquet`, certificates of the model that was trained, and `forged.parquet`."""
    folder = tmp_path_factory.mktemp("attack")
    table = certify(
        made / "model", "digits", take=12, n=2000, out=folder / "honest.parquet"
    )
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
    evidence: dict[str, Any] = {
        "label": table.label,
        "counts0": counts0,
        "counts": counts,
        "seconds": table.seconds,
    }
    return from_evidence(
        table.header.model_copy(update={"n": FORGED}), idx=table.idx, **evidence
    )


def test_a_sound_table_holds(cli: Run, made: Path, tables: Path) -> None:
    code, out, err = cli("attack", made / "model", tables / "honest.parquet", *QUICK)
    assert code == 0 and all(
        line.startswith("attack honest  ") for line in err.splitlines()
    ), err
    assert "certified images attacked within 1 x their L2 radius: 3; held" in out
    assert "changed 0" in out and "no certificate failed" in out and "FAILED" not in out
    assert "PREDICT with n=1000 at alpha=0.000333 per image" in out


def test_forged_radii_exit_with_1(cli: Run, made: Path, tables: Path) -> None:
    honest, table = read(tables / "honest.parquet"), read(tables / "forged.parquet")
    certified = honest.radius > 0
    assert table.radius[certified] == pytest.approx(
        2 * honest.radius[certified], rel=1e-4
    )  # forged indeed
    code, out, _ = cli("attack", made / "model", tables / "forged.parquet", *QUICK)
    told = next(line for line in out.splitlines() if line.startswith("FAILED:"))
    rows = [line.split() for line in out.splitlines() if line.endswith(" FAILED")]
    assert code == 1 and len(rows) == int(told.split()[1]) > 0
    for image, label, claimed, radius, distance, predict, _ in rows:
        place = table.idx.tolist().index(int(image))
        assert (int(label), int(claimed)) == (table.label[place], table.predict[place])
        assert float(distance) <= float(radius) <= table.radius[place]
        assert float(distance) > honest.radius[place] and predict != claimed


def test_machines_may_read_it(cli: Run, made: Path, tables: Path) -> None:
    words = ("attack", made / "model", tables / "forged.parquet", *QUICK, "--format")
    code, out, _ = cli(*words, "json")
    answers = json.loads(out)
    assert len(answers) == 3 and (code == 1) == any(
        answer["verdict"] == "FAILED" for answer in answers
    )
    assert all(
        (answer["predict"] is None) == (answer["verdict"] == "abstained")
        for answer in answers
    )
    as_csv = list(csv.DictReader(cli(*words, "csv").out.splitlines()))
    assert [float(row["distance"]) for row in as_csv] == [
        answer["distance"] for answer in answers
    ]


BAD = {
    "{tmp}/none {table}": "none",
    "{model} {tmp}/log.tsv": "log does not say its sigma",
    "{model} {table} --scale 0": "--scale 0",
    "{model} {table} --steps 0": "--steps 0",
    "{model} {table} --take 1000": "cannot take 1000",
    "{model} {table} --dataset mnits": "mnist",
    "": "MODEL",
    "{model}": "CERTIFICATES",
}


def test_bad_input_is_named_and_exits_with_2(
    cli: Run, made: Path, tables: Path, tmp_path: Path
) -> None:
    (tmp_path / "log.tsv").write_text(
        "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.5\t1\t0:00:01.5\n"
    )
    places = {
        "model": made / "model",
        "table": tables / "honest.parquet",
        "tmp": tmp_path,
    }
    cli.refuses(
        {words.format(**places): named for words, named in BAD.items()}, "attack"
    )
    other = another(made / "model", tmp_path / "other")
    error = cli.refused("attack", tmp_path / "other", places["table"])
    assert all(
        models.weights_hash(model)[:19] in error
        for model in (other, models.load(made / "model"))
    )
