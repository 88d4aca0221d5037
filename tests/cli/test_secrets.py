"""What gives access is told to nobody: tables, folders, pages, caches and kept commands hold no password or token."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import randsmooth as rs
from cli.processes import Run
from randsmooth.certification.run_header import runnable_here
from randsmooth.urls import names_a_secret, unsent_path, without_credentials

ZOO = """
import torch

def net(token="", url="", pwd=""):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
"""
HOW = ("--sigma", 0.25, "--n", 100, "--n0", 10, "--take", 4)
WORD, SIGN = "word-7f3", "sign-7f3"
HIDDEN = {
    *(
        "token",
        "hf_token",
        "apiKey",
        "api_key",
        "key",
        "access_key",
        "pwd",
        "db_pwd",
        "auth",
        "authToken",
        "pat",
    ),
    *("github_pat", "PASSWORD", "bearer", "sas", "session_cookie", "signature"),
}
PLAIN = {
    *(
        "path",
        "pattern",
        "keyword",
        "monkey",
        "author",
        "tokenizer",
        "num_tokens",
        "depth",
        "num_key_value_heads",
    ),
    *("patch", "keys"),
}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *said: object) -> None:
        """Print nothing."""


@pytest.fixture
def data_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a data set on loopback, with a name, a password and a signature in it."""
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
    served = tmp_path.with_name(f"{tmp_path.name}-served")
    served.mkdir()
    x = np.random.default_rng(0).integers(0, 256, (40, 8, 8), dtype=np.uint8)
    np.savez(
        served / "mine.npz",
        x_train=x,
        y_train=np.arange(40) % 10,
        x_test=x[:10],
        y_test=np.arange(10),
    )
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(served))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://me:{WORD}@127.0.0.1:{server.server_port}/mine.npz?sig={SIGN}"
        server.shutdown()


def holding(folder: Path, *hidden: str) -> list[str]:
    """The files and folders whose name or content holds one of some texts."""
    found = []
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            content = b""
            with suppress(OSError):
                content = path.read_bytes()
            if any(text in name or text.encode() in content for text in hidden):
                found.append(str(path.relative_to(folder)))
    return found


@pytest.mark.skipif(
    find_spec("aiohttp") is None, reason="fsspec opens no http:// without aiohttp"
)
def test_what_gives_access_to_data_is_kept_nowhere(
    cli: Run, data_at: str, tmp_path: Path
) -> None:
    (tmp_path / "zoo.py").write_text(ZOO)
    url = ("--model-arg", f"url={data_at}")
    cli.done(
        "certify",
        "zoo.py:net",
        *url,
        "--dataset",
        data_at,
        *HOW,
        "--shard",
        "1/2",
        "--out",
        "a.parquet",
    )
    header = rs.read("a-1-of-2.parquet").header
    told = without_credentials(data_at)
    assert (
        header.dataset is not None and (header.model or {})["arguments"]["url"] == told
    )
    assert any(told in word for word in header.command or ())
    train = ("train", data_at, "--sigma", 0.25, "--arch", "small-cnn", "--out", "m")
    cli.done(*train, "--epochs", 1)
    cli.done(*train, "--epochs", 1, "--resume")
    served = tmp_path.with_name(f"{tmp_path.name}-served")
    for name in ("gaussian", "other"):
        shutil.copy("a-1-of-2.parquet", served / f"{name}.parquet")
    tables = [
        data_at.replace("mine.npz", f"{name}.parquet") for name in ("gaussian", "other")
    ]
    cli.done("compare", *tables, "--out", "page.html")
    assert "***@" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "m" / "run.yaml").exists() and [
        *(tmp_path / "cache").rglob("mine.npz")
    ]
    assert holding(tmp_path, WORD, SIGN) == []
    lost = cli.refused(
        "certify", "demo", "--dataset", data_at.replace("mine", "none"), *HOW
    )
    assert WORD not in lost and SIGN not in lost and "none.npz" in lost


