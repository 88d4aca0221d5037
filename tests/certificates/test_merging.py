"""One table of the shards of a run, and why some shards make none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates.walks import refusal, rows_of
from randsmooth.atomic import claimed
from randsmooth.certificates import Certificates, Journal, Machine, NotWhole, Shard, merge, read_parquet, write_parquet
from randsmooth.certificates.evidence import hashed_images
from randsmooth.certificates.selection import chosen_by, places_in
from randsmooth.errors import InputError, Note

Make = Callable[..., Certificates]

SELECTION = "take 12 of 36"  # of the fixture `make`, which numbers images 0, 3, 6, ...
BEHAVIOUR = {"made-up images": "m", "own images": "o"}
COMMAND = ("certify", "my model", "--take", "12")
FACTS: dict[str, Any] = {"model": {"weights": "w"}, "behaviour": BEHAVIOUR, "device": "cpu"}


def hash_of(table: Certificates) -> str:
    assert table.image is not None
    return hashed_images(table.label.astype("<i8").tobytes(), map(bytes, table.image))


@pytest.fixture
def whole(make: Make) -> Certificates:
    """The table of a single process, with the images' addresses, which it would not store."""
    table = make(12, selection=SELECTION, **FACTS)
    table = replace(table, image=np.random.default_rng(1).integers(0, 256, (12, 32), np.uint8))
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


def test_shards_cut_in_whatever_way_make_the_table_of_one_process(whole: Certificates, tmp_path: Path) -> None:
    cuts = [["1/1"], ["3/3", "1/3", "2/3"], ["1/2", "4/4", "2/4"], [f"{i}/12" for i in range(1, 13)]]
    for shards in cuts:
        table = merge(written(whole, tmp_path, *shards), out=tmp_path / "t.parquet", overwrite=True)
        assert_same_evidence(table, whole)
        read = read_parquet(tmp_path / "t.parquet")
        assert_same_evidence(read, whole)
        assert read.header.replace(machines=()) == whole.header and read.image is None  # to --resume it, to compare it


def test_the_machine_of_each_row_is_recorded(whole: Certificates, tmp_path: Path) -> None:
    paths = written(whole, tmp_path, "1/3")
    node = Machine(host="node7", device="cpu", instructions="AVX512", versions={"numpy": "2"})
    other = cut(whole, "2/3", device="gpu", machines=(node,))
    write_parquet(replace(other, machine=np.array([0, -1, 0, 0])), tmp_path / "b.parquet")
    third = cut(whole, "3/3", versions={"numpy": "3"})
    write_parquet(third, tmp_path / "c.parquet")
    table = merge([*paths, tmp_path / "b.parquet", tmp_path / "c.parquet"])
    assert table.machine is not None and table.header.device == "cpu"
    made = [table.header.machines[number] for number in table.machine]
    assert made[1] == made[7] == node and made[4].device == "gpu"
    assert made[0].versions == {"numpy": "2"} and made[2].versions == {"numpy": "3"}


def test_what_is_missing_is_named_with_the_commands_that_make_it(whole: Certificates, tmp_path: Path) -> None:
    paths = [*written(whole, tmp_path, "1/4"), begun(whole, tmp_path, "3/4", [2])]
    with pytest.raises(NotWhole) as refused:
        merge(paths)
    error = refused.value
    assert error.missing == (3, 6, 9, 15, 18, 21, 27, 33) and error.doubled == ()
    assert error.faults == (
        f"{paths[1]} is unfinished, and lacks 2 of the 3 images of shard 3/4: 6, 18",
        "none of these 2 shards is about 6 of the images: 3 to 33 in steps of 6",
        "8 of 12 images are missing, 0 are doubled",
    )
    certify = "randsmooth certify 'my model' --take 12 --shard"
    assert error.commands == (
        f"{certify} 3/4 --out {tmp_path}/t-3-of-4.parquet --resume",
        f"{certify} 2/4 --out {tmp_path}/t-2-of-4.parquet --resume",
        f"{certify} 4/4 --out {tmp_path}/t-4-of-4.parquet --resume",
    )
    assert all(command in str(error) for command in error.commands)


def test_the_rest_of_shards_cut_differently_is_cut_anew(whole: Certificates, tmp_path: Path) -> None:
    with pytest.raises(NotWhole) as refused:
        merge(written(whole, tmp_path, "1/2", "2/6"))
    assert [command.split(" --shard ")[1].split()[0] for command in refused.value.commands] == ["4/6", "6/6"]
    made = [*written(whole, tmp_path, "1/2", "2/6"), *written(whole, tmp_path, "4/6", "6/6")]
    assert_same_evidence(merge(made), whole)


def test_a_shard_without_some_of_its_rows_is_made_again(whole: Certificates, tmp_path: Path) -> None:
    paths = written(whole, tmp_path, "1/2", "2/2")
    write_parquet(cut(whole, "2/2").rows(np.array([0, 1, 3, 4, 5])), paths[1])
    with pytest.raises(NotWhole) as refused:
        merge(paths)
    assert refused.value.missing == (15,) and f"{paths[1]} lacks 1 of the 6 images of shard 2/2: 15" in str(
        refused.value
    )
    assert [command[-11:] for command in refused.value.commands] == ["--overwrite"]


