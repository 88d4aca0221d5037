"""A teacher's class counts in a file of the run, which carries a digest and is checked when it is read."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from randsmooth.atomic import write_atomically
from randsmooth.documents import shown
from randsmooth.errors import InputError, NoDigest

DONE, DIGEST = "done", "digest"  # keys of the metadata, beside what the answers depend on


def write(path: Path, counts: Tensor, done: int, about: dict[str, str]) -> None:
    """Write `counts` (N, K), complete for the first `done` images; `about` says what they depend on, by name."""
    facts = about | {DONE: str(done)}
    write_atomically(path, save({"counts": counts}, metadata=facts | {DIGEST: _digest(counts, facts)}))


def read(path: Path) -> tuple[Tensor, int, dict[str, str]]:
    """The counts (N, K) at `path`, for how many images they are complete, and what they depend on.

    A file of an earlier version, which has no digest, is read with the warning `NoDigest`.

    Raises:
        FileNotFoundError: there is no such file.
        InputError: the file was altered since it was written, or holds counts that no teacher can have given.
    """
    counts, done, facts, _ = _read(path)
    return counts, done, facts


def check(path: Path) -> str:
    """What was verified about the teacher's answers at `path`, in one sentence. Raises the errors of `read`."""
    counts, done, _, signed = _read(path)
    vouched = "they are as they were written" if signed else "it has no digest"
    return f"a teacher's answers on {done} of {len(counts)} images; {vouched}"


def _read(path: Path) -> tuple[Tensor, int, dict[str, str], bool]:
    """What `read` returns, and whether the file has a digest."""
    try:
        with safe_open(path, "pt") as file:
            facts, counts = dict(file.metadata() or {}), file.get_tensor("counts")
    except FileNotFoundError:
        raise
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path} is damaged ({shown(error)})") from None
    digest = facts.pop(DIGEST, None)
    if digest not in (None, _digest(counts, facts)):
        raise InputError(f"{path} is not as it was written: its digest differs")
    done = _checked(path, counts, facts)
    if digest is None:
        warnings.warn(f"{path} was written without a digest, so damage to it may go unseen", NoDigest, stacklevel=3)
    return counts, done, {key: value for key, value in facts.items() if key != DONE}, digest is not None


def _checked(path: Path, counts: Tensor, facts: dict[str, str]) -> int:
    """For how many images the counts are complete; InputError unless these have n answers each, and the others none."""
    done, n = (_whole(facts.get(key)) for key in (DONE, "n"))
    if counts.dtype != torch.int64 or counts.ndim != 2 or done is None or not n or done > len(counts):
        raise InputError(f"{path} holds no counts of a teacher's answers")
    expected = torch.zeros(len(counts), dtype=torch.int64)
    expected[:done] = n
    if bool((counts < 0).any() | (counts > n).any()) or not torch.equal(counts.sum(dim=1), expected):
        raise InputError(f"{path} holds counts that cannot come from {n} answers per image")
    return done


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 10 else None


def _digest(counts: Tensor, facts: dict[str, str]) -> str:
    digest = hashlib.sha256(json.dumps([facts, [*counts.shape], str(counts.dtype)], sort_keys=True).encode())
    digest.update(counts.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return f"sha256:{digest.hexdigest()}"
