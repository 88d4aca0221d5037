"""The bytes that a convolutional network must move at least in a step or an answer: the bound set by the memory."""

from __future__ import annotations

import time

import torch
from torch import nn

from randsmooth.models.architectures.residual import Block

# Bytes a second, by a part of the device's name.
BANDWIDTHS = {"H200": 4.8e12, "H100 80GB HBM3": 3.35e12, "H100 PCIe": 2.04e12, "A100-SXM4-80GB": 2.04e12}
COPIED = 2**28  # numbers that are copied to measure the bandwidth: a GiB, which no cache holds

HALF, SINGLE = 2, 4
ACTIVATION = 5 * HALF
WEIGHT = 8 * SINGLE
NOISE = 2 * SINGLE


def bytes_a_step(model: nn.Module, shape: tuple[int, ...], samples: int) -> int:
    """The bytes of one bf16-mixed step of SGD with momentum on `samples` noisy images of `shape` (C, H, W).

    - Outputs of convolutions and ReLUs, in bf16, 5 times: written and read forward; read again backward, where their
      gradient is written and read. A batch norm, the addition of a shortcut and the ReLU after them are one kernel in
      a compiled step, so they count as that ReLU's output alone, and the batch norm of a shortcut as none; a batch
      norm's statistics are taken while its input is written.
    - Weights, in float32, 8 times: read forward and backward, gradient written and read, momentum read and written,
      the weight read and written by the optimiser.
    - Noise, in float32, twice: written and read, with the image added in passing.

    Everything counts as going to memory, though a cache holds some of it; pooling and the head are left out.
    """
    weights = sum(parameter.numel() for parameter in model.parameters())
    numbers, pixels = _outputs(model, shape, (nn.Conv2d, nn.ReLU)), torch.Size(shape).numel()
    return samples * (numbers * ACTIVATION + pixels * NOISE) + weights * WEIGHT


def bytes_an_answer(model: nn.Module, shape: tuple[int, ...], precision: str, *, epilogues: bool = True) -> int:
    """The bytes of the logits of one noisy image of `shape` (C, H, W), with everything fused that can be.

    Outputs of ReLUs, written and read: a convolution, its batch norm, the shortcut's addition and the ReLU are one
    kernel. What a residual block adds is read once more. Noise in float32, written and read, with the image added in
    passing. The weights serve a whole batch.

    Args:
        epilogues: whether a convolution's kernel does what follows it up to the ReLU. Otherwise that is a kernel of its
            own, as compilers make it, and the convolution's output is written and read as well.
    """
    number = SINGLE if precision == "32" else HALF
    twice = _outputs(model, shape, (nn.ReLU,) if epilogues else (nn.ReLU, nn.Conv2d))
    return number * (2 * twice + _outputs(model, shape, (Block,))) + torch.Size(shape).numel() * NOISE


def measured_bandwidth(device: torch.device, numbers: int = COPIED) -> float:
    """Bytes a second that `device` reads and writes when it copies a tensor: the best of a few times."""
    source = torch.zeros(numbers, device=device)
    target, times = torch.empty_like(source), []
    for _ in range(5):
        settle(device)
        start = time.perf_counter()
        target.copy_(source)
        settle(device)
        times.append(time.perf_counter() - start)
    return 2 * SINGLE * numbers / min(times)


def settle(device: torch.device) -> None:
    """Wait until `device` has done all that it was asked for."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _outputs(model: nn.Module, shape: tuple[int, ...], kinds: tuple[type[nn.Module], ...]) -> int:
    """How many numbers the modules of these kinds put out for one image of `shape`."""
    numbers = 0

    def count(module: nn.Module, inputs: object, output: torch.Tensor) -> None:
        nonlocal numbers
        numbers += output.numel()

    hooks = [module.register_forward_hook(count) for module in model.modules() if isinstance(module, kinds)]
    training = model.training
    with torch.no_grad():
        model.eval()(torch.zeros(1, *shape, device=next(model.parameters()).device))
    model.train(training)
    for hook in hooks:
        hook.remove()
    return numbers


def against_bound(moved: int, seconds: float) -> str:
    """What share of the GPU's memory bandwidth `moved` bytes a step of `seconds` are, if it is one known here."""
    device = torch.cuda.get_device_name()
    for part, bandwidth in BANDWIDTHS.items():
        if part in device:
            bound = moved / bandwidth
            return f"{bound / seconds:.0%} of the bound of {bandwidth / 1e12:g} TB/s, {moved / 1e9:.2f} GB a step"
    return f"{moved / 1e9:.2f} GB a step"
