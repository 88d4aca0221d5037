"""A shard goes on where another machine stopped, if the classifier answers alike there; a whole run does not."""

from __future__ import annotations

import platform
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from certification.runs import StopAfter
from randsmooth import certify
from randsmooth.certification import header
from randsmooth.certification.backends.torch_backend import Torch
from randsmooth.errors import InputError


def run(out: Path, **more: Any) -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
    return certify(model, "digits", sigma=0.25, n=100, take=12, out=out, **more)


def cut(out: Path, **more: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(out, progress=lambda *_: nullcontext(StopAfter(1)), **more)


def test_a_shard_goes_on_on_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "a.parquet"
    cut(out, shard="1/2")
    monkeypatch.setattr(header, "versions", lambda *packages: {"torch": "another"})
    monkeypatch.setattr("platform.node", lambda: "node8")
    table = run(out, shard="1/2", resume=True)
    assert table.machine is not None and set(table.machine.tolist()) == {0, 1}
    first, second = table.header.machines
    assert (second.host, second.versions) == ("ce8cccba", {"torch": "another"})
    assert (
        first.host not in (platform.node(), second.host) and first.versions == table.header.versions != second.versions
    )
    run(out, shard="1/2", resume=True)  # which says that it is done


def test_a_run_of_one_machine_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut(tmp_path / "a.parquet")
    monkeypatch.setattr(header, "versions", lambda *packages: {"torch": "another"})
    with pytest.raises(InputError, match=r"was begun differently \(versions: "):
        run(tmp_path / "a.parquet", resume=True)


def test_a_shard_does_not_go_on_where_the_outputs_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut(tmp_path / "a.parquet", shard="1/2")
    monkeypatch.setattr(header, "versions", lambda *packages: {"torch": "another"})
    answer = Torch.answer
    monkeypatch.setattr(Torch, "answer", lambda self, noisy: answer(self, noisy) * 1.0000001)
    with pytest.raises(InputError, match="another arithmetic: equal models give different outputs"):
        run(tmp_path / "a.parquet", shard="1/2", resume=True)


def test_a_shard_reads_and_hashes_only_its_own_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the sixteen by which the shards of a run are compared."""
    from randsmooth.data.images import TensorImages

    read: set[int] = set()
    batch = TensorImages.batch

    def counted(self: TensorImages, indices: torch.Tensor, *more: Any) -> Any:
        read.update(indices.tolist())
        return batch(self, indices, *more)

    monkeypatch.setattr(TensorImages, "batch", counted)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
    table = certify(model, "digits", sigma=0.25, n=100, shard="3/50", out=tmp_path / "a.parquet")
    assert len(table) == 8 and len(read) <= 8 + 16 and set(table.idx.tolist()) <= read
