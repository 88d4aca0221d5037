"""Places as users write them: a path on this machine, or a URL that fsspec knows.

What is at a URL is read from a copy on this machine; what is to lie there is made here, then
sent whole. The stores of fsspec ask again where a server is busy. It is loaded when a URL is
opened, not before.
"""

import hashlib
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from randsmooth.atomic import cache_folder, claimed
from randsmooth.documents import shown
from randsmooth.errors import GO_ON_OR_BEGIN_ANEW, BadValue, OutputExists, Unreachable
from randsmooth.extras import needs

Place = Path | str
"""A path, or as text a URL that fsspec knows, such as s3://bucket/gaussian.parquet.

Text without :// is a path.
"""

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")

# A user's name and password before the host; keys of S3 may hold slashes.
USER_INFO = re.compile(
    r"(?:(?<=\bs3://)|(?<=\bs3a://))[^\s/@:]+:[^\s@]*@|(?<=://)[^\s/?#@]*(?:@[^\s/?#@]*)*@"
)

# A name and its value in the query of a URL.
IN_QUERY = re.compile(r"([?&;#])([^=&;\s#]+)=([^&;\s#'\"]+)")

# What stands in place of a secret.
HIDDEN = "***"

# Names of what gives access in a query, beside those of secrets.
ACCESS_IN_QUERY = re.compile(r"^sig$|keyid$", re.IGNORECASE)

# What names a secret in any part of a name, and as one of its words.
SECRET = re.compile(
    r"token(?!i[sz]|s)|secret|passw|passphrase|credential|api_?key|signature",
    re.IGNORECASE,
)
SECRET_WORDS = {
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "cookies",
    "jwt",
    "oauth",
    "pat",
    "pwd",
    "sas",
}
WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")

# Folders of the cache: for copies of what is at URLs, and for what waits to be sent there.
COPIES = "copies"
UNSENT = "unsent"

# Files that need others beside them, whose names begin alike.
WITH_COMPANIONS = (".xml", ".onnx")

# The file of a model folder that is sent last: what is there before it is no model yet.
SENT_LAST = "config.json"

# Protocols of stores of objects: one appears whole when all of it has arrived, and has no
# folder that must be made first.
OBJECT_STORES = {
    "s3",
    "s3a",
    "gs",
    "gcs",
    "az",
    "abfs",
    "abfss",
    "oss",
    "oci",
    "memory",
}


def is_url(place: object) -> bool:
    """Return whether `place` is text with a protocol before it.

    Example:
        >>> places = "s3://bucket/a.parquet", "runs/a.parquet", "C:/runs/a.parquet"
        >>> [is_url(place) for place in places]
        [True, False, False]
    """
    return isinstance(place, str) and URL.match(place) is not None


def names_a_secret(name: str) -> bool:
    """Return whether a name is that of a secret: a token, a password, a key.

    Example:
        >>> [names_a_secret(name) for name in ("hf_token", "pwd", "authKey", "pat")]
        [True, True, True, True]
        >>> [names_a_secret(name) for name in ("path", "keyword", "tokenizer")]
        [False, False, False]
    """
    if SECRET.search(name):
        return True
    words = [word.lower() for word in WORD.findall(name)]
    return not SECRET_WORDS.isdisjoint(words) or words[-1:] == ["key"]


def without_credentials(text: str) -> str:
    """Return `text` with stars in place of what gives access in the URLs in it.

    That is names, passwords, tokens and signatures.

    Example:
        >>> without_credentials("https://me:word@host/a.csv?version=3&sig=af31")
        'https://***@host/a.csv?version=3&sig=***'
        >>> without_credentials("runs/me@home?token=1")
        'runs/me@home?token=1'
    """
    if "://" not in text:
        return text
    without_user = USER_INFO.sub(f"{HIDDEN}@", text)
    return IN_QUERY.sub(_hide_secret, without_user)


def _hide_secret(setting: re.Match[str]) -> str:
    """Return a name and its value in a query, with stars for a value that gives access."""
    mark, name, _ = setting.groups()
    if names_a_secret(name) or ACCESS_IN_QUERY.search(name):
        return f"{mark}{name}={HIDDEN}"
    return setting[0]