def test_what_python_made_is_asked_for_in_python(whole: Certificates, tmp_path: Path) -> None:
    write_parquet(cut(whole, "1/2", command=None), tmp_path / "1-of-2.parquet")
    with pytest.raises(NotWhole) as refused:
        merge([tmp_path / "1-of-2.parquet"])
    (command,) = refused.value.commands
    assert command.startswith(f"rs.certify(..., shard='2/2', out='{tmp_path}/2-of-2.parquet', resume=True)")


def test_doubled_images_are_named_with_the_files_that_hold_them(whole: Certificates, tmp_path: Path) -> None:
    paths = written(whole, tmp_path, "1/2", "2/2", "2/4")
    with pytest.raises(NotWhole) as refused:
        merge(paths)
    error = refused.value
    assert error.doubled == (3, 15, 27) and error.missing == () and error.commands == ()
    assert f"{paths[1]} and {paths[2]} hold the same 3 images" in error.faults[0]
    assert error.faults[0].endswith("3, 15, 27")


def test_a_journal_beside_its_finished_table_does_not_count(whole: Certificates, tmp_path: Path) -> None:
    journal = begun(whole, tmp_path, "1/2", [0, 2])
    assert_same_evidence(merge([journal, *written(whole, tmp_path, "1/2", "2/2")]), whole)


def test_a_file_that_is_not_there_stands_for_its_journal(whole: Certificates, tmp_path: Path) -> None:
    journal, other = begun(whole, tmp_path, "1/2", [0, 1, 2, 3, 4, 5]), written(whole, tmp_path, "2/2")
    assert_same_evidence(merge([journal.with_suffix(""), *other]), whole)  # every row is there
    with pytest.raises(NotWhole, match=r"gone\.parquet is not there"):
        merge([journal, *other, tmp_path / "gone.parquet"])
    with pytest.raises(InputError, match=r"gone\.parquet is not there; `randsmooth certify --shard` writes shards"):
        merge([tmp_path / "gone.parquet"])


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"model": {"weights": "x"}}, "'w' in a.parquet, 'x' in b.parquet"),
    ({"n": 201}, "n: 200 in a.parquet, 201 in b.parquet"),
    ({"sigma": 0.25}, "sigma: 0.5 in a.parquet, 0.25 in b.parquet"),
    ({"seed": 8}, "seed: 7 in a.parquet, 8 in b.parquet"),
    ({"split": "train"}, "split: 'test' in a.parquet, 'train' in b.parquet"),
    ({"dataset": "mnist"}, "dataset: 'digits' in a.parquet, 'mnist' in b.parquet"),
    ({"behaviour": {"made-up images": "z", "own images": "z"}, "device": "gpu"}, "another arithmetic"),
    ({"behaviour": {"made-up images": "z", "own images": "z"}}, "another model"),
    ({"behaviour": {"made-up images": "m", "own images": "z"}}, "the images of the data set differ"),
]


def test_a_shard_of_another_run_is_refused_with_what_differs(whole: Certificates, tmp_path: Path) -> None:
    a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write_parquet(cut(whole, "1/2"), a)
    for facts, differs in OTHERS:
        other = cut(whole, "2/2", **(facts if "n" not in facts else {}))
        if "n" in facts:  # whose counts add up to it
            assert other.counts is not None
            more = other.counts + np.eye(3, dtype=np.int64)[other.counts.argmax(axis=1)]
            other = replace(other, counts=more, paths=None, q=None, header=other.header.replace(**facts))
        write_parquet(other, b)
        said = refusal(merge, [b, a])
        assert f"{b} is of another run than {a} (" in said and differs in said, (facts, said)


def test_files_that_are_no_shards(whole: Certificates, tmp_path: Path) -> None:
    write_parquet(whole, tmp_path / "whole.parquet")
    with pytest.raises(InputError, match=r"whole\.parquet is no shard: its header tells take 12 of 36"):
        merge([tmp_path / "whole.parquet"])
    write_parquet(replace(cut(whole, "1/2"), image=None), tmp_path / "bare.parquet")
    with pytest.raises(InputError, match="has lost its column 'image'"):
        merge([tmp_path / "bare.parquet"])
    (tmp_path / "empty.parquet.partial").touch()
    with pytest.raises(InputError, match="of which any image is finished"):
        merge([tmp_path / "empty.parquet.partial"])
    write_parquet(cut(whole, "1/2", data="sha256: of others"), tmp_path / "changed.parquet")
    with pytest.raises(InputError, match=r"changed\.parquet is about other images than it was begun with"):
        merge([tmp_path / "changed.parquet", *written(whole, tmp_path, "2/2")])


