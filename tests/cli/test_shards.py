"""A certification in shards: each in a file of its own, and merged into the table of a single process."""

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
CERTIFY = (
    "certify",
    "net.py:make",
    "--dataset",
    "digits",
    "--sigma",
    "0.25",
    "--n",
    "100",
    "--n0",
    "20",
)


def table(path: Path | str) -> Certificates:
    """Without the note that a shard is a part."""
    return read_parquet(path)


@pytest.fixture(autouse=True)
def net(cli: Run) -> None:
    Path("net.py").write_text(NET)


def shards(
    cli: Run, of: int, *words: str, numbers: list[int] | None = None
) -> list[str]:
    """The files of these shards, once they are made."""
    files = {
        number: f"t-{number}-of-{of}.parquet" for number in numbers or range(1, of + 1)
    }
    for number, file in files.items():
        assert (
            file
            in cli.done(
                *CERTIFY, *words, "--out", "t.parquet", "--shard", f"{number}/{of}"
            ).out
        )
    return [*files.values()]


def whole(path: str) -> Certificates:
    """A merged table without what says which machines made it."""
    merged = table(path)
    assert merged.header.machines and merged.machine is not None
    return Certificates(
        **{
            **vars(merged),
            "header": merged.header.replace(machines=()),
            "machine": None,
        }
    )


def test_merged_shards_are_the_table_of_one_run(cli: Run) -> None:
    cli.done(*CERTIFY, "--take", "10", "--out", "one.parquet")
    result = cli(
        "merge", *shards(cli, 3, "--take", "10")
    )  # into the file that their names tell
    assert result.code == 0 and "certificates in t.parquet" in result.out, result.err
    assert same(
        table("one.parquet"), whole("t.parquet")
    )  # every count, and every fact of the header
    before = Path("t.parquet").read_bytes()
    result = cli(*CERTIFY, "--take", "10", "--out", "t.parquet", "--resume")
    assert result.code == 0 and Path("t.parquet").read_bytes() == before

    result = cli("evaluate", "t-2-of-3.parquet")  # which says that it is a part
    assert result.code == 0 and "t-2-of-3" in result.out
    part = "t-2-of-3.parquet is a part of a run: shard 2/3 of take 10 of 364, 3 images. `randsmooth merge`"
    assert f"note: {part}" in result.err
    assert (
        "shard 2/3 of take 10 of 364: 3 images of digits"
        in cli("verify", "t-2-of-3.parquet").out
    )
    header = table("t-2-of-3.parquet").header
    assert header.selection == "take 10 of 364" and header.shard == "2/3"
    made_by = (
        "certify net.py:make --sigma 0.25 --n0 20 --n 100 --dataset digits --take 10"
    )
    assert header.command == tuple(made_by.split())


def test_the_commands_that_are_printed_make_what_is_missing(cli: Run) -> None:
    shards(cli, 4, "--take", "10", numbers=[1, 3])
    result = cli("merge", "t-1-of-4.parquet", "t-3-of-4.parquet")
    assert result.code == 2 and "5 of 10 images are missing" in result.err
    assert not Path("t.parquet").exists()
    commands = result.out.splitlines()
    assert len(commands) == 2 and all(
        command.startswith("randsmooth certify net.py:make ") for command in commands
    )
    assert [cli(*command.split()[1:]).code for command in commands] == [0, 0]
    cli.done("merge", *(f"t-{number}-of-4.parquet" for number in range(1, 5)))
    assert len(read("t.parquet")) == 10


def test_shards_that_cannot_be_made(cli: Run) -> None:
    bad = {
        "--shard 17/16": "--shard 17/16 must have a NUMBER from 1 to OF",
        "--shard 3": "must read NUMBER/OF, such as 3/16",
        "--shard 1/2 --workers 2": "leave out one of them",
    }
    cli.refuses(bad, *CERTIFY, "--take", "10")
    assert not list(Path().glob("*.parquet*"))


def test_shards_that_cannot_be_merged(cli: Run) -> None:
    (first,) = shards(cli, 1, "--take", "2")
    cli.done(
        *CERTIFY, "--take", "2", "--seed", "1", "--out", "u.parquet", "--shard", "1/1"
    )
    for flags in ((), ("--overwrite",)):
        cli.done("merge", first, *flags)
    bad = {
        f"{first} u-1-of-1.parquet --out v.parquet": f"u-1-of-1.parquet is of another run than {first} (seed: 0 in",
        f"{first} u-1-of-1.parquet": "give --out",
        first: "t.parquet exists; to begin anew: --overwrite, or another --out",
    }
    cli.refuses(bad, "merge")
