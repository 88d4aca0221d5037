"""The processor and its instruction sets, on which the last bits of a network's logits depend."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch


class Level(NamedTuple):
    """An instruction set of oneDNN: the one that it extends, and the CPU features that it needs beyond that one."""

    below: str | None
    needs: tuple[str, ...]


# Least preferred first. A level needs its own features and those of every level below it.
LEVELS = {
    "SSE41": Level(None, ("sse4_1",)),
    "AVX": Level("SSE41", ("avx",)),
    "AVX2": Level("AVX", ("avx2",)),
    "AVX2_VNNI": Level("AVX2", ("avx_vnni",)),
    "AVX2_VNNI_2": Level("AVX2_VNNI", ("avx_vnni_int8", "avx_ne_convert")),
    "AVX512_CORE": Level("AVX2", ("avx512_f", "avx512_bw", "avx512_vl", "avx512_dq")),
    "AVX512_CORE_VNNI": Level("AVX512_CORE", ("avx512_vnni",)),
    "AVX512_CORE_BF16": Level("AVX512_CORE_VNNI", ("avx512_bf16",)),
    "AVX512_CORE_FP16": Level("AVX512_CORE_BF16", ("avx512_fp16",)),
    "AVX512_CORE_AMX": Level("AVX512_CORE_FP16", ("amx_tile", "amx_int8", "amx_bf16")),
    "AVX512_CORE_AMX_FP16": Level("AVX512_CORE_AMX", ("amx_fp16",)),
}
EQUIVALENT = {"AVX10_1_512": "AVX512_CORE_FP16", "AVX10_1_512_AMX": "AVX512_CORE_AMX"}
EQUIVALENT |= {"AVX10_1_512_AMX_FP16": "AVX512_CORE_AMX_FP16"}
LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")  # the first one that is set counts
AMPERE = (8, 0)  # the compute capability from which on NVIDIA's GPUs have units for bfloat16
RECORDED = ("MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_DEFAULT_FPMATH_MODE")  # as they are, where set


def processor() -> str:
    """The CPU's name, with its family, model and stepping, since virtual machines may call theirs just `AMD EPYC`."""
    linux = _from_linux()
    name = features().get("cpu_name") or linux.get("model name") or platform.processor() or platform.machine()
    numbers = ", ".join(f"{key} {linux[key]}" for key in ("cpu family", "model", "stepping") if key in linux)
    return f"{name} ({numbers})" if numbers else str(name)


def onednn() -> str:
    """The instruction set that oneDNN uses in torch and in OpenVINO, with any limit set in the environment."""
    limit = next((os.environ[name].upper() for name in LIMITS if os.environ.get(name)), "ALL")
    limit = EQUIVALENT.get(limit, limit)
    if limit in LEVELS:
        return f"oneDNN {highest(limit)}"
    return f"oneDNN {highest()}" + ("" if limit in ("ALL", "DEFAULT") else f" limited to {limit}")


def highest(limit: str | None = None) -> str:
    """The highest of LEVELS that the CPU has and `limit` allows; the machine's architecture if there is none."""
    allowed = set(_up_to(limit)) if limit else set(LEVELS)
    had = [name for name in LEVELS if name in allowed and _has(name)]
    return had[-1] if had else platform.machine()


def lacks_bfloat16(device: torch.device) -> str | None:
    """What computes on `device`, in words, where it has no units for bfloat16; None if it has, or that is not known.

    A limit on oneDNN's instruction set (ONEDNN_MAX_CPU_ISA) counts, since torch does not use what lies beyond it.
    """
    if device.type == "cuda":
        return None if torch.cuda.get_device_capability(device) >= AMPERE else torch.cuda.get_device_name(device)
    level = onednn().split()[1]  # of other processors than x86, the architecture
    return f"this processor ({level})" if level in LEVELS and "AVX512_CORE_BF16" not in _up_to(level) else None


def with_torch(device: torch.device) -> str:
    """The instructions that torch computes with on `device`."""
    if device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(device)
        return f"compute capability {major}.{minor}"
    settings = [f"{name}={os.environ[name]}" for name in RECORDED if os.environ.get(name)]
    return ", ".join([f"ATen {torch.backends.cpu.get_cpu_capability()}", onednn(), *settings])


@cache
def features() -> dict[str, Any]:
    """The CPU's features as torch reports them; empty for a torch that does not report them."""
    find = getattr(torch.cpu, "get_capabilities", None)
    return dict(find()) if find else {}


def _has(name: str) -> bool:
    return all(features().get(need, False) for level in _up_to(name) for need in LEVELS[level].needs)


def _up_to(name: str) -> list[str]:
    """`name` and the levels that it extends, directly or not."""
    below = LEVELS[name].below
    return [name, *(_up_to(below) if below else [])]


@cache
def _from_linux() -> dict[str, str]:
    """What /proc/cpuinfo says of the first CPU; empty on systems other than Linux."""
    path = Path("/proc/cpuinfo")
    first = path.read_text().partition("\n\n")[0] if path.exists() else ""
    facts = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in facts}