def test_an_output_is_not_written_over(whole: Certificates, tmp_path: Path) -> None:
    paths = written(whole, tmp_path, "1/2", "2/2")
    (tmp_path / "t.parquet").write_text("mine")
    with pytest.raises(InputError, match=r"t\.parquet exists; use overwrite=True \(--overwrite\)"):
        merge(paths, out=tmp_path / "t.parquet")
    with pytest.raises(InputError, match="is one of the shards"):
        merge(paths, out=paths[0], overwrite=True)
    with pytest.raises(InputError, match=r"must end in \.parquet"):
        merge(paths, out="t.tsv")
    merge(paths, out=tmp_path / "t.parquet", overwrite=True)
    assert len(read_parquet(tmp_path / "t.parquet")) == 12


def test_an_unfinished_run_into_the_output_is_not_lost(whole: Certificates, tmp_path: Path) -> None:
    paths, out = written(whole, tmp_path, "1/2", "2/2"), tmp_path / "t.parquet"
    journal = tmp_path / "t.parquet.partial"
    Journal.create(journal, whole.header).close()
    before = journal.read_bytes()
    with pytest.raises(InputError, match=r"t\.parquet\.partial holds the images of an unfinished run; use overwrite"):
        merge(paths, out=out)
    with claimed(tmp_path / "t.parquet"), pytest.raises(InputError, match=r"another run is writing .*t\.parquet"):
        merge(paths, out=out, overwrite=True)
    assert journal.read_bytes() == before and not out.exists()
    merge(paths, out=out, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["t.parquet", *(path.name for path in paths)])


def test_shards_at_urls_are_merged_there(whole: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
    urls = [f"memory://shards/t-{number}-of-2.parquet" for number in (1, 2)]
    write_parquet(cut(whole, "1/2"), urls[0])
    with pytest.raises(NotWhole) as refused:
        merge(urls)
    (command,) = refused.value.commands
    assert command.endswith(f"--shard 2/2 --out {urls[1]} --resume") and f"{urls[1]} is not there" in str(refused.value)
    write_parquet(cut(whole, "2/2"), urls[1])
    merge(urls, out="memory://shards/t.parquet")
    assert_same_evidence(read_parquet("memory://shards/t.parquet"), whole)
    with pytest.raises(InputError, match=r"memory://shards/t\.parquet exists"):
        merge(urls, out="memory://shards/t.parquet")


def test_tables_put_together_by_hand_are_seen(whole: Certificates, tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from randsmooth.certificates import read

    paths = written(whole, tmp_path, "1/2", "2/2")
    both = pa.concat_tables([pq.read_table(path) for path in paths], promote_options="permissive")
    first = both.replace_schema_metadata(pq.read_table(paths[0]).schema.metadata)
    pq.write_table(first, tmp_path / "arrow.parquet")
    assert "`randsmooth merge` puts shards together" in refusal(read, tmp_path / "arrow.parquet")

    pd.concat([pd.read_parquet(path) for path in paths]).to_parquet(tmp_path / "pandas.parquet")
    with pytest.raises(InputError, match=r"its header is lost.*`randsmooth merge` puts shards together"):
        read(tmp_path / "pandas.parquet")

    with pytest.warns(Note, match="a part of a run"):
        a, b = (read(path).to_pandas() for path in paths)
    frame = pd.concat([a, b])
    with pytest.raises(InputError, match="its attrs, which"):
        Certificates.from_pandas(frame)
    frame.attrs = a.attrs
    with pytest.raises(InputError, match=r"image 3 is not one of shard 1/2 of take 12 of 36.*`randsmooth merge`"):
        Certificates.from_pandas(frame)
    frame = pd.concat([a, a])
    frame.attrs = a.attrs
    with pytest.raises(InputError, match=r"the table holds image 0 twice.*`randsmooth merge`"):
        Certificates.from_pandas(frame)


def test_selections_and_shards_agree_with_what_they_stand_for() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        total = int(rng.integers(1, 90))
        if rng.random() < 0.5:
            n = int(rng.integers(1, total + 1))
            selection, positions = chosen_by(f"take {n} of {total}"), [i * total // n for i in range(n)]
        else:
            step = int(rng.integers(1, total + 3))
            selection, positions = chosen_by(f"one in {step} of {total}"), list(range(0, total, step))
        assert selection is not None and selection.tolist() == positions
        images = np.arange(total + 5)
        places = places_in(selection, images)
        assert images[places >= 0].tolist() == positions and places[positions].tolist() == list(range(len(positions)))
        of = int(rng.integers(1, len(positions) + 1))
        shard = Shard(int(rng.integers(1, of + 1)), of)
        assert images[shard.holds(places)].tolist() == list(shard.share(positions))
        assert shard.images_of(len(positions)) == len(shard.share(positions))


def test_shards_that_there_are_not() -> None:
    wrong: dict[Any, str] = {"17/16": "1/16 to 16/16", "0/16": "not one of 16", "1/0": "1/1"}
    for shard, named in (wrong | dict.fromkeys(("3", "3/16/2", "-1/4", "", 3), "NUMBER/OF")).items():
        assert named in refusal(Shard.parse, shard), shard
