"""Tables on disk: what goes in comes out, and damage is never read as data."""

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from randsmooth import bounds
from randsmooth.certificates import Certificates, Header, from_evidence, read, write_parquet, write_tsv
from randsmooth.certificates.parquet import DIGESTS, KEY
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian

Make = Callable[..., Certificates]
ARRAYS = ("idx", "label", "predict", "radius", "seconds", "counts0", "counts")
METHODS = ("gaussian", "macer", "smoothadv", "consistency", "smoothmix", "catrs", "ours")


def assert_same(a: Certificates, b: Certificates) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.header == b.header


@pytest.mark.parametrize("images", [1, 25])
def test_parquet_gives_back_every_bit(make: Make, tmp_path: Path, images: int) -> None:
    table = make(images)
    write_parquet(table, tmp_path / "deep" / "run.parquet")
    back = read(tmp_path / "deep" / "run.parquet")
    assert_same(table, back)
    assert back.name == "run"
    assert list((tmp_path / "deep").iterdir()) == [tmp_path / "deep" / "run.parquet"]


def test_an_empty_table_survives_parquet(make: Make, tmp_path: Path) -> None:
    write_parquet(make(0), tmp_path / "none.parquet")
    back = read(tmp_path / "none.parquet")
    assert len(back) == 0
    assert back.num_classes == 3


def test_tsv_keeps_the_decisions_and_rounds_radii_down(make: Make, tmp_path: Path) -> None:
    table = make(200)
    write_tsv(table, tmp_path / "run.tsv")
    back = read(tmp_path / "run.tsv")
    for name in ("idx", "label", "predict"):
        np.testing.assert_array_equal(getattr(table, name), getattr(back, name))
    np.testing.assert_allclose(back.seconds, table.seconds, rtol=0, atol=1e-6)
    assert np.all(back.radius <= table.radius)
    assert np.all(table.radius - back.radius < 1e-6)
    assert np.any(back.radius < table.radius)
    assert back.is_log and back.header.sigma is None


def test_a_radius_just_below_a_decimal_is_not_rounded_up(make: Make, tmp_path: Path) -> None:
    table = make(1)
    table.radius[:] = 0.3 - 1e-16
    write_tsv(table, tmp_path / "run.tsv")
    printed = (tmp_path / "run.tsv").read_text().splitlines()[1].split("\t")[3]
    assert Decimal(printed) <= Decimal(float(table.radius[0]))


@pytest.mark.parametrize("method", METHODS)
def test_published_logs_are_read(logs: Path, method: str) -> None:
    table = read(logs / "cifar10-sigma0.5" / f"{method}.tsv")
    assert (len(table), table.num_classes, table.name) == (10_000, 10, method)
    np.testing.assert_array_equal(table.idx, np.arange(10_000))
    assert np.all(table.radius[table.predict == -1] == 0.0)


