"""What the disk refuses while a model is saved."""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from randsmooth.models import Classifier, load, save, weights_hash


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system refuses to write more than `size` bytes into a file, as it refuses a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [100, 10_000], ids=["configuration", "weights"])
def test_a_model_that_cannot_be_written_costs_an_error_of_the_system_and_not_the_old_one(
    size: int, tmp_path: Path
) -> None:
    classes = [str(i) for i in range(10)]
    model = Classifier(arch="small-cnn", classes=classes, shape=[1, 8, 8])
    save(model, tmp_path / "m")
    other = Classifier(arch="small-cnn", classes=classes, shape=[1, 8, 8])
    with pytest.raises(OSError) as refused, files_of_at_most(size):
        save(other, tmp_path / "m")
    assert (refused.value.errno, refused.value.filename) == (errno.EFBIG, str(tmp_path / "m"))
    assert weights_hash(load(tmp_path / "m")) == weights_hash(model) != weights_hash(other)
    assert not [path.name for path in (tmp_path / "m").iterdir() if path.name.startswith(".")]
