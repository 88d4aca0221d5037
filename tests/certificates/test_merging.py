"""One table of the shards of a run, and why some shards make none."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from certificates.walks import rows_of
from models.refusing import problem_of, refusal
from randsmooth.atomic import claimed
from randsmooth.certificates import (
    Certificates,
    Journal,
    Machine,
    NotWhole,
    merge,
    read,
    read_parquet,
    write_parquet,
)
from randsmooth.certificates.rows import hashed_images
from randsmooth.certificates.selection import (
    Shard,
    check_belong,
    chosen_by,
    images_planned,
)
from randsmooth.errors import (
    OVERWRITE,
    RESUME,
    BadValue,
    Busy,
    MissingValue,
    NotFound,
    OutputExists,
    SeveralProblems,
    WrongTable,
)
from values import Refusal, refused

Make = Callable[..., Certificates]

SELECTION = "take 12 of 36"  # of the fixture `make`, which numbers images 0, 3, 6, ...
BEHAVIOUR = {"made-up images": "m", "own images": "o"}
COMMAND = ("certify", "my model", "--take", "12")
FACTS: dict[str, Any] = {
    "model": {"weights": "w"},
    "behaviour": BEHAVIOUR,
    "device": "cpu",
}


def hash_of(table: Certificates) -> str:
    assert table.image is not None
    return hashed_images(table.label, map(bytes, table.image))


@pytest.fixture
def whole(make: Make) -> Certificates:
    """The table of a single process, with the images' addresses, which it would not store."""
    table = make(12, selection=SELECTION, **FACTS)
    table = replace(
        table, image=np.random.default_rng(1).integers(0, 256, (12, 32), np.uint8)
    )
    return replace(table, header=table.header.replace(data=hash_of(table)))


def cut(whole: Certificates, shard: str, **facts: Any) -> Certificates:
    """What a process that was asked for `shard` would have made."""
    rows = whole.rows(np.array(Shard.parse(shard).share(range(len(whole)))))
    told: dict[str, Any] = {"shard": shard, "command": COMMAND, "data": hash_of(rows)}
    return replace(rows, header=rows.header.replace(**(told | facts)))


def file_of(shard: str, folder: Path) -> Path:
    return Path(Shard.parse(shard).file(folder / "t.parquet"))


def written(whole: Certificates, folder: Path, *shards: str) -> list[Path]:
    paths = []
    for shard in shards:
        paths.append(file_of(shard, folder))
        write_parquet(cut(whole, shard), paths[-1])
    return paths


def begun(whole: Certificates, folder: Path, shard: str, rows: Sequence[int]) -> Path:
    """The journal of a shard of which these rows are finished, in this order."""
    part = cut(whole, shard)
    path = file_of(shard, folder)
    path = path.with_name(path.name + ".partial")
    assert part.image is not None
    with Journal.create(path, part.header) as journal:
        for row in rows:
            journal.append(replace(rows_of(part)[row], image=part.image[row].tobytes()))
    return path


