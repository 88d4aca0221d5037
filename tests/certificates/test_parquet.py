"""Tables on disk: what goes in comes out, to the last bit, and damage is never read as data.

And a rule that another package brings: judged, stored and read like ours, and missed by name where it is absent.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from certificates.walks import HEADER, RULES, same, table_of
from models.refusing import problem_of, refusal
from openness.plugin import SOURCE, announce, forget_packages
from randsmooth import bounds, metrics
from randsmooth.certificates import (
    Certificates,
    Header,
    Machine,
    check_file,
    from_evidence,
    parquet_file,
    read,
    write_parquet,
)
from randsmooth.certificates.evidence import COLUMNS
from randsmooth.certificates.header import parse_header
from randsmooth.certificates.parquet_file import DIGESTS, KEY, digests
from randsmooth.errors import Problem, WrongFile
from randsmooth.noise import Gaussian
from randsmooth.notes import Note
from randsmooth.rules import make_rule
from values import Refusal

Make = Callable[..., Certificates]

NODE = Machine(
    host="node7", device="cpu", instructions="AVX2", versions={"torch": "2.10.0"}
)
NODES = (NODE, NODE.replace(host="node8"))


def shared(make: Make) -> Certificates:
    """Five rows, of which three machines made some."""
    table = make(5)
    images = np.arange(5 * 32, dtype=np.uint8).reshape(5, 32)
    return replace(
        table,
        header=table.header.replace(machines=NODES),
        machine=np.array([-1, 1, 0, 1, 1]),
        image=images,
    )


def test_parquet_gives_back_every_bit(make: Make, tmp_path: Path) -> None:
    tables = [make(images) for images in (0, 1, 25)]
    tables += [
        make(
            2,
            sigma=0.25,
            selection="take 500",
            device="cpu",
            precision="32",
            drawn_by="philox",
        ),
        shared(make),
    ]
    for rule in RULES:
        tables += [
            table_of(HEADER.replace(rule=rule, **facts))
            for facts in ({}, {"label_aware": True})
        ]
        tables.append(table_of(HEADER.replace(rule=rule, n0=0, label_aware=True)))
    tables += [
        table_of(HEADER.replace(n0=0, bound="any-class", rule=rule))
        for rule in ("fixed", "radius=0.5")
    ]
    tables += [
        table_of(HEADER.replace(bound=bound)) for bound in ("two-sided", "randomised")
    ]
    for number, table in enumerate(tables):
        path = tmp_path / str(number) / "run.parquet"
        with warnings.catch_warnings(action="error"):
            write_parquet(table, path)
            back = read(path)
        assert same(back, table) and back.name == "run", table
        assert list(path.parent.iterdir()) == [path]
        assert json.loads(pq.read_schema(path).metadata[KEY]) == json.loads(
            table.header.model_dump_json()
        )


@pytest.mark.slow
def test_no_flipped_bit_changes_what_is_read(make: Make, tmp_path: Path) -> None:
    path, table = tmp_path / "a.parquet", make(25)
    write_parquet(table, path)
    content = bytearray(path.read_bytes())
    assert 8 * len(content) > 50_000
    with warnings.catch_warnings(action="ignore", category=Note):
        for bit in range(8 * len(content)):
            content[bit // 8] ^= 1 << bit % 8
            path.write_bytes(content)
            content[bit // 8] ^= 1 << bit % 8
            try:
                assert same(read(path), table), bit
            except Problem as error:
                assert str(path) in str(error)


def test_a_truncated_file_is_refused_at_every_length(
    make: Make, tmp_path: Path
) -> None:
    whole, cut = tmp_path / "whole.parquet", tmp_path / "cut.parquet"
    write_parquet(make(5), whole)
    content = whole.read_bytes()
    for length in range(0, len(content), 37):
        cut.write_bytes(content[:length])
        Refusal(WrongFile, "cut").check(problem_of(read, cut))
    Refusal(WrongFile, "whole.parquet").check(
        problem_of(read, tmp_path / "whol.parquet")
    )
    Refusal(WrongFile).check(problem_of(read, tmp_path / "nowhere" / "none.parquet"))


def rewrite(
    path: Path, change: Callable[[pa.Table], pa.Table], *, sign: bool = True
) -> None:
    """The file with a changed table; `sign`: with digests of what it holds now, so that what else is wrong is found."""
    arrow = pq.read_table(path)
    metadata, arrow = dict(arrow.schema.metadata), change(arrow)
    pq.write_table(arrow.replace_schema_metadata(metadata), path)
    if sign:
        header = Header.from_facts(json.loads(metadata[KEY]))
        try:
            with parquet_file.open_parquet(path) as file:
                parts = parquet_file.parts_in(file, path, COLUMNS, header.count_columns)
        except Problem:
            return
        metadata[DIGESTS] = digests(metadata[KEY], parts)
        pq.write_table(arrow.replace_schema_metadata(metadata), path)


def with_column(name: str, values: list[object]) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(
        table.schema.get_field_index(name), name, [values]
    )


DAMAGE = {
    "a count lost": (
        with_column("counts", [[199, 0, 0]] * 3),
        "image 0 has counts [199, 0, 0], not of sum 200",
    ),
    "ragged counts": (
        with_column("counts", [[200], [100, 100], [0, 0, 200]]),
        "'counts0' counts 3 classes in row 1",
    ),
    "negative count": (with_column("counts", [[201, -1, 0]] * 3), "[201, -1, 0]"),
    "label out of range": (with_column("label", [0, 1, 9]), "label 9"),
    "text for a label": (
        with_column("label", ["a", "b", "c"]),
        "'label' holds string, not int64",
    ),
    "a label too few": (with_column("label", [0, None, 1]), "'label' lacks a value"),
    "an image twice": (with_column("idx", [4, 1, 4]), "image 4 twice"),
    "a column twice": (
        lambda table: table.append_column("idx", table["idx"]),
        "'idx' holds int64 and int64",
    ),
    "a column gone": (
        lambda table: table.drop_columns(["counts0"]),
        "'counts0' holds nothing",
    ),
    "paths gone": (lambda table: table.drop_columns(["path"]), "'path' holds nothing"),
}


def test_a_damaged_table_is_refused(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    for what, (change, named) in DAMAGE.items():
        write_parquet(make(3), path)
        rewrite(path, change)
        said = refusal(read, path)
        assert named in said and str(path) in said, (what, said)


def test_changed_columns_headers_and_digests_are_named(
    make: Make, tmp_path: Path
) -> None:
    """Of a changed column every row has the values of the one before, so that every sum is right."""
    path, table = tmp_path / "a.parquet", make(25)
    for name in ("idx", "label", "counts0", "counts", "path", "seconds"):
        write_parquet(table, path)
        values = pq.read_table(path)[name].to_pylist()
        rewrite(path, with_column(name, [values[-1], *values[:-1]]), sign=False)
        said = refusal(read, path)
        assert (
            f"is its {name}. Take another copy" in said
            and "a.parquet is damaged" in said
        ), name
    header, stored = KEY, DIGESTS
    for metadata, named in [
        (
            {
                header: pq.read_metadata(path)
                .metadata[KEY]
                .replace(b'"seed":7', b'"seed":8')
            },
            Refusal(WrongFile),
        ),
        ({stored: b""}, Refusal(WrongFile)),
        ({stored: b"header 00"}, Refusal(WrongFile)),
        ({stored: b"\xff" * 40}, Refusal(WrongFile)),
    ]:
        write_parquet(table, path)
        arrow = pq.read_table(path)
        pq.write_table(
            arrow.replace_schema_metadata(arrow.schema.metadata | metadata), path
        )
        named.check(problem_of(read, path))
    write_parquet(make(25, seed=1), tmp_path / "theirs.parquet")
    theirs = pq.read_table(tmp_path / "theirs.parquet")
    pq.write_table(
        theirs.replace_schema_metadata(pq.read_table(path).schema.metadata), path
    )
    Refusal(WrongFile, "counts0, counts, path, seconds").check(
        problem_of(read, path)
    )  # rows of another table under this header


def test_columns_for_people_are_looked_at_only_where_they_hold_numbers(
    make: Make, tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(make(3), path)
    rewrite(path, with_column("radius", ["x" * 10**6] * 3), sign=False)
    assert read(path).radius.shape == (3,)
    Refusal(WrongFile, "'radius'").check(problem_of(check_file, path))


def test_a_table_that_lost_its_header_is_no_foreign_file(
    make: Make, tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    for metadata in ({}, {DIGESTS: b"{}"}, {b"randsmootj": b"{}"}):
        write_parquet(make(5), path)
        pq.write_table(pq.read_table(path).replace_schema_metadata(metadata), path)
        Refusal(WrongFile, "a.parquet").check(problem_of(read, path))


def test_a_table_beyond_all_use_is_neither_written_nor_read(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    assert (
        "image 3 twice"
        in refusal(write_parquet, make(5).rows(np.array([0, 1, 1])), path)
        and not path.exists()
    )
    for limit, most in (
        ("MOST_ROWS", 24),
        ("MOST_VALUES", 74),
    ):  # 25 images in three classes
        with monkeypatch.context() as patch:
            patch.setattr(parquet_file, limit, most + 1)
            write_parquet(make(25), path)
            assert len(read(path)) == 25
            patch.setattr(parquet_file, limit, most)
            said = refusal(read, path), refusal(write_parquet, make(25), path)
            assert all("25 rows with 75" in each for each in said)


def p_lower(path: Path) -> np.ndarray:
    return np.asarray(pq.read_table(path)["p_lower"].to_numpy())


def judged(bound: str) -> Certificates:
    """p_A = .4 and .5 against many small classes, certified all the same; one clear, one torn, one missed image."""
    counts = np.array(
        [
            [4000, *[1500] * 4],
            [5000, *[1250] * 4],
            [9990, 10, 0, 0, 0],
            [5000, 5000, 0, 0, 0],
            [0] * 5,
        ]
    )
    header = Header(
        sigma=0.5, n0=10, n=10_000, alpha=0.001, bound=bound, label_aware=True
    )
    label, counts0 = np.array([0, 0, 0, 0, 1]), np.tile([10, 0, 0, 0, 0], (5, 1))
    u = np.full(5, 0.3) if bound == "randomised" else None
    return from_evidence(
        header,
        idx=np.arange(5),
        label=label,
        counts0=counts0,
        counts=counts,
        seconds=np.ones(5),
        u=u,
    )


def test_p_lower_of_the_two_sided_bound_bounds_p_a(tmp_path: Path) -> None:
    """The radius comes from p_A and the runner-up together; what it would take of p_A alone is no bound on p_A."""
    table, path = judged("two-sided"), tmp_path / "two.parquet"
    write_parquet(table, path)
    assert table.predict.tolist() == [0, 0, 0, -1, -1]
    expected = bounds.lower(table.evidence()[1][:4, 0], 10_000, 0.0005)
    assert (
        p_lower(path)[:4] == pytest.approx(expected, abs=1e-15)
        and p_lower(path)[4] == 0.0
    )
    assert p_lower(path)[0] < 0.4 and 0.49 > p_lower(path)[1] > 0.48
    runner_up = bounds.upper([1500, 1250, 10], 10_000, 0.0005)
    radius = 0.25 * (stats.norm.ppf(expected[:3]) - stats.norm.ppf(runner_up))
    assert (
        table.radius == pytest.approx([*radius[:2], table.radius[2], 0.0, 0.0])
        and radius[0] > 0.15
    )
    assert table.radius[2] == pytest.approx(
        0.5 * stats.norm.ppf(expected[2])
    )  # two classes: 1 - p_A is the nearer
    rewrite(
        path, with_column("p_lower", [0.681, 0.8, 0.999, 0.5, 0.5])
    )  # which is not read
    assert same(read(path), table)


def test_p_lower_of_the_other_bounds_is_what_the_radius_comes_from(
    tmp_path: Path,
) -> None:
    for bound in ("clopper-pearson", "randomised"):
        table = judged(bound)
        write_parquet(table, tmp_path / "a.parquet")
        held = table.predict >= 0
        assert 0 < held.sum() < len(held) and np.all(
            (p_lower(tmp_path / "a.parquet") > 0.5) == held
        ), bound
        assert table.radius[held] == pytest.approx(
            Gaussian(0.5).radius(1.0 - p_lower(tmp_path / "a.parquet")[held])
        )


def forget() -> None:
    forget_packages()
    make_rule.cache_clear()


@pytest.fixture
def announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    announce(tmp_path / "site")
    monkeypatch.syspath_prepend(SOURCE)
    monkeypatch.syspath_prepend(tmp_path / "site")
    forget()
    yield
    forget()


def header(**facts: Any) -> Any:
    return HEADER.replace(rule="halves=0.25", **facts)


@pytest.mark.usefixtures("announced")
def test_it_is_judged_stored_and_compared_like_ours(tmp_path: Path) -> None:
    made = make_rule("halves=0.25", noise=Gaussian(0.5), n=2000, alpha=0.05)
    assert (
        made.next_look([]) == 500
        and made.farthest == made.claim([500, 2000]).radius
        and made.asked_radii is None
    )
    table = table_of(header(guarantee=made.guarantee()))
    write_parquet(table, tmp_path / "halves.parquet")
    back = read(tmp_path / "halves.parquet")
    assert (
        back.rule == made
        and np.array_equal(back.radius, table.radius)
        and back.radius.max() > 0
    )
    assert (
        back.header.guarantee == made.guarantee()
        and metrics.farthest(back) == made.farthest
    )
    assert metrics.compare([(back, table)])[0].images == len(table)


def test_a_table_without_its_package_names_the_rule(
    announced: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parquet(table_of(header()), tmp_path / "halves.parquet")
    monkeypatch.undo()
    forget()
    said = refusal(lambda: read(tmp_path / "halves.parquet"))
    assert (
        "rule 'halves' is not installed: install the package" in said
        and "damaged" not in said
    )


def test_a_table_of_a_noise_that_is_not_installed_is_not_called_damaged() -> None:
    text = '{"version": 1, "distribution": {"name": "square", "lam": 1.0}, "n0": 100, "n": 1000, "alpha": 0.001}'
    said = refusal(lambda: parse_header(text, Path("a.parquet")))
    assert (
        said.startswith("a.parquet: noise 'square' ")
        and "install the package" in said
        and "damaged" not in said
    )