def test_urls_are_told_without_what_gives_access() -> None:
    told = {
        f"https://me:{WORD}@host/a.csv?version=3&sig={SIGN}": "https://***@host/a.csv?version=3&sig=***",
        f"s3://KEY:SEC/{WORD}@bucket/a@b.parquet": "s3://***@bucket/a@b.parquet",
        f"https://me:w@{WORD}@host/x": "https://***@host/x",
        f"no {WORD}: https://host/x?X-Amz-Signature={SIGN}&X-Amz-Credential=A/B": None,
        f"https://host/x?access_token={SIGN};pwd={WORD}": "https://host/x?access_token=***;pwd=***",
        "https://host:8080/a@2x.png?page=2": "https://host:8080/a@2x.png?page=2",
        "runs/me@home?token=1": "runs/me@home?token=1",
        f"https://host/a.csv#access_token={SIGN}&row=3": "https://host/a.csv#access_token=***&row=3",
    }
    for url, without in told.items():
        assert without is None or without_credentials(url) == without, url
        assert SIGN not in without_credentials(url), url
        if "://" in url[:8]:
            assert not {WORD, SIGN} & {*unsent_path(url).parts} and WORD not in str(
                unsent_path(url)
            ), url


def test_names_of_secrets() -> None:
    assert [name for name in HIDDEN if not names_a_secret(name)] == []
    assert [name for name in PLAIN if names_a_secret(name)] == []


def test_stars_are_neither_kept_nor_taken_for_a_secret(
    cli: Run, data_at: str, tmp_path: Path
) -> None:
    (tmp_path / "zoo.py").write_text(ZOO)
    certify = ("certify", "zoo.py:net", "--dataset", "digits", *HOW)
    for secret in (
        f"token={WORD}",
        f"secret:url={WORD}",
        f"pwd={WORD}",
        f"url={data_at}",
    ):
        for kept in (
            ("--save-config", "c.yaml"),
            ("--slurm", "--array", 2, "--time", 9),
        ):
            said = cli.refused(*certify, "--model-arg", secret, *kept)
            assert (
                f"{kept[0]} would keep" in said
                and "environment" in said
                and WORD not in said
            ), secret
    for stars in ("token=**********", "secret:url=**********"):
        assert "give the value" in cli.refused(*certify, "--model-arg", stars)
    (tmp_path / "c.yaml").write_text(
        "verb: certify\nmodel: zoo.py:net\nmodel_arg: {token: '**********'}\n"
    )
    assert "give the value" in cli.refused("certify", "--config", "c.yaml", *HOW)
    assert sorted(
        path.name for path in tmp_path.iterdir() if path.name != "__pycache__"
    ) == ["c.yaml", "zoo.py"]
    cli.done(
        *certify,
        "--save-config",
        "plain.yaml",
        "--out",
        "a.parquet",
        "--model-arg",
        "url=x",
    )


def test_a_command_to_make_what_is_missing_names_what_must_be_put_in(
    cli: Run, tmp_path: Path
) -> None:
    elsewhere = tmp_path.with_name(f"{tmp_path.name}-elsewhere")
    elsewhere.mkdir()
    (elsewhere / "zoo.py").write_text(ZOO)
    (tmp_path / "zoo.py").write_text(
        "net = 'of another'"
    )  # which the command must not name
    cli.done(
        "certify",
        elsewhere / "zoo.py:net",
        "--dataset",
        "digits",
        *HOW,
        "--shard",
        "1/2",
        "--out",
        "a.parquet",
    )
    missing = cli("merge", "a-1-of-2.parquet")
    assert (
        missing.code == 2 and "<FOLDER>" in missing.err and "zoo.py:net" in missing.err
    )
    (command,) = missing.out.splitlines()
    assert str(elsewhere) not in missing.out + missing.err
    words = command.replace("'<FOLDER>/zoo.py:net'", f"{elsewhere}/zoo.py:net").split()
    cli.done(*words[1:])
    cli.done("merge", "a-1-of-2.parquet", "a-2-of-2.parquet", "--out", "a.parquet")


def test_a_link_in_place_of_a_journal_is_not_followed(cli: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    link = tmp_path / "a.parquet.partial"
    certify = ("certify", "demo", *HOW, "--out", "a.parquet")
    link.symlink_to(mine)
    assert "is a link" in cli.refused(*certify, "--resume")
    cli.done(*certify, "--overwrite")
    link.symlink_to(tmp_path / "nowhere.txt")
    cli.done(*certify, "--overwrite")
    assert (
        mine.read_text() == "mine"
        and not (tmp_path / "nowhere.txt").exists()
        and not link.is_symlink()
    )


def test_a_folder_stays_a_folder_in_a_command_without_absolute_paths() -> None:
    here = Path.cwd()
    assert runnable_here(f"hf:{here / 'vit'}") == "hf:./vit"
    assert runnable_here(f"weights=timm:{here / 'vit'}") == "weights=timm:./vit"
    assert runnable_here(str(here / "runs" / "a")) == str(Path("runs/a"))
    assert runnable_here("hf:user/vit") == "hf:user/vit"