def assert_same_evidence(a: Certificates, b: Certificates) -> None:
    for name in ("idx", "label", "predict", "radius", "seconds", "counts0", "counts"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_shards_make_the_table_of_one_process(
    whole: Certificates, tmp_path: Path
) -> None:
    cuts = [["1/1"], ["3/3", "1/3", "2/3"], [f"{i}/12" for i in range(1, 13)]]
    for shards in cuts:
        table = merge(
            written(whole, tmp_path, *shards),
            out=tmp_path / "t.parquet",
            overwrite=True,
        )
        assert_same_evidence(table, whole)
        read = read_parquet(tmp_path / "t.parquet")
        assert_same_evidence(read, whole)
        assert (
            read.header.replace(machines=()) == whole.header and read.image is None
        )  # to --resume it, to compare it


def test_the_machine_of_each_row_is_recorded(
    whole: Certificates, tmp_path: Path
) -> None:
    paths = [
        *written(whole, tmp_path, "1/3"),
        tmp_path / "b.parquet",
        tmp_path / "c.parquet",
    ]
    node = Machine(
        host="node7", device="cpu", instructions="AVX512", versions={"numpy": "2"}
    )
    other = cut(whole, "2/3", device="gpu", machines=(node,))
    write_parquet(replace(other, machine=np.array([0, -1, 0, 0])), paths[1])
    write_parquet(cut(whole, "3/3", versions={"numpy": "3"}), paths[2])
    table = merge(paths)
    assert table.machine is not None and table.header.device == "cpu"
    made = [table.header.machines[number] for number in table.machine]
    assert made[1] == made[7] == node and made[4].device == "gpu"
    assert made[0].versions == {"numpy": "2"} and made[2].versions == {"numpy": "3"}


def not_whole(shards: Sequence[Path | str]) -> NotWhole:
    with pytest.raises(NotWhole) as refused:
        merge(shards)
    return refused.value


def test_what_is_missing_is_named_with_the_commands_that_make_it(
    whole: Certificates, tmp_path: Path
) -> None:
    paths = [*written(whole, tmp_path, "1/4"), begun(whole, tmp_path, "3/4", [2])]
    error = not_whole(paths)
    assert error.missing == (3, 6, 9, 15, 18, 21, 27, 33)
    *nowhere, unfinished, total = error.faults
    assert (
        unfinished.startswith(f"{paths[1]} is unfinished, and lacks 2 images")
        and "6, 18" in unfinished
    )
    assert ["shard 2/4" in nowhere[0], "shard 4/4" in nowhere[1]] == [
        True,
        True,
    ] and "8 of 12 images are missing" in total
    assert error.command == ("certify", "my model", "--take", "12")
    assert [
        (str(to_make.shard), to_make.out, to_make.how) for to_make in error.to_make
    ] == [(k, file_of(k, tmp_path), RESUME) for k in ("2/4", "4/4", "3/4")]


def test_a_shard_without_some_of_its_rows_is_made_again(
    whole: Certificates, tmp_path: Path
) -> None:
    paths = written(whole, tmp_path, "1/2", "2/2")
    write_parquet(cut(whole, "2/2").rows(np.array([0, 1, 3, 4, 5])), paths[1])
    error = not_whole(paths)
    assert (
        error.missing == (15,)
        and str(paths[1]) in error.faults[0]
        and "15" in error.faults[0]
    )
    assert [to_make.how for to_make in error.to_make] == [OVERWRITE]
    write_parquet(cut(whole, "1/2", command=None), paths[0])
    made_by_python = not_whole(paths[:1])
    assert made_by_python.command is None
    (to_make,) = made_by_python.to_make
    assert (str(to_make.shard), to_make.out, to_make.how) == ("2/2", paths[1], RESUME)


def test_shards_of_another_cut_or_given_twice_are_refused(
    whole: Certificates, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.parquet"
    paths = written(whole, tmp_path, "1/2", "2/2", "2/4")
    copy.write_bytes(paths[1].read_bytes())
    for odd in (paths[2], copy):
        said = refusal(merge, [*paths[:2], odd])
        assert "of one cut once" in said and ("copy.parquet" in said or "2/4" in said)


def test_a_journal_stands_for_its_table_and_counts_beside_none(
    whole: Certificates, tmp_path: Path
) -> None:
    journal, other = (
        begun(whole, tmp_path, "1/2", [0, 1, 2, 3, 4, 5]),
        written(whole, tmp_path, "2/2"),
    )
    assert_same_evidence(
        merge([journal.with_suffix(""), *other]), whole
    )  # every row is there
    gone = tmp_path / "gone.parquet"
    assert "gone.parquet is not there" in str(not_whole([journal, *other, gone]))
    with refused(NotFound, file=gone):
        merge([gone])
    begun(whole, tmp_path, "1/2", [0, 2])
    assert_same_evidence(
        merge([journal, *written(whole, tmp_path, "1/2", "2/2")]), whole
    )


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"model": {"weights": "x"}}, "'w' in a.parquet, 'x' in b.parquet"),
    ({"seed": 8}, "seed: 7 in a.parquet, 8 in b.parquet"),
    ({"dataset": "mnist"}, "dataset: 'digits' in a.parquet, 'mnist' in b.parquet"),
    (
        {"behaviour": {"made-up images": "z", "own images": "z"}, "device": "gpu"},
        "another arithmetic",
    ),
    ({"behaviour": {"made-up images": "z", "own images": "z"}}, "another model"),
    (
        {"behaviour": {"made-up images": "m", "own images": "z"}},
        "outputs differ",
    ),
]


def test_a_shard_of_another_run_is_refused_with_what_differs(
    whole: Certificates, tmp_path: Path
) -> None:
    a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write_parquet(cut(whole, "1/2"), a)
    for facts, differs in OTHERS:
        write_parquet(cut(whole, "2/2", **facts), b)
        said = refusal(merge, [b, a])
        assert f"{b} is of another run than {a} (" in said and differs in said, (
            facts,
            said,
        )


def test_files_that_are_no_shards(whole: Certificates, tmp_path: Path) -> None:
    other = replace(
        whole, idx=whole.idx + 1, header=whole.header.replace(selection="3 by hand")
    )
    cases: list[tuple[Certificates, dict[str, Any], Refusal]] = [
        (whole, {}, Refusal(SeveralProblems, "12", "36")),
        (
            replace(cut(whole, "1/2"), image=None),
            {},
            Refusal(SeveralProblems, "'image'"),
        ),
        (
            cut(whole, "1/2", data="sha256: of others"),
            {},
            Refusal(SeveralProblems),
        ),
        (
            cut(other, "1/1"),
            {"images": whole.idx.tolist()},
            Refusal(SeveralProblems, "12"),
        ),
    ]
    for table, facts, named in cases:
        write_parquet(table, tmp_path / "a.parquet")
        named.check(
            problem_of(
                merge,
                [tmp_path / "a.parquet", *written(whole, tmp_path, "2/2")],
                **facts,
            )
        )
    (tmp_path / "empty.parquet.partial").touch()
    Refusal(MissingValue, field="shards").check(
        problem_of(merge, [tmp_path / "empty.parquet.partial"])
    )


