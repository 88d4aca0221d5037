"""LeNet's first convolution against torch's: values, and gradients by image and weights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from randsmooth.models.architectures.stem import Stem


def both(channels: int, side: int, kernel: int, dtype: torch.dtype) -> tuple[Stem, nn.Conv2d, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    ours, theirs = Stem(channels, 20, kernel).to(dtype), nn.Conv2d(channels, 20, kernel).to(dtype)
    theirs.load_state_dict(ours.state_dict())
    x = torch.rand(6, channels, side, side + 3, generator=generator).to(dtype)
    weights = torch.randn(6, 20, side + 1 - kernel, side + 4 - kernel, generator=generator)
    return ours, theirs, x, weights


def gradients(convolution: nn.Conv2d, x: Tensor, weights: Tensor, wanted: tuple[bool, bool]) -> list[Tensor]:
    """The output, and the gradients by x and by the parameters as far as `wanted`."""
    x = x.detach().clone().requires_grad_(wanted[0])
    convolution.requires_grad_(wanted[1])
    out = convolution(x)
    asked = [x] * wanted[0] + [*convolution.parameters()] * wanted[1]
    return [out.detach(), *torch.autograd.grad(out, asked, weights.to(out))]


@pytest.mark.parametrize("wanted", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("channels", "side", "kernel"), [(1, 28, 5), (3, 16, 5), (2, 9, 3)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_as_torch_does(dtype, close, layout, channels, side, kernel, wanted) -> None:  # type: ignore[no-untyped-def]
    ours, theirs, x, weights = both(channels, side, kernel, dtype)
    x = x.contiguous(memory_format=layout)
    for left, right in zip(gradients(ours, x, weights, wanted), gradients(theirs, x, weights, wanted), strict=True):
        assert left.dtype == right.dtype and left.shape == right.shape
        torch.testing.assert_close(left, right, rtol=close, atol=close * float(right.abs().max()))


def test_in_bfloat16_it_is_about_as_near_to_float64_as_torch() -> None:
    ours, theirs, x, weights = both(1, 28, 5, torch.float32)
    exact_net = nn.Conv2d(1, 20, 5).double()
    exact_net.load_state_dict(ours.state_dict())
    exact = gradients(exact_net, x.double(), weights.double(), (True, False))[1]
    with torch.autocast("cpu", torch.bfloat16):
        errors = [(gradients(net, x, weights, (True, False))[1].double() - exact).norm() for net in (ours, theirs)]
    assert errors[0] <= 1.25 * errors[1]
    assert errors[0] < 0.01 * exact.norm()


def test_what_it_is_not_needed_for_is_torchs_own() -> None:
    ours, theirs, x, _ = both(1, 28, 5, torch.float32)
    assert torch.equal(ours(x), theirs(x)) and "Convolution" in type(ours(x).grad_fn).__name__
    with torch.no_grad():
        assert torch.equal(ours(x.requires_grad_()), theirs(x))
