"""The processor that answers and the instructions it does so with: they decide the last bits of a network's logits."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch


class Level(NamedTuple):
    """A set of instructions as oneDNN names them: the level that it extends, and what a processor needs for it."""

    below: str | None
    needs: tuple[str, ...]


# In the order of preference; what a level needs includes what those below it do.
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
SAME = {"AVX10_1_512": "AVX512_CORE_FP16", "AVX10_1_512_AMX": "AVX512_CORE_AMX"}
SAME |= {"AVX10_1_512_AMX_FP16": "AVX512_CORE_AMX_FP16"}
LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")  # the first one set counts
ALSO = ("MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_DEFAULT_FPMATH_MODE")  # told as they are, where set


def processor() -> str:
    """The model of the CPU as it calls itself, and its numbers: a virtual one may be called no more than `AMD EPYC`."""
    linux = _from_linux()
    name = features().get("cpu_name") or linux.get("model name") or platform.processor() or platform.machine()
    numbers = ", ".join(f"{key} {linux[key]}" for key in ("cpu family", "model", "stepping") if key in linux)
    return f"{name} ({numbers})" if numbers else str(name)


def onednn() -> str:
    """The instructions that oneDNN takes, in torch and in OpenVINO, limited by the environment as it allows."""
    limit = next((os.environ[name].upper() for name in LIMITS if os.environ.get(name)), "ALL")
    limit = SAME.get(limit, limit)
    if limit in LEVELS:
        return f"oneDNN {highest(limit)}"
    return f"oneDNN {highest()}" + ("" if limit in ("ALL", "DEFAULT") else f" limited to {limit}")


def highest(limit: str | None = None) -> str:
    """The highest of LEVELS that the CPU has, and `limit` allows; the architecture where it has none."""
    allowed = set(_up_to(limit)) if limit else set(LEVELS)
    had = [name for name in LEVELS if name in allowed and _has(name)]
    return had[-1] if had else platform.machine()


def with_torch(device: torch.device) -> str:
    """What torch computes with on `device`."""
    if device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(device)
        return f"compute capability {major}.{minor}"
    told = [f"ATen {torch.backends.cpu.get_cpu_capability()}", onednn()]
    return ", ".join([*told, *(f"{name}={os.environ[name]}" for name in ALSO if os.environ.get(name))])


@cache
def features() -> dict[str, Any]:
    """What the CPU can do, as torch finds it; nothing where this torch does not say."""
    find = getattr(torch.cpu, "get_capabilities", None)
    return dict(find()) if find else {}


def _has(name: str) -> bool:
    return all(features().get(need, False) for level in _up_to(name) for need in LEVELS[level].needs)


def _up_to(name: str) -> list[str]:
    """`name` and all that it extends."""
    below = LEVELS[name].below
    return [name, *(_up_to(below) if below else [])]


@cache
def _from_linux() -> dict[str, str]:
    """What Linux tells of the first CPU; nothing elsewhere."""
    path = Path("/proc/cpuinfo")
    first = path.read_text().partition("\n\n")[0] if path.exists() else ""
    facts = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in facts}