def place_of(text: Place) -> Place:
    """Return a URL as it is, and whatever else as a path.

    Example:
        >>> place_of("s3://bucket/a.parquet"), place_of("runs/a.parquet").name
        ('s3://bucket/a.parquet', 'a.parquet')
    """
    if is_url(text):
        return text
    return Path(text)


def name_of(place: Place) -> str:
    """Return the last part of a place.

    Example:
        >>> name_of("s3://bucket/runs/model/"), name_of(Path("runs/model"))
        ('model', 'model')
    """
    if is_url(place):
        return _path_in(str(place)).name
    return Path(place).name


def beside(place: Place, name: str) -> Place:
    """Return the place of a file called `name` in the same folder.

    Example:
        >>> beside("s3://bucket/runs/a.parquet", "a.tsv")
        's3://bucket/runs/a.tsv'
        >>> beside(Path("runs/a.parquet"), "a.tsv").as_posix()
        'runs/a.tsv'
    """
    if is_url(place):
        folder = str(place).rstrip("/").rpartition("/")[0]
        return f"{folder}/{name}"
    return Path(place).with_name(name)


def unsent_path(url: str) -> Path:
    """Return where on this machine is made what is to be written to `url`.

    The journal of its run lies there, too.

    Example:
        >>> unsent_path("s3://bucket/runs/a.parquet").parts[-5:]
        ('unsent', 's3', 'bucket', 'runs', 'a.parquet')
    """
    return cache_folder(UNSENT) / _protocol(url) / _path_in(url)


def with_urls(text: str) -> str:
    """Return `text` with the URLs of copies in place of their paths."""
    root = re.escape(str(cache_folder(COPIES)))
    version = r"[/\\][^/\\\s]+"
    protocol = r"[/\\]([A-Za-z][A-Za-z0-9+.-]+)[/\\]"
    return re.sub(root + version + protocol, r"\1://", text)


def kind_at(url: str) -> str | None:
    """Return "file" or "directory", or None where there is nothing.

    Raises:
        Unreachable: that cannot be known.
    """
    with _opened(url, "read") as (fs, path):
        try:
            return str(fs.info(path)["type"])
        except FileNotFoundError:
            return None


def check_there(url: str) -> str:
    """Return the kind of what is at `url`: "file" or "directory".

    Raises:
        Unreachable: there is nothing, or it cannot be known.

    Example:
        >>> check_there("memory://bucket/nothing")
        Traceback (most recent call last):
        ...
        randsmooth.errors.Unreachable: there is nothing at memory://bucket/nothing
    """
    kind = kind_at(url)
    if kind is None:
        raise Unreachable(f"there is nothing at {without_credentials(url)}")
    return kind


def fetched(
    place: Place, wanted: Callable[[PurePosixPath], bool] = lambda path: True
) -> Path:
    """Return the path of a copy of what is at a URL, which is up to date.

    A path is returned as it is. Copies of files and folders are kept in the folder `copies`
    of $RANDSMOOTH_CACHE or of the user's cache folder; it may be removed at any time. A copy
    is made again when what is at the URL has changed.

    Args:
        place: a path or a URL.
        wanted: which files of a folder are needed, by their paths in it.

    Raises:
        Unreachable: there is nothing at the URL, or it cannot be read.

    Example:
        >>> fetched("runs/a.parquet").as_posix()
        'runs/a.parquet'
        >>> import fsspec
        >>> fsspec.filesystem("memory").pipe("/bucket/a.txt", b"whole")
        >>> fetched("memory://bucket/a.txt").read_bytes()
        b'whole'
    """
    if not is_url(place):
        return Path(place)
    url = str(place).rstrip("/")
    kind = check_there(url)
    if kind == "file" and url.endswith(WITH_COMPANIONS):
        folder = url.rpartition("/")[0]
        stem = PurePosixPath(url).stem
        copy = _copy(folder, "directory", lambda path: str(path).startswith(stem))
        return copy / name_of(url)
    return _copy(url, kind, wanted)


