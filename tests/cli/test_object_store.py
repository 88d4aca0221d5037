"""The command line on a real S3 server on loopback: tables, models and data sets at URLs, and a server that fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.processes import Run
from randsmooth import read
from s3_server import BUCKET, S3, s3_server

pytestmark = pytest.mark.slow
CERTIFY = ["--dataset", "digits", "--n0", "50", "--n", "300", "--take", "12"]


@pytest.fixture
def s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
    with s3_server() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


def waiting(tmp_path: Path) -> list[str]:
    unsent = tmp_path / "cache" / "unsent"
    return sorted(
        path.relative_to(unsent).as_posix()
        for path in unsent.rglob("*")
        if path.is_file()
    )


def counts(place: Path | str) -> tuple[list[int], list[list[int]], list[list[int]]]:
    table = read(place)
    counts0, counts = table.evidence()
    return table.idx.tolist(), counts0.tolist(), counts.tolist()


def test_a_table_is_written_read_verified_and_exported_at_urls(
    cli: Run, s3: S3, model: Path, tmp_path: Path
) -> None:
    url = f"s3://{BUCKET}/runs/a.parquet"
    cli.done("certify", model, *CERTIFY, "--out", "a.parquet")
    assert (
        f"certificates in {url}"
        in cli.done("certify", model, *CERTIFY, "--out", url).out
    )
    assert (s3.names(), waiting(tmp_path)) == (["runs/a.parquet"], [])
    assert counts(url) == counts(tmp_path / "a.parquet")
    assert cli("certify", model, *CERTIFY, "--out", url).err.startswith(
        f"randsmooth: {url} exists; to go on with it"
    )
    cli.done("certify", model, *CERTIFY, "--out", url, "--resume")
    verified = cli("verify", url)
    assert verified.code == 0 and verified.out.startswith(f"verified  {url}: ")
    cli.done("attack", model, url, "--take", "2", "--steps", "2", "--n", "100")
    cli.done("compare", url, "a.parquet", "--out", "page.html")
    cli.done("leaderboard", f"s3://{BUCKET}/runs", "--out", "board.html")
    cli.done("export", url, "--out", f"s3://{BUCKET}/runs/a.tsv")
    assert (
        cli("export", url).code == 0
        and s3.get("runs/a.tsv") == (tmp_path / "a.tsv").read_bytes()
    )
    assert "exists" in cli.refused("export", url, "--out", f"s3://{BUCKET}/runs/a.tsv")

    s3.put("runs/a.parquet", s3.get("runs/a.parquet")[:-300])
    assert cli.refused("evaluate", url).startswith(f"randsmooth: {url}")


def test_a_model_is_trained_to_a_url_and_certified_from_it(
    cli: Run, s3: S3, tmp_path: Path
) -> None:
    url = f"s3://{BUCKET}/models/mine"
    train = [
        "train",
        "digits",
        "--sigma",
        "0.5",
        "--take",
        "200",
        "--epochs",
        "1",
        "--out",
        url,
    ]
    assert f"model in {url}" in cli.done(*train).out
    cli.done(*train[:-1], "model")
    assert {"config.json", "model.safetensors", "history.csv"} <= {
        Path(key).name for key in s3.names()
    }
    assert waiting(tmp_path) == []
    assert (
        s3.get("models/mine/model.safetensors")
        == (tmp_path / "model" / "model.safetensors").read_bytes()
    )
    assert cli(*train).code == 2
    cli.done(*train, "--resume")
    cli.done("certify", url, *CERTIFY)
    cli.done("certify", "model", *CERTIFY)
    assert counts(tmp_path / "mine.parquet") == counts(tmp_path / "model.parquet")
    assert (
        read(tmp_path / "mine.parquet").header.model
        == read(tmp_path / "model.parquet").header.model
    )
    assert cli("verify", url).out.count("verified") >= 2


def test_an_output_that_cannot_be_is_refused_before_the_work(
    cli: Run, s3: S3, model: Path, tmp_path: Path
) -> None:
    s3.put("folder.parquet/part", b"")
    for out, said in {
        "s3://nobucket/a.parquet": "could not be written: ",
        "nosuch://bucket/a.parquet": "cannot be opened: Protocol not known: nosuch",
        f"s3://{BUCKET}/folder.parquet": "is a folder: name the file to write",
        "s3://bucket/a.tsv": "must end in .parquet",
    }.items():
        done = cli("certify", model, *CERTIFY, "--out", out)
        assert (
            done.code == 2 and done.err.count("\n") == 1 and f"{out} {said}" in done.err
        ), done.err
    s3.flaky.forbidden = {"PUT"}
    done = cli("certify", model, *CERTIFY, "--out", f"s3://{BUCKET}/new.parquet")
    assert (
        done.code == 2
        and "could not be written: " in done.err
        and "may this user do that" in done.err
    ), done.err
    done = cli(
        "compare", "a.parquet", "--out", "s3://bucket/page.html"
    )  # an option that takes no URL
    assert (
        done.code == 2
        and "--out: s3://bucket/page.html is a URL; expected a path on this machine"
        in done.err
    )
    assert (s3.names(), waiting(tmp_path)) == (["folder.parquet/part"], [])


def test_a_store_that_fails_every_tenth_request_gives_the_same_table(
    cli: Run, s3: S3, model: Path, tmp_path: Path
) -> None:
    cli.done("certify", model, *CERTIFY, "--out", "a.parquet")
    s3.flaky.every = 10
    for number in range(8):
        url = f"s3://{BUCKET}/runs/{number}.parquet"
        cli.done("certify", model, *CERTIFY, "--out", url)
        assert counts(url) == counts(tmp_path / "a.parquet")
    assert s3.flaky.failed >= 8
    s3.flaky.every = 0
    assert s3.names() == [f"runs/{number}.parquet" for number in range(8)]
    assert waiting(tmp_path) == []
