"""The processor and its instructions in the header: as the runtimes tell them; a run is not resumed with others."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from certification.runs import StopAfter
from randsmooth import certify
from randsmooth.certificates import read
from randsmooth.certification.backends import make_backend, processor
from randsmooth.certification.run import header_of
from randsmooth.models import Classifier, save

CPU = torch.device("cpu")
X86 = bool(processor.features().get("avx2"))
needs_avx2 = pytest.mark.skipif(not X86, reason="the limits are those of x86 processors with AVX2")

# What oneDNN calls the levels when it is asked to talk.
WORDS = {
    "SSE41": "Intel SSE4.1",
    "AVX": "Intel AVX",
    "AVX2": "Intel AVX2",
    "AVX2_VNNI": "Intel AVX2 with Intel DL Boost",
    "AVX512_CORE": "Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions",
    "AVX512_CORE_VNNI": "Intel AVX-512 with Intel DL Boost",
    "AVX512_CORE_BF16": "Intel AVX-512 with Intel DL Boost and bfloat16 support",
}

TALK = """
import torch
from randsmooth.certification.backends import processor
torch.nn.functional.conv2d(torch.rand(16, 16, 16, 16), torch.rand(32, 16, 3, 3))
print("told:", processor.with_torch(torch.device("cpu")))
"""


def talk(**environment: str) -> tuple[str, str]:
    """What oneDNN calls its instructions, and what we do, in a process with these variables."""
    inherited = {key: value for key, value in os.environ.items() if key not in (*processor.LIMITS, *processor.RECORDED)}
    env = inherited | {"ONEDNN_VERBOSE": "1"} | environment
    out = subprocess.run([sys.executable, "-c", TALK], env=env, capture_output=True, text=True, check=True).stdout
    own, told = re.search(r"info,cpu,isa:(.*)", out), re.search(r"told: (.*)", out)
    assert own is not None and told is not None
    return own[1].strip(), told[1]


def check_level(environment: dict[str, str]) -> None:
    own, told = talk(**environment)
    match = re.search(r"oneDNN (\w+)", told)
    assert match is not None
    assert own == WORDS.get(match[1], own), environment  # how it calls others is not known here


@needs_avx2
def test_the_level_is_the_one_that_onednn_names_itself() -> None:
    check_level({"ONEDNN_MAX_CPU_ISA": "AVX2"})


@needs_avx2
@pytest.mark.slow
def test_every_limit_gives_the_level_that_onednn_names_itself() -> None:
    for limit in ("SSE41", "AVX", "AVX2_VNNI", "AVX512_CORE_VNNI", "AVX512_CORE_AMX", "ALL"):
        check_level({"ONEDNN_MAX_CPU_ISA": limit})
    check_level({"DNNL_MAX_CPU_ISA": "avx512_core"})
    check_level({})


def test_levels_follow_what_a_processor_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in processor.LIMITS:
        monkeypatch.delenv(name, raising=False)
    laptop = dict.fromkeys(("sse4_1", "avx", "avx2", "avx_vnni"), True)
    server = laptop | dict.fromkeys(("avx512_f", "avx512_bw", "avx512_vl", "avx512_dq", "avx512_vnni"), True)
    for had, limit, level in (
        (laptop, None, "AVX2_VNNI"),
        (server, None, "AVX512_CORE_VNNI"),
        (server, "AVX2", "AVX2"),
        (server, "avx2_vnni", "AVX2_VNNI"),
        (server, "AVX10_1_512", "AVX512_CORE_VNNI"),
        (laptop, "AVX512_CORE_BF16", "AVX2"),
        (server, "AVX99", "AVX512_CORE_VNNI limited to AVX99"),
    ):
        monkeypatch.setattr(processor, "features", lambda had=had: had)
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", limit or "")
        assert processor.onednn() == f"oneDNN {level}"
    monkeypatch.setattr(processor, "features", dict)
    assert processor.highest() == platform.machine()


def test_torch_and_openvino_tell_what_they_use() -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 3)).eval()
    own = make_backend("torch", model, CPU, "32")
    assert own.processor == f"cpu, {processor.processor()}" != "cpu, "
    if Path("/proc/cpuinfo").exists() and "stepping" in Path("/proc/cpuinfo").read_text():
        assert re.search(r"\(cpu family \d+, model \d+, stepping \d+\)$", own.processor)
    assert own.instructions.startswith(f"ATen {torch.backends.cpu.get_cpu_capability()}, oneDNN ")
    pytest.importorskip("openvino")
    other = make_backend("openvino", model, CPU, "32")
    assert other.instructions.startswith("OpenVINO ") and " FP32 " in other.instructions


@pytest.mark.cuda
def test_cuda_is_named() -> None:
    backend = make_backend("torch", torch.nn.Flatten().eval(), torch.device("cuda"), "32")
    assert backend.processor == torch.cuda.get_device_name()
    assert re.fullmatch(r"compute capability \d+\.\d+", backend.instructions)


RESUME = """
import sys
import randsmooth as rs
model, out, fresh, backend = sys.argv[1:]
rs.certify(model, take=3, n=50, out=fresh, backend=backend)
try:
    rs.certify(model, take=3, n=50, out=out, backend=backend, resume=True)
except rs.InputError as error:
    print(error)
"""


@needs_avx2
@pytest.mark.slow
def test_a_run_is_not_resumed_with_other_instructions(tmp_path: Path) -> None:
    torch.manual_seed(0)
    told, classes = {"dataset": "digits", "sigma": 0.25}, [str(i) for i in range(10)]
    save(Classifier(arch="small-cnn", classes=classes, shape=[1, 8, 8], provenance=told).eval(), tmp_path / "model")
    cases = [("torch", {"ONEDNN_MAX_CPU_ISA": "AVX"}), ("torch", {"ATEN_CPU_CAPABILITY": "default"}), ("torch", {})]
    cases += [("openvino", {"ONEDNN_MAX_CPU_ISA": "AVX"})] if find_spec("openvino") else []
    for place, (backend, environment) in enumerate(cases):
        out, fresh = tmp_path / f"{place}.parquet", tmp_path / f"fresh-{place}.parquet"
        cut: dict[str, Any] = {"take": 3, "n": 50, "backend": backend, "progress": lambda *_: nullcontext(StopAfter(1))}
        with pytest.raises(KeyboardInterrupt):
            certify(tmp_path / "model", out=out, **cut)
        header = header_of(out)
        assert header is not None and header.device != "cpu"
        command = [sys.executable, "-c", RESUME, *map(str, (tmp_path / "model", out, fresh)), backend]
        done = subprocess.run(command, env=dict(os.environ) | environment, capture_output=True, text=True, check=True)
        message = done.stdout.strip()
        if not environment:  # the control: as it was begun, it goes on
            assert message == "" and out.exists()
            continue
        assert f"{header.instructions!r} in the file, " in message and "was begun differently (" in message
        differ = read(fresh).header.behaviour != header.behaviour  # some limits change no answer
        assert ("another arithmetic: equal models give different outputs (instructions: " in message) == differ
        assert "ONEDNN_MAX_CPU_ISA limit them" in message and "--overwrite" in message
