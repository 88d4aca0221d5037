"""What is at a URL is read from a copy on this machine; what is to lie there is made here, then sent whole."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from uuid import uuid4

from randsmooth.atomic import claimed
from randsmooth.errors import InputError, setting
from randsmooth.stores import Store, StoreError
from randsmooth.urls import Place, copy_path, is_url, place_of, unsent_path, with_urls

WITH_COMPANIONS = (".xml", ".onnx")  # files that need others beside them, whose names begin alike
LAST = "config.json"  # of a model folder: what is there before it is not yet a model


def fetched(place: Place, wanted: Callable[[PurePosixPath], bool] = lambda path: True) -> Path:
    """`place` itself if it is a path; of a URL, file or folder, the path of a copy that is up to date.

    Copies are kept in the folder `copies` of $RANDSMOOTH_CACHE or of the user's cache folder; it may be removed at any
    time. A copy is made again when what is at the URL has changed.

    Args:
        place: a path or a URL.
        wanted: which files of a folder are needed, by their paths in it.

    Raises:
        InputError: there is nothing at the URL, or it cannot be read.

    Example:
        >>> fetched("runs/a.parquet").as_posix()
        'runs/a.parquet'
        >>> import fsspec
        >>> fsspec.filesystem("memory").pipe("/bucket/a.txt", b"whole")
        >>> fetched("memory://bucket/a.txt").read_bytes()
        b'whole'
    """
    if not is_url(place):
        return Path(place_of(place))
    url = str(place)
    store = Store.at(url)
    kind = store.kind()
    check_there(url)
    if kind == "file" and store.path.endswith(WITH_COMPANIONS):
        folder = Store.at(url.rpartition("/")[0])
        name, stem = url.rpartition("/")[2], PurePosixPath(url).stem
        return _copy_of(folder, lambda path: len(path.parts) == 1 and path.name.startswith(stem)) / name
    return _copy_of(store, wanted)


def check_there(url: str) -> None:
    """Raise InputError where there is nothing at `url`.

    Example:
        >>> check_there("memory://bucket/nothing")
        Traceback (most recent call last):
        ...
        randsmooth.stores.StoreError: there is nothing at memory://bucket/nothing
    """
    if Store.at(url).kind() is None:
        raise StoreError(f"there is nothing at {url}")


def _copy_of(store: Store, wanted: Callable[[PurePosixPath], bool]) -> Path:
    """The path of a copy of the wanted files, which is named by their versions and so never changes."""
    files = {path: version for path, version in store.files().items() if not path.parts or wanted(path)}
    text = "\n".join(f"{path} {version}" for path, version in files.items())
    version = hashlib.sha256(f"{store.url}\n{text}".encode()).hexdigest()[:16]
    copy = copy_path(store.url, version)
    if copy.exists():
        return copy
    making = copy.with_name(f".{copy.name}.{uuid4().hex}.making")
    try:
        for path in files:
            (store / str(path) if path.parts else store).fetch(making / path)
        if not files:
            making.mkdir(parents=True)
        try:
            making.replace(copy)
        except OSError:
            if not copy.exists():  # which another process made meanwhile
                raise
    finally:
        if making.is_dir():
            shutil.rmtree(making)
        making.unlink(missing_ok=True)
    return copy


@contextmanager
def naming_urls() -> Iterator[None]:
    """Let an InputError about a copy name the URL that it is a copy of."""
    try:
        yield
    except InputError as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (with_urls(error.args[0]), *error.args[1:])
        raise


@contextmanager
def delivered(out: Place, *, resume: bool = False, overwrite: bool = False) -> Iterator[Path]:
    """The path at which the file `out` is to be made. If `out` is a URL, the finished file is then sent there.

    What is made, and the journal of an unfinished run, wait in the folder `unsent` of $RANDSMOOTH_CACHE or of the
    user's cache folder, under the path that the URL names: there another run with `resume` finds them. The file is sent
    whole, read back and compared by its digest, then removed here. Whether the URL can be written to is tried first.

    Raises:
        InputError: `out` is a folder, or a file at a URL and neither flag is given; the URL cannot be written to; or
            another run on this machine writes to it.
    """
    if not is_url(out):
        if (path := Path(place_of(out))).is_dir():
            raise InputError(f"{path} is a folder: name the file to write, such as {path / 'certificates.parquet'}")
        yield path
        return
    store, local = Store.at(str(out)), unsent_path(str(out))
    _check_target(store, resume=resume, overwrite=overwrite)
    with claimed(local, output=str(out), kind="sending"):
        if resume and not local.exists() and not local.with_name(local.name + ".partial").exists() and store.kind():
            store.fetch(local)
        yield local
        try:
            if not (resume and store.kind() and store.same_as(local)):
                store.send(local)
        except StoreError as error:
            raise StoreError(f"{error}. The finished file is {local}: {setting(resume=True)} sends it") from error
        local.unlink()


@contextmanager
def delivered_folder(out: Place, *, resume: bool = False, overwrite: bool = False) -> Iterator[Path]:
    """The path at which the folder `out` is to be made. If `out` is a URL, all its files are then sent there.

    As `delivered`; `resume` goes on in the folder that waits here, or else with a copy of the one at the URL. A model
    is not complete without its config.json, which is sent last.

    Raises:
        InputError: as `delivered`.
    """
    if not is_url(out):
        yield Path(place_of(out))
        return
    store, local = Store.at(str(out)), unsent_path(str(out))
    there = store.files() if store.kind() == "directory" else {}
    if store.kind() == "file" or PurePosixPath() in there:
        raise InputError(f"{out} is a file: name a folder")
    if there and not (resume or overwrite):
        raise _exists(str(out))
    store.check_writable()
    with claimed(local, output=str(out), kind="sending"):
        if resume and there and not local.exists():
            for path in there:
                (store / str(path)).fetch(local / path)
        yield local
        try:
            made = _send_all(local, store)
        except StoreError as error:
            raise StoreError(f"{error}. The finished folder is {local}: {setting(resume=True)} sends it") from error
        for path in there.keys() - made:
            (store / str(path)).discard()
        shutil.rmtree(local)


def _send_all(folder: Path, store: Store) -> set[PurePosixPath]:
    """Send all files of a folder, and return their paths in it."""
    made = {PurePosixPath(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    for path in sorted(made, key=lambda path: (path.name == LAST, path)):
        (store / str(path)).send(folder / path)
    return made


def _check_target(store: Store, *, resume: bool, overwrite: bool) -> None:
    kind = store.kind()
    if kind == "directory":
        raise InputError(f"{store.url} is a folder: name the file to write, such as {store.url}/certificates.parquet")
    if kind is not None and not (resume or overwrite):
        raise _exists(store.url)
    store.check_writable()


def _exists(url: str) -> InputError:
    return InputError(
        f"{url} exists. To go on with it: {setting(resume=True)}. To begin anew: {setting(overwrite=True)}, or another "
        "out (--out)"
    )