def _copy(url: str, kind: str, wanted: Callable[[PurePosixPath], bool]) -> Path:
    """Return the path of a copy of the wanted files.

    It is named by what the store says of them, and so never changes.
    """
    with _opened(url, "read") as (fs, root):
        facts_of_paths = _facts_of_paths(fs, root, kind)
        names = _names_below(root, facts_of_paths, wanted)

        facts = [sorted(facts_of_paths[path].items()) for path in names]
        version = hashlib.sha256(f"{url} {facts}".encode()).hexdigest()[:16]
        copy = cache_folder(COPIES) / version / _protocol(url) / _path_in(url)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=copy.parent, prefix=".making-") as scrap:
                making = Path(scrap) / copy.name
                _get(fs, names, making, is_folder=kind == "directory")
                # Where another process was faster, its copy is as good.
                with suppress(OSError):
                    making.replace(copy)
    return copy


def _facts_of_paths(fs: Any, root: str, kind: str) -> dict[str, Any]:
    """Return what the store says of a file, or of each file of a folder, by its path."""
    if kind == "directory":
        return dict(fs.find(root, detail=True))
    return {root: fs.info(root)}


def _names_below(
    root: str, paths: Iterable[str], wanted: Callable[[PurePosixPath], bool]
) -> dict[str, PurePosixPath]:
    """Return each wanted path in a store -> the same below `root`: empty for a file."""
    names = {}
    for path in paths:
        if path.endswith("/"):
            continue
        name = PurePosixPath(path).relative_to(root)
        if not name.parts or wanted(name):
            names[path] = name
    return names


def _get(
    fs: Any, names: Mapping[str, PurePosixPath], target: Path, *, is_folder: bool
) -> None:
    """Copy files of a store below `target`, which is the file itself where it is none.

    Args:
        fs: the store.
        names: path in the store -> path below `target`.
        target: the file or folder to make.
        is_folder: whether it is a folder, which may have no files.
    """
    for name in names.values():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
    if is_folder:
        target.mkdir(exist_ok=True)
    fs.get(list(names), [str(target / name) for name in names.values()])


@contextmanager
def delivered(
    out: Place, *, folder: bool = False, resume: bool = False, overwrite: bool = False
) -> Iterator[Path]:
    """Give the path at which the file or folder `out` is to be made.

    If `out` is a URL, what is finished is then sent there. What is made, and the journal of
    an unfinished run, wait in the folder `unsent` of $RANDSMOOTH_CACHE or of the user's
    cache folder, under the path that the URL names: there another run with `resume` finds
    them, or else has a copy of what is at the URL. Each file is sent whole, read back and
    compared by its digest, and all are removed here in the end. Whether the URL can be
    written to is tried first. A model is not complete without its config.json, which is
    sent last.

    Raises:
        BadValue: there is a folder in place of a file, or a file in place of a folder.
        OutputExists: something is at the URL, and neither flag is given.
        Unreachable: the URL cannot be written to.
        Busy: another run on this machine writes to it.
    """
    kind = _kind_of(out)
    name = without_credentials(str(out))
    if kind == "directory" and not folder:
        raise BadValue(
            f"{name} is a folder: name the file to write, such as "
            f"{name}/certificates.parquet"
        )
    if kind == "file" and folder:
        raise BadValue(f"{name} is a file: name a folder")
    if not is_url(out):
        yield Path(out)
        return

    url = str(out).rstrip("/")
    _check_writable(url, exists=kind is not None and not (resume or overwrite))
    local = unsent_path(url)
    with claimed(local, output=without_credentials(url), kind="sending"):
        if resume and kind is not None and not _is_begun(local):
            copy = shutil.copytree if folder else shutil.copyfile
            copy(fetched(url), local)
        yield local
        if folder:
            _send_folder(local, url)
            shutil.rmtree(local)
        else:
            _send(local, url)
            local.unlink()


def _kind_of(out: Place) -> str | None:
    """Return what is in the place of an output.

    A file on this machine counts as nothing: who writes there looks at it.
    """
    if is_url(out):
        return kind_at(str(out))
    return "directory" if Path(out).is_dir() else None


def _is_begun(local: Path) -> bool:
    """Return whether a run has begun on an output, or finished it without sending it."""
    return local.exists() or local.with_name(f"{local.name}.partial").exists()


def _send_folder(local: Path, url: str) -> None:
    """Write the files of a folder to `url`, and remove others that are there."""
    files = [path for path in local.rglob("*") if path.is_file()]
    names = sorted(path.relative_to(local).as_posix() for path in files)
    names.sort(key=lambda name: name == SENT_LAST)
    for name in names:
        _send(local / name, f"{url}/{name}")
    _discard_others(url, {*names})


