"""A certification in shards: each in a file of its own, and merged into the table of a single process."""

from __future__ import annotations

from pathlib import Path

import pytest

from certification.runs import same
from cli.processes import Run
from randsmooth import read
from randsmooth.certificates import Certificates, read_parquet

NET = """
import torch

def make():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
"""
CERTIFY = ("certify", "net.py:make", "--dataset", "digits", "--sigma", "0.25", "--n", "100", "--n0", "20")


def table(path: Path | str) -> Certificates:
    """Without the note that a shard is a part."""
    return read_parquet(path)


@pytest.fixture
def net(cli: Run) -> None:
    Path("net.py").write_text(NET)


def shards(cli: Run, of: int, *words: str, numbers: list[int] | None = None) -> list[str]:
    """The files of these shards, once they are made."""
    for number in numbers or range(1, of + 1):
        result = cli(*CERTIFY, *words, "--out", "t.parquet", "--shard", f"{number}/{of}")
        assert result.code == 0 and f"t-{number}-of-{of}.parquet" in result.out, result.err
    return [f"t-{number}-of-{of}.parquet" for number in numbers or range(1, of + 1)]


@pytest.mark.usefixtures("net")
def test_merged_shards_are_the_table_of_one_run(cli: Run) -> None:
    assert cli(*CERTIFY, "--take", "10", "--out", "one.parquet").code == 0
    files = shards(cli, 3, "--take", "10")
    result = cli("merge", *files)  # into the file that their names tell
    assert result.code == 0 and "certificates in t.parquet" in result.out, result.err
    one, merged = table("one.parquet"), table("t.parquet")
    assert merged.header.machines and merged.machine is not None
    plain = Certificates(**{**vars(merged), "header": merged.header.replace(machines=()), "machine": None})
    assert same(one, plain)  # every count, and every fact of the header
    before = Path("t.parquet").read_bytes()
    result = cli(*CERTIFY, "--take", "10", "--out", "t.parquet", "--resume")
    assert result.code == 0 and Path("t.parquet").read_bytes() == before
    result = cli(*CERTIFY, "--take", "11", "--out", "t.parquet", "--resume")
    assert result.code == 2 and "'take 10 of 364' in the file" in result.err


@pytest.mark.usefixtures("net")
def test_a_shard_alone_says_that_it_is_a_part(cli: Run) -> None:
    (file,) = shards(cli, 3, "--take", "10", numbers=[2])
    result = cli("evaluate", file)
    assert result.code == 0 and "t-2-of-3" in result.out
    assert f"note: {file} is a part of a run: shard 2/3 of take 10 of 364, 3 images. `randsmooth merge`" in result.err
    result = cli("verify", file)
    assert result.code == 0 and "shard 2/3 of take 10 of 364: 3 images of digits" in result.out
    header = table(file).header
    assert header.selection == "take 10 of 364" and header.shard == "2/3"
    made_by = "certify net.py:make --sigma 0.25 --n0 20 --n 100 --dataset digits --take 10"
    assert header.command == tuple(made_by.split())


@pytest.mark.usefixtures("net")
def test_the_commands_that_are_printed_make_what_is_missing(cli: Run) -> None:
    shards(cli, 4, "--take", "10", numbers=[1, 3])
    result = cli("merge", "t-1-of-4.parquet", "t-3-of-4.parquet")
    assert result.code == 2 and "5 of 10 images are missing, 0 are doubled" in result.err
    assert not Path("t.parquet").exists()
    commands = result.out.splitlines()
    assert len(commands) == 2 and all(command.startswith("randsmooth certify net.py:make ") for command in commands)
    for command in commands:
        assert cli(*command.split()[1:]).code == 0
    assert cli("merge", *(f"t-{number}-of-4.parquet" for number in range(1, 5))).code == 0
    assert len(read("t.parquet")) == 10


@pytest.mark.usefixtures("net")
def test_shards_that_cannot_be_made(cli: Run) -> None:
    for shard, named in [
        ("17/16", "shard='17/16' is not one of 16: number them from 1/16 to 16/16"),
        ("0/16", "is not one of 16"),
        ("3", "must read NUMBER/OF, such as 3/16"),
        ("11/11", "shard='11/11' cuts 10 images into 11 shares: there are at most as many shares as images"),
    ]:
        result = cli(*CERTIFY, "--take", "10", "--shard", shard)
        assert result.code == 2 and named in result.err and result.out == "", shard
    assert not list(Path().glob("*.parquet*"))
    shards(cli, 2, "--take", "10", numbers=[1])
    result = cli(*CERTIFY, "--take", "10", "--out", "t.parquet", "--shard", "1/2")
    assert result.code == 2 and "t-1-of-2.parquet exists. To go on with it" in result.err
    Path("t-1-of-2.parquet").rename("t-2-of-2.parquet")
    result = cli(*CERTIFY, "--take", "10", "--out", "t.parquet", "--shard", "2/2", "--resume")
    assert result.code == 2 and "shard: '1/2' in the file, '2/2' asked for" in result.err
    assert "shard: '1/2' in the file, '2/2' asked for" in result.err


@pytest.mark.usefixtures("net")
def test_shards_that_cannot_be_merged(cli: Run) -> None:
    shards(cli, 2, "--take", "10")
    assert cli(*CERTIFY, "--take", "10", "--seed", "1", "--out", "u.parquet", "--shard", "2/2").code == 0
    result = cli("merge", "t-1-of-2.parquet", "u-2-of-2.parquet", "--out", "v.parquet")
    assert result.code == 2 and "u-2-of-2.parquet is of another run than t-1-of-2.parquet (seed: 0 in" in result.err
    result = cli("merge", "t-1-of-2.parquet", "u-2-of-2.parquet")
    assert result.code == 2 and "do not say what the whole is called: give --out" in result.err
    result = cli("merge", "gone-1-of-2.parquet")
    assert result.code == 2 and "gone-1-of-2.parquet is not there" in result.err
    assert cli("merge", "t-1-of-2.parquet", "t-2-of-2.parquet").code == 0
    result = cli("merge", "t-1-of-2.parquet", "t-2-of-2.parquet")
    assert result.code == 2 and "t.parquet exists; use overwrite=True (--overwrite)" in result.err
    assert cli("merge", "t-1-of-2.parquet", "t-2-of-2.parquet", "--overwrite").code == 0
    result = cli("merge", "t.parquet", "t-2-of-2.parquet", "--out", "v.parquet")
    assert result.code == 2 and "t.parquet is no shard: its header tells take 10 of 364" in result.err


@pytest.mark.slow
@pytest.mark.usefixtures("net")
def test_sixteen_shards_are_the_table_of_one_run_by_each_rule(cli: Run) -> None:
    cases: list[str] = ["fixed", "grid", "dense=1"]
    for rule in cases:
        words = ("--take", "40", "--rule", rule, "--n", "2000")
        assert cli(*CERTIFY, *words, "--out", "one.parquet", "--overwrite").code == 0
        assert cli("merge", *shards(cli, 16, *words, "--overwrite"), "--overwrite").code == 0
        one, merged = table("one.parquet"), table("t.parquet")
        plain = Certificates(**{**vars(merged), "header": merged.header.replace(machines=()), "machine": None})
        assert same(one, plain)


@pytest.mark.usefixtures("net")
def test_workers_and_a_shard_are_two_ways_to_share_out(cli: Run) -> None:
    result = cli(*CERTIFY, "--take", "10", "--workers", "2", "--shard", "1/2", "--out", "t.parquet")
    assert result.code == 2 and "--shard 1/2" in result.err and "leave out one of them" in result.err
    assert not [*Path().glob("t*")]
