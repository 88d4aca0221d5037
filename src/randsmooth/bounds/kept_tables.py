"""Tables kept in files that state what they answer, under a name that follows from it, and carry a digest."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from randsmooth.atomic import write_atomically
from randsmooth.caches import cache_folder
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import Note

MOST_BYTES = 2**24  # of a file; a boundary of ten thousand looks takes a sixteenth

Question = dict[str, Any]
T = TypeVar("T")


def path_of(question: Question) -> Path:
    """Where the answer to `question` is kept."""
    return cache_folder("boundaries") / f"{_digest(json.dumps(question).encode())[:32]}.json"


def kept(question: Question, answer: Callable[[Any], T]) -> T | None:
    """`answer` of what is kept about `question`; None where nothing is, or nothing that may be used, as a note says.

    Args:
        answer: makes what is wanted of what the file states; ValueError, saying why, where that is no answer.
    """
    path = path_of(question)
    try:
        return answer(opened(path)) if path.is_file() else None
    except OSError:
        return None
    except ValueError as reason:
        warnings.warn(f"{path} is not the table it is named for ({reason}), so it is made anew", Note, stacklevel=3)
        return None


def opened(path: Path) -> Any:
    """What the file at `path` states and answers; ValueError, saying why, if it is not as it was written.

    Raises:
        OSError: it cannot be read.
    """
    content = read_file(path, MOST_BYTES)
    digest, _, body = content.partition(b"\n")
    if digest != _digest(body).encode():
        raise ValueError("damaged")
    return parse_json(body, "its content")


def check_asked(stored: Any, question: Question) -> None:
    """Raise ValueError unless what is stored answers `question`."""
    other = [key for key, asked in question.items() if not isinstance(stored, dict) or stored.get(key) != asked]
    if other:
        raise ValueError(f"made for another {', '.join(other)}")


def keep(question: Question, answer: dict[str, Any]) -> None:
    """Write `answer`, beside what it answers; where there is no room to write in, the next process makes it again."""
    body = json.dumps(question | answer).encode()
    with suppress(OSError):
        write_atomically(path_of(question), _digest(body).encode() + b"\n" + body)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
