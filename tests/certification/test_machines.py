"""Processors and machines in the header; a run is not resumed on others, and a shard only if they answer alike."""

import platform
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from certification.runs import interrupt
from models.refusing import check_refusals
from randsmooth import certify
from randsmooth.certification import run_header as header
from randsmooth.certification.backends import make_backend, processor
from randsmooth.certification.backends.torch_backend import Torch
from randsmooth.errors import OutputExists
from values import Refusal

CPU = torch.device("cpu")


def test_torch_and_openvino_tell_what_they_use() -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 3)).eval()
    own = make_backend("torch", model, CPU, "32")
    assert own.processor == f"cpu, {processor()}" != "cpu, "
    if (
        Path("/proc/cpuinfo").exists()
        and "stepping" in Path("/proc/cpuinfo").read_text()
    ):
        assert re.search(r"\(cpu family \d+, model \d+, stepping \d+\)$", own.processor)
    assert own.instructions.startswith(
        f"ATen {torch.backends.cpu.get_cpu_capability()}, "
    )
    pytest.importorskip("openvino")
    other = make_backend("openvino", model, CPU, "32")
    assert other.instructions.startswith("OpenVINO ") and " FP32 " in other.instructions


@pytest.mark.cuda
def test_cuda_is_named() -> None:
    backend = make_backend(
        "torch", torch.nn.Flatten().eval(), torch.device("cuda"), "32"
    )
    assert backend.processor == torch.cuda.get_device_name()
    assert re.fullmatch(r"compute capability \d+\.\d+", backend.instructions)


def run(out: Path, **more: Any) -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
    how: dict[str, Any] = {"sigma": 0.25, "n": 100, "take": 12, "out": out}
    return certify(model, "digits", **how | more)


def test_a_shard_goes_on_on_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "a.parquet"
    interrupt(run, out, shard="1/2")
    monkeypatch.setattr(header, "versions", lambda *packages: {"torch": "another"})
    monkeypatch.setattr("platform.node", lambda: "node8")
    table = run(out, shard="1/2", resume=True)
    assert table.machine is not None and set(table.machine.tolist()) == {0, 1}
    first, second = table.header.machines
    assert (second.host, second.versions) == ("ce8cccba", {"torch": "another"})
    assert first.host not in (platform.node(), second.host)
    assert first.versions == table.header.versions != second.versions
    run(out, shard="1/2", resume=True)  # which says that it is done


def test_a_run_of_one_machine_does_not_nor_a_shard_where_the_outputs_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(run, tmp_path / "whole.parquet")
    interrupt(run, tmp_path / "part.parquet", shard="1/2")
    monkeypatch.setattr(header, "versions", lambda *packages: {"torch": "another"})
    answer, said = (
        Torch.answer,
        Refusal(OutputExists),
    )
    check_refusals(
        [
            (
                lambda: run(tmp_path / "whole.parquet", resume=True),
                Refusal(OutputExists),
            )
        ]
    )
    monkeypatch.setattr(
        Torch, "answer", lambda self, noisy: answer(self, noisy) * 1.0000001
    )
    check_refusals(
        [(lambda: run(tmp_path / "part.parquet", shard="1/2", resume=True), said)]
    )
