"""Files at URLs: copies that are read, files that are sent, and what is said where a store does not do it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from randsmooth import stores
from randsmooth.errors import InputError
from randsmooth.stores import StoreError
from randsmooth.transfer import delivered, delivered_folder, fetched
from randsmooth.urls import is_url, local_only, path_in, place_of, unsent_path, with_urls


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(stores, "FIRST_PAUSE", 0.0)
    return tmp_path / "cache"


@pytest.fixture
def memory() -> Iterator[MemoryFileSystem]:
    """An empty store in memory; all of a process share one."""
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield fsspec.filesystem("memory")
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("runs/a.parquet", Path("runs/a.parquet")),
        ("s3://bucket//a.parquet", "s3://bucket//a.parquet"),
        ("file:///runs/a%20b.parquet", Path("/runs/a b.parquet")),
        ("C:/a.parquet", Path("C:/a.parquet")),
        ("a://b", "a://b" if is_url("a://b") else Path("a:/b")),
        (Path("s3:/bucket"), Path("s3:/bucket")),
    ],
)
def test_only_what_has_a_protocol_is_a_url(text: str, place: object) -> None:
    assert place_of(text) == place


def test_a_url_cannot_lead_out_of_the_cache(cache: Path) -> None:
    assert path_in("s3://../../etc/passwd") == PurePosixPath("etc/passwd")
    assert unsent_path("s3://bucket/../../../etc/passwd") == cache / "unsent" / "s3" / "bucket" / "etc" / "passwd"
    with pytest.raises(InputError, match="give a path"):
        local_only("s3://bucket/a.html", "a page")


def test_a_copy_is_kept_until_the_file_changes(memory: MemoryFileSystem) -> None:
    memory.pipe("/bucket/noise_0.50/a.tsv", b"one")
    first = fetched("memory://bucket/noise_0.50/a.tsv")
    assert first.read_bytes() == b"one" and first.parts[-3:] == ("bucket", "noise_0.50", "a.tsv")
    first.write_bytes(b"kept")
    assert fetched("memory://bucket/noise_0.50/a.tsv").read_bytes() == b"kept"
    memory.pipe("/bucket/noise_0.50/a.tsv", b"two")
    assert fetched("memory://bucket/noise_0.50/a.tsv").read_bytes() == b"two"
    assert with_urls(f"{first}: no") == "memory://bucket/noise_0.50/a.tsv: no"


def test_of_a_folder_only_what_is_wanted_is_copied(memory: MemoryFileSystem) -> None:
    for name in ("config.json", "model.safetensors", "events/1", "checkpoint.pt"):
        memory.pipe(f"/bucket/model/{name}", name.encode())
    copy = fetched("memory://bucket/model/", lambda path: "events" not in path.parts)
    assert files_below(copy) == ["checkpoint.pt", "config.json", "model.safetensors"]
    assert copy.name == "model"


def test_files_come_with_those_that_they_need(memory: MemoryFileSystem) -> None:
    for name in ("net.onnx", "net.onnx.data", "other.onnx"):
        memory.pipe(f"/bucket/{name}", name.encode())
    assert files_below(fetched("memory://bucket/net.onnx").parent) == ["net.onnx", "net.onnx.data"]


def test_what_is_not_there_is_said(memory: MemoryFileSystem) -> None:
    with pytest.raises(InputError, match="there is nothing at memory://bucket/a"):
        fetched("memory://bucket/a")


def test_a_file_is_delivered_and_nothing_is_left_here(memory: MemoryFileSystem, cache: Path) -> None:
    with delivered("memory://bucket/a.parquet") as path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"table")
        with pytest.raises(InputError, match=r"another run is writing memory://bucket/a\.parquet"):
            delivered("memory://bucket/a.parquet").__enter__()
    assert memory.find("/") == ["/bucket/a.parquet"] and memory.cat("/bucket/a.parquet") == b"table"
    assert files_below(cache) == []
    with pytest.raises(InputError, match=r"memory://bucket/a.parquet exists\. To go on with it: resume=True"):
        delivered("memory://bucket/a.parquet").__enter__()
    with delivered("memory://bucket/a.parquet", resume=True) as path:
        assert path.read_bytes() == b"table"


def test_an_interrupted_file_waits_here_and_is_not_sent(memory: MemoryFileSystem, cache: Path) -> None:
    with pytest.raises(KeyboardInterrupt), delivered("memory://bucket/a.parquet") as path:
        path.with_name("a.parquet.partial").write_bytes(b"journal")
        raise KeyboardInterrupt
    assert memory.find("/") == []
    assert files_below(cache) == ["unsent/memory/bucket/a.parquet.partial"]


def test_a_folder_is_no_file_and_a_file_no_folder(memory: MemoryFileSystem, tmp_path: Path) -> None:
    memory.pipe("/bucket/runs/a.parquet", b"table")
    for place in ("memory://bucket/runs", tmp_path):
        with pytest.raises(InputError, match="is a folder: name the file to write"):
            delivered(place).__enter__()
    with pytest.raises(InputError, match="is a file: name a folder"):
        delivered_folder("memory://bucket/runs/a.parquet", overwrite=True).__enter__()


def test_a_folder_is_delivered_whole_and_resumed_from_there(memory: MemoryFileSystem, cache: Path) -> None:
    memory.pipe("/bucket/m/old.txt", b"of an earlier run")
    with delivered_folder("memory://bucket/m", overwrite=True) as folder:
        (folder / "events").mkdir(parents=True)
        for name in ("config.json", "model.safetensors", "events/1"):
            (folder / name).write_text(name)
    assert memory.find("/") == [f"/bucket/m/{name}" for name in ("config.json", "events/1", "model.safetensors")]
    assert files_below(cache) == []
    with delivered_folder("memory://bucket/m", resume=True) as folder:
        assert files_below(folder) == ["config.json", "events/1", "model.safetensors"]


class Failing(MemoryFileSystem):  # type: ignore[misc]
    """A store in memory that raises `faults`, in turn, before it does what is asked."""

    protocol = "failing"
    cachable = False
    faults: ClassVar[list[Exception | None]] = []
    asked = 0

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.replace("failing://", "memory://")))

    def _fail(self) -> None:
        type(self).asked += 1
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault

    def info(self, path: str, **options: Any) -> Any:
        self._fail()
        return super().info(path, **options)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        self._fail()
        super().pipe_file(path, value, mode=mode, **options)

    def put_file(self, lpath: str, rpath: str, *more: Any, **options: Any) -> None:
        self._fail()
        super().put_file(lpath, rpath, *more, **options)


@pytest.fixture
def failing(memory: MemoryFileSystem) -> Iterator[type[Failing]]:
    fsspec.register_implementation("failing", Failing, clobber=True)
    Failing.faults, Failing.asked = [], 0
    yield Failing
    Failing.faults = []


def put(url: str = "failing://bucket/a.txt") -> None:
    with delivered(url) as path:
        path.write_bytes(b"whole")


def test_a_store_that_is_busy_is_asked_again(failing: type[Failing], memory: MemoryFileSystem) -> None:
    failing.faults = [OSError("slow down"), None, TimeoutError(), None, ConnectionResetError(), OSError("busy")]
    put()
    assert memory.cat("/bucket/a.txt") == b"whole" and not failing.faults


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (PermissionError("Access Denied"), "cannot be written with the permissions that this user has"),
        (FileNotFoundError("no bucket"), "is there no such bucket or folder"),
        (RuntimeError("Unable to locate credentials"), "with the permissions that this user has"),
    ],
)
def test_what_is_refused_for_good_is_said_at_once(failing: type[Failing], fault: Exception, said: str) -> None:
    failing.faults = [None, fault]
    with pytest.raises(StoreError, match=said):
        put()
    assert failing.asked == 2


def test_a_store_that_stays_busy_keeps_the_finished_file_here(
    failing: type[Failing], cache: Path, memory: MemoryFileSystem
) -> None:
    failing.faults = [None, None, *[OSError("slow down")] * stores.TRIES]
    with pytest.raises(StoreError, match=r"after 5 tries: slow down\. The finished file is .*resume=True .* sends it"):
        put()
    assert files_below(cache) == ["unsent/failing/bucket/a.txt"]
    with delivered("failing://bucket/a.txt", resume=True) as path:
        assert path.read_bytes() == b"whole"
    assert memory.cat("/bucket/a.txt") == b"whole" and files_below(cache) == []


def test_what_arrives_otherwise_is_sent_again(
    failing: type[Failing], memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound, sent = Failing.put_file, []

    def cut(self: Failing, lpath: str, rpath: str, *more: Any, **options: Any) -> None:
        sound(self, lpath, rpath, *more, **options)
        sent.append(rpath)
        if len(sent) == 1:
            memory.pipe(sent[0], b"who")

    monkeypatch.setattr(Failing, "put_file", cut)
    put()
    assert memory.cat("/bucket/a.txt") == b"whole" and len(sent) == 2
    assert memory.find("/") == ["/bucket/a.txt"]  # and none under the name that it was sent to first
