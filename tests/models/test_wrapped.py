"""What lies between a noisy image and a model: exact against a plain computation, and named."""

from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from models.refusing import check_refusals
from randsmooth import models
from randsmooth.errors import BadValue, UnknownName, WrongData
from values import Refusal

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
X = (
    torch.rand(3, 1, 10, 8, generator=torch.Generator().manual_seed(0)) * 3 - 1
)  # as noise leaves images
COLOUR = torch.rand(3, 3, 10, 8, generator=torch.Generator().manual_seed(1)) * 3 - 1


class Seen(nn.Module):
    """Answers with what it was given."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def seen(x: torch.Tensor, **arguments: Any) -> torch.Tensor:
    result: torch.Tensor = models.wrap(Seen().eval(), **arguments)(x)
    return result


def test_everything_happens_in_order() -> None:
    mean, std = (torch.tensor(values).reshape(1, 3, 1, 1) for values in (MEAN, STD))
    by_hand = F.interpolate(
        X.expand(-1, 3, -1, -1), size=(40, 32), mode="bilinear", align_corners=False
    )
    by_hand = ((by_hand[:, :, 6:34, 2:30] - mean) / std).permute(0, 2, 3, 1)
    found = seen(X, channels=3, resize=32, crop=28, mean=MEAN, std=STD, layout="NHWC")
    assert torch.allclose(found, by_hand)
    assert found.shape == (3, 28, 28, 3)


def test_each_step() -> None:
    assert torch.equal(seen(COLOUR, channels="bgr"), COLOUR[:, [2, 1, 0]])
    red, green, blue = COLOUR.unbind(1)
    assert torch.allclose(
        seen(COLOUR, channels=1)[:, 0], 0.299 * red + 0.587 * green + 0.114 * blue
    )
    assert torch.allclose(
        seen(X, scale=255, mean=128.0, std=64.0), (255 * X - 128) / 64
    )
    assert torch.equal(seen(X, resize=(10, 8)), X)
    small = F.interpolate(
        X, size=(5, 4), mode="bicubic", align_corners=False, antialias=True
    )
    assert torch.equal(seen(X, resize=(5, 4), interpolation="bicubic"), small)
    logits = torch.randn(4, 5)
    assert torch.allclose(seen(logits, softmax="add").sum(dim=1), torch.ones(4))
    assert torch.allclose(
        seen(seen(logits, softmax="add"), softmax="remove"),
        logits.log_softmax(1),
        atol=1e-6,
    )
    assert seen(torch.tensor([[0.0, 1.0]]), softmax="remove").isfinite().all()


def test_the_steps_are_named_keep_modes_and_pass_gradients() -> None:
    network = nn.Sequential(
        nn.Conv2d(3, 2, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    ).eval()
    wrapped = models.wrap(
        network, channels=3, resize=16, mean=0.5, std=0.5, softmax="add"
    )
    assert wrapped.notes[2:] == (
        "after noise: normalised by mean 0.5 and std 0.5",
        "after the model: a softmax over the logits",
    )
    x = torch.rand(2, 1, 8, 8, requires_grad=True)
    wrapped(x)[:, 0].sum().backward()
    assert x.grad is not None and x.grad.abs().sum() > 0
    assert models.wrap(nn.Dropout().train()).inner.training
    assert not any(module.training for module in wrapped.modules())


def test_bad_arguments_are_named() -> None:
    table: list[tuple[dict[str, Any], Refusal]] = [
        ({"channels": 2}, Refusal(BadValue, "channels=2", "'bgr'", field="channels")),
        ({"resize": 0}, Refusal(BadValue, "resize=0", field="resize")),
        ({"std": (0.1, 0.0, 0.1)}, Refusal(BadValue, "std=")),
        ({"mean": (0.1, 0.2), "std": (1.0, 1.0, 1.0)}, Refusal(BadValue)),
        ({"mean": float("nan")}, Refusal(BadValue, "mean=nan", field="mean")),
        ({"layout": "CHWN"}, Refusal(UnknownName, "'CHWN'", "NHWC", field="layout")),
        ({"softmax": "yes"}, Refusal(UnknownName, "'yes'", field="softmax")),
        (
            {"resize": 4, "interpolation": "cubic"},
            Refusal(UnknownName, "'bicubic'", field="interpolation"),
        ),
    ]
    check_refusals(
        (partial(models.wrap, Seen().eval(), **given), said) for given, said in table
    )
    check_refusals([(lambda: seen(X, crop=12), Refusal(WrongData, "12"))])