def _send(local: Path, url: str) -> None:
    """Write the file `local` to `url`, whole or not at all, and compare what is there.

    Raises:
        Unreachable: that was refused; the file is still here.
    """
    try:
        with _opened(url, "written") as (fs, path), local.open("rb") as here:
            target = path if _protocol(url) in OBJECT_STORES else f"{path}.sending"
            fs.put_file(str(local), target)
            with fs.open(target, "rb") as there:
                sent = hashlib.file_digest(here, "sha256").digest()
                stored = hashlib.file_digest(there, "sha256").digest()
            if stored != sent:
                raise OSError("the stored file differs from the sent one")
            if target != path:
                fs.mv(target, path)
    except Unreachable as error:
        raise Unreachable(
            f"{error}. What is finished is {local}: resume=True sends it"
        ) from error


def _discard_others(url: str, names: set[str]) -> None:
    """Remove the files at `url` that are not among `names`, as far as that is allowed.

    Some too many harm nobody.
    """
    with suppress(Unreachable), _opened(url, "written") as (fs, root):
        for path in fs.find(root):
            if PurePosixPath(path).relative_to(root).as_posix() not in names:
                fs.rm_file(path)


def check_url(url: str, *, resume: bool, overwrite: bool) -> None:
    """Raise Problem where `delivered` would refuse to write to a URL."""
    is_there = kind_at(url) is not None
    _check_writable(url, exists=is_there and not (resume or overwrite))


def _check_writable(url: str, exists: bool) -> None:
    """Write a few bytes beside `url` and remove them.

    Raises:
        OutputExists: something `exists` there.
        Unreachable: to write is refused.
    """
    if exists:
        raise OutputExists(
            f"{without_credentials(url)} exists",
            fix=GO_ON_OR_BEGIN_ANEW,
            file=without_credentials(url),
        )
    with _opened(url, "written") as (fs, path):
        probe = f"{path}.probe"
        fs.pipe_file(probe, b"May randsmooth write here?\n")
        # It may be allowed to write and not to remove.
        with suppress(Exception):
            fs.rm_file(probe)


@contextmanager
def _opened(url: str, what: str) -> Iterator[tuple[Any, str]]:
    """Give the file system of a URL, which remembers no listing, and the path in it.

    The folder of what is to be written is made, where a store has folders. What the store
    refuses in the block is told in a sentence: each protocol has errors of its own.

    Args:
        url: a file or folder.
        what: "read" or "written".
    """
    named = without_credentials(url)
    with needs(f"{named} (files at URLs)"):
        import fsspec

        if _protocol(url) in ("s3", "s3a"):
            import s3fs  # noqa: F401
    try:
        fs, path = fsspec.core.url_to_fs(url)
        fs.invalidate_cache()
    except Exception as error:
        raise Unreachable(
            f"{shown(named)} cannot be opened: {_reason(error)}; fsspec knows s3://, "
            "gs://, az://, https://, sftp:// and others, some by packages of their own"
        ) from error
    try:
        if what == "written" and _protocol(url) not in OBJECT_STORES:
            fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        yield fs, path.rstrip("/")
    except Exception as error:
        raise Unreachable(
            f"{named} could not be {what}: {_reason(error)}. Does the place exist, "
            "may this user do that, and does the store answer?"
        ) from error


def _reason(error: Exception) -> str:
    """Return what an error says, whose text may hold the URL."""
    return shown(without_credentials(str(error))) or type(error).__name__


def _path_in(url: str) -> PurePosixPath:
    """Return the path that a URL names below its protocol.

    Bucket or host come first, and nothing leads out of it. It says nobody's name nor
    password, and of a query nothing: it becomes the name of a file.
    """
    plain = USER_INFO.sub("", url)
    if _protocol(url) in ("http", "https"):
        plain = re.split(r"[?#]", plain, maxsplit=1)[0]
    parts = PurePosixPath(URL.sub("", plain, count=1)).parts
    return PurePosixPath(*(part for part in parts if part not in ("/", "..", ".")))


def _protocol(url: str) -> str:
    return url.partition("://")[0].lower()