def test_a_truncated_parquet_is_refused_at_every_length(make: Make, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.parquet", tmp_path / "cut.parquet"
    write_parquet(make(5), whole)
    content = whole.read_bytes()
    for length in range(0, len(content), 37):
        cut.write_bytes(content[:length])
        with pytest.raises(InputError, match="cut"):
            read(cut)


def test_a_truncated_log_is_refused_or_ends_at_a_line(make: Make, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.tsv", tmp_path / "cut.tsv"
    write_tsv(make(6), whole)
    content = whole.read_bytes()
    for length in range(len(content)):
        cut.write_bytes(content[:length])
        complete = content[:length].endswith(b"\n") or content[length : length + 1] == b"\n"
        try:
            rows = len(read(cut))
        except InputError as error:
            assert "cut" in str(error)
            assert not content[:length].endswith(b"\n"), "a log cut after a whole line is a shorter log"
        else:
            assert complete, f"read a log cut inside a line: ...{content[:length][-30:]!r}"
            assert rows == content[:length].decode().strip("\n").count("\n")


def header_of(path: Path) -> dict[str, object]:
    return dict(json.loads(pq.read_schema(path).metadata[b"randsmooth"]))


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Without digests, in a format that had none: what else is wrong is to be found."""
    table = change(pq.read_table(path))
    metadata = {key: value for key, value in (table.schema.metadata or {}).items() if key != DIGESTS}
    if KEY in metadata:
        metadata[KEY] = metadata[KEY].replace(b'{"version":4,', b'{"version":2,', 1)
    pq.write_table(table.replace_schema_metadata(metadata), path)


def with_column(name: str, values: list[object]) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        changed = table.set_column(table.schema.get_field_index(name), name, [values])
        return changed.replace_schema_metadata(table.schema.metadata)

    return change


def with_header(text: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.replace_schema_metadata({b"randsmooth": text.encode()})


def p_lower(path: Path) -> np.ndarray:
    return np.asarray(pq.read_table(path)["p_lower"].to_numpy())


def two_sided(**facts: object) -> Certificates:
    """p_A = .4 and .5 against many small classes, certified all the same; one clear, one torn, one missed image."""
    counts = np.array([[4000, *[1500] * 4], [5000, *[1250] * 4], [9990, 10, 0, 0, 0], [5000, 5000, 0, 0, 0], [0] * 5])
    header = Header(sigma=0.5, n0=10, n=10_000, alpha=0.001, bound="two-sided", label_aware=True)
    label = np.array([0, 0, 0, 0, 1])
    counts0 = np.tile([10, 0, 0, 0, 0], (5, 1))
    made = header.model_copy(update=facts)
    u = np.full(5, 0.3) if made.bound == "randomised" else None
    return from_evidence(made, idx=np.arange(5), label=label, counts0=counts0, counts=counts, seconds=np.ones(5), u=u)


def test_p_lower_of_the_two_sided_bound_bounds_p_a(tmp_path: Path) -> None:
    """The radius comes from p_A and the runner-up together; what it would take of p_A alone is no bound on p_A."""
    table, path = two_sided(), tmp_path / "two.parquet"
    write_parquet(table, path)
    assert table.predict.tolist() == [0, 0, 0, -1, -1]
    _, counts = table.evidence()
    expected = bounds.lower(counts[:4, 0], 10_000, 0.0005)
    assert p_lower(path)[:4] == pytest.approx(expected, abs=1e-15) and p_lower(path)[4] == 0.0
    assert p_lower(path)[0] < 0.4 and 0.49 > p_lower(path)[1] > 0.48
    runner_up = bounds.upper([1500, 1250, 10], 10_000, 0.0005)
    radius = 0.25 * (stats.norm.ppf(expected[:3]) - stats.norm.ppf(runner_up))
    assert table.radius == pytest.approx([*radius[:2], table.radius[2], 0.0, 0.0]) and radius[0] > 0.15
    assert table.radius[2] == pytest.approx(0.5 * stats.norm.ppf(expected[2]))  # two classes: 1 - p_A is the nearer


@pytest.mark.parametrize("bound", ["clopper-pearson", "randomised"])
def test_p_lower_of_the_other_bounds_is_what_the_radius_comes_from(tmp_path: Path, bound: str) -> None:
    table = two_sided(bound=bound)
    write_parquet(table, tmp_path / "a.parquet")
    held = table.predict >= 0
    assert 0 < held.sum() < len(held) and np.all((p_lower(tmp_path / "a.parquet") > 0.5) == held)
    assert table.radius[held] == pytest.approx(Gaussian(0.5).radius(1.0 - p_lower(tmp_path / "a.parquet")[held]))


def test_a_file_with_a_false_p_lower_is_read_by_its_counts(tmp_path: Path) -> None:
    table, path = two_sided(), tmp_path / "made.parquet"
    write_parquet(table, path)
    rewrite(path, with_column("p_lower", [0.681, 0.8, 0.999, 0.5, 0.5]))
    assert_same(read(path), replace(table, header=table.header.having(version=2)))


def twice(name: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.append_column(name, table[name])


DAMAGE = {
    "a count lost": (with_column("counts", [[199, 0, 0]] * 3), "sum to 199, not to 200"),
    "ragged counts": (with_column("counts", [[200], [100, 100], [0, 0, 200]]), "damaged"),
    "a row without counts": (with_column("counts", [[200, 0, 0], None, [0, 0, 200]]), "damaged"),
    "negative count": (with_column("counts", [[201, -1, 0]] * 3), "damaged|below 0"),
    "label out of range": (with_column("label", [0, 1, 9]), "label"),
    "label below 0": (with_column("label", [0, 1, -1]), "label"),
    "text for a label": (with_column("label", ["a", "b", "c"]), "damaged.*'label' holds string, not int64"),
    "a label too few": (with_column("label", [0, None, 1]), "'label' lacks a value"),
    "a count too few": (with_column("counts", [[200, None, 0]] * 3), "'counts' lacks a value"),
    "half a count": (with_column("counts", [[100.0, 100.0, 0.0]] * 3), "'counts' holds list<.*double>"),
    "two classes of three": (with_column("counts", [[200, 0]] * 3), "'counts' counts 2 classes in row 1, not 3"),
    "an image twice": (with_column("idx", [4, 1, 4]), "holds image 4 twice"),
    "an image below 0": (with_column("idx", [4, 1, -2]), "image -2 is not a position"),
    "a column twice": (twice("idx"), "'idx' is there twice"),
    "a column gone": (lambda table: table.drop_columns(["counts0"]), "counts0"),
    "no header": (lambda table: table.replace_schema_metadata({}), "its header is lost"),
    "header cut": (with_header('{"version": 1'), "damaged header"),
    "header without end": (with_header('{"version": ' + "[" * 100_000), "damaged header.*nested"),
    "header of other bytes": (
        lambda table: table.replace_schema_metadata({b"randsmooth": b'{"notes": "\xfd"}'}),
        "damaged header",
    ),
    "format of no number": (with_header('{"version": true}'), "in format True"),
    "header of a list": (with_header("[]"), "damaged header"),
    "newer format": (with_header('{"version": 99}'), "format 99"),
    "unknown key": (with_header('{"version": 1, "colour": 1}'), "damaged header"),
    "no sigma": (with_header('{"version": 1, "n": 200, "n0": 20, "alpha": 0.01}'), "sigma"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_table_is_refused(make: Make, tmp_path: Path, what: str) -> None:
    change, named = DAMAGE[what]
    path = tmp_path / "run.parquet"
    write_parquet(make(3), path)
    rewrite(path, change)
    with pytest.raises(InputError, match=named) as raised:
        read(path)
    assert str(path) in str(raised.value)


ROW = "0\t1\t1\t0.5\t1\t0:00:01.000000"
HEAD = "idx\tlabel\tpredict\tradius\tcorrect\ttime"
BAD_LOGS = {
    "empty": ("", "is empty"),
    "another table": ("a\tb\n1\t2\n", "lacks the column 'idx'"),
    "binary": ("\x00\x01\udcff", "log|column"),
    "wrong number": (f"{HEAD}\n{ROW.replace('0.5', 'far')}\n", "line 2: radius='far'"),
    "infinite": (f"{HEAD}\n{ROW.replace('0.5', 'inf')}\n", "line 2: radius='inf'"),
    "negative radius": (f"{HEAD}\n{ROW.replace('0.5', '-0.5')}\n", "line 2: radius"),
    "negative label": (f"{HEAD}\n{ROW}\n0\t-2\t-2\t0\t1\t0:00:01\n", "line 3: label=-2"),
    "half a class": (f"{HEAD}\n0\t1.5\t1.5\t0\t1\t0:00:01\n", "line 2: label='1.5'"),
    "contradiction": (f"{HEAD}\n0\t1\t1\t0.5\t0\t0:00:01\n", "line 2: correct=0 contradicts"),
    "cut row": (f"{HEAD}\n{ROW}\n1\t1\t1\n", "line 3"),
    "too long": (f"{HEAD}\n{ROW}\n{ROW}\t9\n", "not a certification log|line 3"),
}


@pytest.mark.parametrize("what", BAD_LOGS)
def test_a_bad_log_is_refused_by_line(tmp_path: Path, what: str) -> None:
    text, named = BAD_LOGS[what]
    path = tmp_path / "log.tsv"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=named):
        read(path)


def test_a_missing_file_says_what_writes_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="randsmooth certify"):
        read(tmp_path / "none.parquet")


def test_every_header_fact_is_kept(make: Make, tmp_path: Path) -> None:
    table = make(2, sigma=0.25, selection="take 500", device="cpu", precision="32", noise="philox")
    write_parquet(table, tmp_path / "a.parquet")
    assert header_of(tmp_path / "a.parquet") == json.loads(table.header.model_dump_json())
    assert read(tmp_path / "a.parquet").header == table.header
