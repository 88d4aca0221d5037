"""Images and labels that are refused, with the first offender named."""

import pytest
import torch

from randsmooth.errors import InputError
from randsmooth.models import check_images, check_labels


def _with(value: float, image: int = 3) -> torch.Tensor:
    x = torch.full((5, 1, 2, 2), 0.5)
    x[image, 0, 1, 0] = value
    return x


@pytest.mark.parametrize("x", [_with(0.0), _with(1.0), _with(0.3).half(), torch.empty(0, 1, 2, 2)])
def test_good_images_pass(x: torch.Tensor) -> None:
    check_images(x, (1, 2, 2))
    check_images(x, None)


BAD_IMAGES = [
    (_with(255.0), r"values in \[0.5, 255\], first image 3; expected \[0, 1\]: divide by 255"),
    (_with(16.0), r"values in \[0.5, 16\].* 16 if it is among these"),
    (_with(1.0001), r"values in \[0.5, 1.0001\].*: clip it, x.clip\(0, 1\)"),
    (_with(-0.2), r"values in \[-0.2, 0.5\], first image 3; .*undo its normalisation"),
    (_with(float("nan"), 2), "image 2 holds NaN"),
    (_with(float("inf")), "image 3 holds NaN or infinity"),
    (_with(0.5).to(torch.uint8), "torch.uint8.*/ 255"),
    (_with(0.5)[0], r"shape \(1, 2, 2\); expected \(B, 1, 2, 2\): x\[None\]"),
    (_with(0.5).expand(-1, 3, -1, -1), r"expected \(B, 1, 2, 2\)"),
    (_with(0.5).numpy(), "ndarray.*torch.from_numpy"),
]


@pytest.mark.parametrize(("x", "message"), BAD_IMAGES)
def test_bad_images_are_refused(x: torch.Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_images(x, (1, 2, 2))


@pytest.mark.parametrize("y", [torch.tensor([0, 9]), torch.tensor([9], dtype=torch.uint8), torch.empty(0).long()])
def test_good_labels_pass(y: torch.Tensor) -> None:
    check_labels(y, 10)


BAD_LABELS = [
    (torch.tensor([0, 10, 11]), "label 1 is 10; expected 0 to 9"),
    (torch.tensor([3, 3, -1]), "label 2 is -1"),
    (torch.tensor([1.0]), "torch.float32"),
    (torch.tensor([True]), "torch.bool"),
    (torch.tensor([[1]]), r"shape \(1, 1\)"),
    ([1, 2], "list"),
]


@pytest.mark.parametrize(("y", "message"), BAD_LABELS)
def test_bad_labels_are_refused(y: torch.Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_labels(y, 10)
