"""What a teacher answered, on disk beside a run: with a digest, and within what its noises can have given."""

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
    """Keep `counts` (N, K), found for the first `done` images by a teacher and settings as `about` says."""
    facts = about | {DONE: str(done)}
    write_atomically(path, save({"counts": counts}, metadata=facts | {DIGEST: _digest(counts, facts)}))


def read(path: Path) -> tuple[Tensor, int, dict[str, str]]:
    """The counts (N, K) at `path`, of how many images they are found, and what they depend on.

    A file without a digest, of an earlier version, is read with a `NoDigest`.

    Raises:
        FileNotFoundError: there is none.
        InputError: it is not as it was written, or holds what no teacher can have answered.
    """
    counts, done, facts, _ = _read(path)
    return counts, done, facts


def check(path: Path) -> str:
    """What is found to be right in the teacher's answers at `path`, in one sentence. Raises as `read`."""
    counts, done, _, signed = _read(path)
    vouched = "they are as they were written" if signed else "it has no digest"
    return f"a teacher's answers on {done} of {len(counts)} images; {vouched}"


def _read(path: Path) -> tuple[Tensor, int, dict[str, str], bool]:
    """As `read`, and whether the file has a digest."""
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
    """Of how many images the counts are found; InputError unless each of these has n answers, and no other any."""
    done, n = (_whole(facts.get(key)) for key in (DONE, "n"))
    if counts.dtype != torch.int64 or counts.ndim != 2 or done is None or not n or done > len(counts):
        raise InputError(f"{path} holds no counts of a teacher's answers")
    expected = torch.zeros(len(counts), dtype=torch.int64)
    expected[:done] = n
    if bool((counts < 0).any() | (counts > n).any()) or not torch.equal(counts.sum(dim=1), expected):
        raise InputError(f"{path} holds counts that are not of {n} answers an image")
    return done


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 10 else None


def _digest(counts: Tensor, facts: dict[str, str]) -> str:
    digest = hashlib.sha256(json.dumps([facts, [*counts.shape], str(counts.dtype)], sort_keys=True).encode())
    digest.update(counts.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return f"sha256:{digest.hexdigest()}"
