"""The processor: its name, its instructions, and the formats that it has units for."""

import os
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch

# Environment variables that limit the instructions which oneDNN, and with it torch, uses:
# the first one that is set counts.
ONEDNN_LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")

# A value of such a variable still allows the instructions for bfloat16 if it ends in one
# of these, in capital letters.
ENDS_WITH_BFLOAT16 = ("BF16", "FP16", "AMX", "AVX10_1_512", "ALL", "DEFAULT")

# Environment variables on which the last bits of logits depend. A table records those
# that are set.
RECORDED_VARIABLES = (
    *ONEDNN_LIMITS,
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
)

# How the names of vector instructions begin among the features of a CPU.
VECTOR_INSTRUCTIONS = ("avx", "amx", "sse4")

# The compute capability from which on NVIDIA's GPUs have units for bfloat16: Ampere's.
FIRST_WITH_BFLOAT16 = (8, 0)


def processor() -> str:
    """Return the CPU's name, with its family, model and stepping.

    Virtual machines may call several kinds of CPU by one name, such as `AMD EPYC`.

    Example:
        >>> processor() != ""
        True
    """
    linux = _cpu_by_linux()
    name = (
        features().get("cpu_name")
        or linux.get("model name")
        or platform.processor()
        or platform.machine()
    )
    numbers = [
        f"{key} {linux[key]}"
        for key in ("cpu family", "model", "stepping")
        if key in linux
    ]
    if not numbers:
        return str(name)
    return f"{name} ({', '.join(numbers)})"


def torch_instructions(device: torch.device) -> str:
    """Return the instructions that torch computes with on `device`.

    On a CPU they are named in three parts: the instructions that torch's own kernels
    (ATen) use, the vector instructions that the CPU has, and the environment variables
    that limit their use. On a GPU they are the compute capability.

    Example:
        >>> torch_instructions(torch.device("cpu")).split()[0]
        'ATen'
    """
    if device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(device)
        return f"compute capability {major}.{minor}"
    return f"ATen {torch.backends.cpu.get_cpu_capability()}, {cpu_instructions()}"


def cpu_instructions() -> str:
    """Return the vector instructions of the CPU, and the environment variables that
    limit their use.

    Example:
        >>> cpu_instructions() != ""
        True
    """
    # Some features are texts or numbers, such as the name of the CPU.
    vector_instructions = sorted(
        name
        for name, value in features().items()
        if value is True and name.startswith(VECTOR_INSTRUCTIONS)
    )
    variables = [
        f"{name}={os.environ[name]}"
        for name in RECORDED_VARIABLES
        if os.environ.get(name)
    ]
    # Other architectures than x86 have no instructions of such names.
    instructions = " ".join(vector_instructions) or platform.machine()
    return ", ".join([instructions, *variables])


def lacks_bfloat16(device: torch.device) -> str | None:
    """Return the name of the processor of `device`, if it has no units for bfloat16.

    The result is None if it has some, or if that is not known. Units that a limit on
    oneDNN's instructions excludes do not count, since torch does not use them.

    Example:
        >>> lacks_bfloat16(torch.device("cpu")) in ("this processor", None)
        True
    """
    if device.type == "cuda":
        if torch.cuda.get_device_capability(device) >= FIRST_WITH_BFLOAT16:
            return None
        return torch.cuda.get_device_name(device)
    if "avx2" not in features():
        # No x86: torch does not report whether other architectures have such units.
        return None
    limits = [os.environ[name] for name in ONEDNN_LIMITS if os.environ.get(name)]
    limit = limits[0].upper() if limits else "ALL"
    if features().get("avx512_bf16") and limit.endswith(ENDS_WITH_BFLOAT16):
        return None
    return "this processor"


@cache
def features() -> Mapping[str, Any]:
    """Return the CPU's features as torch reports them: name -> value.

    Each architecture has features of its own.

    Example:
        >>> features().get("avx2", False) in (True, False)
        True
    """
    return torch.cpu.get_capabilities()


@cache
def _cpu_by_linux() -> dict[str, str]:
    """Return name -> value of the first CPU in /proc/cpuinfo; empty where there is no
    such file, as on other systems than Linux.
    """
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    first_cpu = path.read_text().partition("\n\n")[0]
    facts = [line.partition(":") for line in first_cpu.splitlines()]
    return {key.strip(): value.strip() for key, _, value in facts}
