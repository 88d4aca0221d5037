"""Our max pool against torch's: values and gradients, ties and odd sides included."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from randsmooth.models.architectures.pool import MaxPool2x2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("side", [24, 9])
@pytest.mark.parametrize("grid", [2, 10_000])  # a coarse grid makes most windows hold ties
def test_as_torch_does(dtype: torch.dtype, layout: torch.memory_format, side: int, grid: int) -> None:
    generator = torch.Generator().manual_seed(0)
    whole = torch.randint(-grid, grid, (4, 20, side, side), generator=generator)
    ours = (whole / grid).to(dtype).contiguous(memory_format=layout).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    pooled, expected = MaxPool2x2()(ours), F.max_pool2d(theirs, 2)
    weights = torch.randn(expected.shape, generator=generator).to(dtype)
    pooled.backward(weights)
    expected.backward(weights)
    assert ours.grad is not None and theirs.grad is not None
    assert torch.equal(pooled, expected) and torch.equal(ours.grad, theirs.grad)
    with torch.no_grad():
        assert torch.equal(MaxPool2x2()(ours), expected)