def test_an_output_is_not_written_over_nor_an_unfinished_run_lost(
    whole: Certificates, tmp_path: Path
) -> None:
    paths, out = written(whole, tmp_path, "1/2", "2/2"), tmp_path / "t.parquet"
    out.write_text("mine")
    Refusal(OutputExists, "t.parquet", "overwrite=True").check(
        problem_of(merge, paths, out=out)
    )
    Refusal(OutputExists).check(problem_of(merge, paths, out=paths[0], overwrite=True))
    Refusal(BadValue).check(problem_of(merge, paths, out="t.tsv"))
    out.unlink()
    journal = tmp_path / "t.parquet.partial"
    Journal.create(journal, whole.header).close()
    before = journal.read_bytes()
    Refusal(OutputExists).check(problem_of(merge, paths, out=out))
    with claimed(out):
        Refusal(Busy).check(problem_of(merge, paths, out=out, overwrite=True))
    assert journal.read_bytes() == before and not out.exists()
    merge(paths, out=out, overwrite=True)
    assert len(read_parquet(out)) == 12 and not journal.exists()


def test_shards_at_urls_are_merged_there(
    whole: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
    urls = [f"memory://shards/t-{number}-of-2.parquet" for number in (1, 2)]
    write_parquet(cut(whole, "1/2"), urls[0])
    error = not_whole(urls)
    (to_make,) = error.to_make
    assert (str(to_make.shard), str(to_make.out)) == ("2/2", urls[1])
    assert f"{urls[1]} is not there" in str(error)
    write_parquet(cut(whole, "2/2"), urls[1])
    merge(urls, out="memory://shards/t.parquet")
    assert_same_evidence(read_parquet("memory://shards/t.parquet"), whole)
    Refusal(OutputExists, "shards/t.parquet").check(
        problem_of(merge, urls, out="memory://shards/t.parquet")
    )


def test_a_journal_at_a_url_says_what_is_missing(
    whole: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
    finished = "memory://uploads/t-1-of-2.parquet"
    unfinished = "memory://uploads/t-2-of-2.parquet.partial"
    write_parquet(cut(whole, "1/2"), finished)
    journal = begun(whole, tmp_path, "2/2", [0])
    fsspec.filesystem("memory").pipe(
        "/uploads/t-2-of-2.parquet.partial", journal.read_bytes()
    )
    error = not_whole([finished, unfinished])
    (to_make,) = error.to_make
    assert str(to_make.out) == unfinished.removesuffix(".partial")
    assert len(error.missing) == len(cut(whole, "2/2")) - 1


def test_tables_put_together_by_hand_are_seen(
    whole: Certificates, tmp_path: Path
) -> None:
    paths, way_out = (
        written(whole, tmp_path, "1/2", "2/2"),
        "`randsmooth merge` puts shards together",
    )
    both = pa.concat_tables(
        [pq.read_table(path) for path in paths], promote_options="permissive"
    )
    first = both.replace_schema_metadata(pq.read_table(paths[0]).schema.metadata)
    pq.write_table(first, tmp_path / "arrow.parquet")
    pd.concat([pd.read_parquet(path) for path in paths]).to_parquet(
        tmp_path / "pandas.parquet"
    )
    assert all(
        way_out in refusal(read, tmp_path / f"{name}.parquet")
        for name in ("arrow", "pandas")
    )


def test_selections_and_shards_agree_with_what_they_stand_for() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        total = int(rng.integers(1, 90))
        n, step = int(rng.integers(1, total + 1)), int(rng.integers(1, total + 3))
        for words, positions in (
            (f"take {n} of {total}", [i * total // n for i in range(n)]),
            (f"one in {step} of {total}", list(range(0, total, step))),
            (f"all {total}", list(range(total))),
        ):
            chosen, images = chosen_by(words), np.arange(total + 5)
            assert chosen is not None and chosen.tolist() == positions, words
            of = int(rng.integers(1, len(positions) + 1))
            shard = Shard(int(rng.integers(1, of + 1)), of)
            check_belong(words, str(shard), mine := np.array(shard.share(positions)))
            others = np.setdiff1d(images, mine)
            Refusal(WrongTable, str(others[0])).check(
                problem_of(check_belong, words, str(shard), others)
            )
            assert images_planned(words, str(shard)) == len(shard.share(positions)), (
                words,
                shard,
            )
    for odd in (
        "one in 0 of 10",
        "take 5 of 4",
        "all 0",
        f"all {10**17}",
        "the two best",
        None,
    ):
        assert chosen_by(odd) is None and images_planned(odd, None) is None, odd
    wrong: tuple[Any, ...] = ("17/16", "0/16", "1/0", "3", "3/16/2", "-1/4", "", 3)
    for text in wrong:
        with pytest.raises(BadValue) as refused:
            Shard.parse(text)
        assert (refused.value.field, refused.value.value) == ("shard", text)
