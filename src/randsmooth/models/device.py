"""The device that a user names."""

import re

import torch

from randsmooth.errors import BadValue, Setting

# "auto", "cpu", or a CUDA device by its number.
NAME = re.compile(r"auto|cpu|cuda(?::(?P<number>\d{1,4}))?", re.ASCII)


def pick_device(name: str | torch.device) -> torch.device:
    """Return the device called "auto", "cpu", "cuda" or, by its number, "cuda:1".

    "auto" is CUDA where torch finds it.

    Raises:
        BadValue: another name, or a CUDA device that torch does not find.

    Example:
        >>> pick_device("cpu")
        device(type='cpu')
        >>> pick_device("gpu")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: device='gpu' must be auto, cpu, cuda or, ...
    """
    name = str(name)
    match = NAME.fullmatch(name)
    if match is None:
        raise BadValue(
            field="device",
            value=name,
            expected="must be auto, cpu, cuda or, of several GPUs, cuda:0, cuda:1, ...",
        )

    devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return torch.device("cuda" if devices else "cpu")
    if name == "cpu":
        return torch.device("cpu")
    # "cuda" alone is the first device.
    number = int(match["number"] or 0)
    if number >= devices:
        raise BadValue(
            field="device",
            value=name,
            expected=f"is not there: torch sees {devices} CUDA devices, numbered from "
            "0",
            fix=("give ", Setting("device", "cpu")),
        )
    return torch.device(name)
