"""Files at URLs: copies that are read, files that are sent, and what is said where a store does not do it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from randsmooth.errors import BadValue, Problem, Unreachable
from randsmooth.urls import (
    delivered,
    fetched,
    place_of,
    unsent_path,
    with_urls,
)
from values import refused

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
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
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
    )


def test_only_what_has_a_protocol_is_a_url_and_none_leads_out_of_the_cache(
    cache: Path,
) -> None:
    places: dict[Path | str, Path | str] = {
        "runs/a.parquet": Path("runs/a.parquet"),
        "s3://bucket//a.parquet": "s3://bucket//a.parquet",
        "file:///runs/a.parquet": "file:///runs/a.parquet",
        "C:/a.parquet": Path("C:/a.parquet"),
        "a://b": Path("a:/b"),
        Path("s3:/bucket"): Path("s3:/bucket"),
    }
    for text, place in places.items():
        assert place_of(text) == place, text
    assert (
        unsent_path("s3://bucket/../../../etc/passwd")
        == cache / "unsent" / "s3" / "bucket" / "etc" / "passwd"
    )


def test_a_copy_is_kept_until_the_file_changes(memory: MemoryFileSystem) -> None:
    memory.pipe("/bucket/noise_0.50/a.tsv", b"one")
    first = fetched("memory://bucket/noise_0.50/a.tsv")
    assert first.read_bytes() == b"one" and first.parts[-3:] == (
        "bucket",
        "noise_0.50",
        "a.tsv",
    )
    first.write_bytes(b"kept")
    assert fetched("memory://bucket/noise_0.50/a.tsv").read_bytes() == b"kept"
    memory.pipe("/bucket/noise_0.50/a.tsv", b"two")
    assert fetched("memory://bucket/noise_0.50/a.tsv").read_bytes() == b"two"
    assert with_urls(f"{first}: no") == "memory://bucket/noise_0.50/a.tsv: no"


def test_what_is_needed_is_copied_and_no_more(memory: MemoryFileSystem) -> None:
    for name in (
        "m/config.json",
        "m/model.safetensors",
        "m/events/1",
        "net.onnx",
        "net.onnx.data",
        "other.onnx",
    ):
        memory.pipe(f"/bucket/{name}", name.encode())
    copy = fetched("memory://bucket/m/", lambda path: "events" not in path.parts)
    assert (copy.name, files_below(copy)) == ("m", ["config.json", "model.safetensors"])
    assert files_below(fetched("memory://bucket/net.onnx").parent) == [
        "net.onnx",
        "net.onnx.data",
    ]
    with pytest.raises(Problem, match="memory://bucket/none"):
        fetched("memory://bucket/none")


def test_a_file_is_delivered_and_nothing_is_left_here(
    memory: MemoryFileSystem, cache: Path
) -> None:
    url = "memory://bucket/a.parquet"
    with delivered(url) as path:
        path.write_bytes(b"table")
        with pytest.raises(Problem, match=url), delivered(url):
            pass
    assert (
        memory.find("/") == ["/bucket/a.parquet"]
        and memory.cat("/bucket/a.parquet") == b"table"
    )
    assert files_below(cache / "unsent") == []
    with pytest.raises(Problem) as refused, delivered(url):
        pass
    assert (
        url in str(refused.value)
        and "resume=True" in str(refused.value)
        and "overwrite=True" in str(refused.value)
    )
    with delivered(url, resume=True) as path:
        assert path.read_bytes() == b"table"
    with (
        pytest.raises(KeyboardInterrupt),
        delivered("memory://bucket/b.parquet") as path,
    ):
        path.with_name("b.parquet.partial").write_bytes(b"journal")
        raise KeyboardInterrupt
    assert (
        files_below(cache / "unsent") == ["memory/bucket/b.parquet.partial"]
        and len(memory.find("/")) == 1
    )


def test_a_folder_is_delivered_whole_and_resumed_from_there(
    memory: MemoryFileSystem, cache: Path
) -> None:
    memory.pipe("/bucket/m/old.txt", b"of an earlier run")
    with delivered("memory://bucket/m", folder=True, overwrite=True) as folder:
        (folder / "events").mkdir(parents=True)
        for name in ("config.json", "model.safetensors", "events/1"):
            (folder / name).write_text(name)
    assert memory.find("/") == [
        f"/bucket/m/{name}" for name in ("config.json", "events/1", "model.safetensors")
    ]
    assert files_below(cache / "unsent") == []
    with delivered("memory://bucket/m", folder=True, resume=True) as folder:
        assert files_below(folder) == ["config.json", "events/1", "model.safetensors"]
    for place, is_folder in (
        ("memory://bucket/m", False),
        ("memory://bucket/m/a", True),
    ):
        memory.pipe("/bucket/m/a", b"a file")
        with refused(BadValue), delivered(place, folder=is_folder):
            pass


class Failing(MemoryFileSystem):  # type: ignore[misc]
    """A store in memory that raises `faults`, in turn, before it takes bytes, or stores fewer of them."""

    protocol = "failing"
    cachable = False
    faults: ClassVar[list[Exception | int | None]] = []

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.replace("failing://", "memory://")))

    def _fail(self) -> int | None:
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Exception):
            raise fault
        return fault

    def pipe_file(
        self, path: str, value: bytes, mode: str = "overwrite", **options: Any
    ) -> None:
        super().pipe_file(path, value[: self._fail()], mode=mode, **options)

    def put_file(self, lpath: str, rpath: str, *more: Any, **options: Any) -> None:
        super().pipe_file(rpath, Path(lpath).read_bytes()[: self._fail()])


def test_what_a_store_does_not_do_is_told_and_the_finished_file_stays_here(
    memory: MemoryFileSystem, cache: Path
) -> None:
    fsspec.register_implementation("failing", Failing, clobber=True)
    url = "failing://bucket/a.txt"
    for fault in (
        PermissionError("Access Denied"),
        FileNotFoundError("no bucket"),
        RuntimeError("no credentials"),
    ):
        Failing.faults = [fault]
        with pytest.raises(Unreachable) as refused, delivered(url):
            raise AssertionError(
                "nothing is made before it is known that it can be sent"
            )
        assert url in str(refused.value) and str(fault) in str(refused.value), fault
    for broken in (OSError("slow down"), 3):  # the server is busy; fewer bytes arrive
        Failing.faults = [None, broken]
        with pytest.raises(Unreachable) as refused, delivered(url) as path:
            path.write_bytes(b"whole")
        assert str(path) in str(refused.value) and "resume=True" in str(
            refused.value
        ), broken
        assert files_below(cache / "unsent") == ["failing/bucket/a.txt"]
        with delivered(url, resume=True) as path:
            assert path.read_bytes() == b"whole"
        assert (
            memory.find("/") == ["/bucket/a.txt"]
            and memory.cat("/bucket/a.txt") == b"whole"
        ), broken
        memory.rm("/bucket/a.txt")
    assert files_below(cache / "unsent") == []
