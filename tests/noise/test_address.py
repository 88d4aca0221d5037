"""The address of an image: the same for the same pixels, whatever holds them, and another for any others."""

from __future__ import annotations

from hashlib import blake2b

import pytest
import torch

from randsmooth.noise import address_of
from randsmooth.noise.streams import SEED_BITS, fresh_seed

IMAGE = torch.arange(48).view(3, 4, 4) / 255
HALVES = torch.arange(48).view(3, 4, 4) / 64  # which bfloat16 and float16 hold, too


def test_it_is_the_hash_of_shape_and_pixels() -> None:
    """Written down once more from its definition; the number, so that no release changes it unseen."""
    told = b"(3, 4, 4)" + IMAGE.numpy().astype("<f4").tobytes()
    assert address_of(IMAGE) == int.from_bytes(blake2b(told, digest_size=32).digest(), "little")
    assert address_of(torch.full((1, 2, 2), 0.5)) == KNOWN


KNOWN = 0x10DA6291AD4767CDCD4792CE61E5F1078FA73B3742F2DEB033899F9195926CA


def test_what_holds_the_pixels_does_not_matter() -> None:
    for same in [
        HALVES.clone(),
        HALVES.double(),
        HALVES.half(),
        HALVES.bfloat16(),
        HALVES[None].contiguous(memory_format=torch.channels_last)[0],
        HALVES.permute(2, 0, 1).contiguous().permute(1, 2, 0),
        torch.stack([HALVES, HALVES + 1])[0],
        HALVES.clone().requires_grad_(),
        torch.from_numpy(HALVES.numpy().astype(">f4").astype("f4")),
        torch.where(HALVES == 0, -0.0, HALVES),
    ]:
        assert address_of(same) == address_of(HALVES), same


def test_any_other_image_has_another() -> None:
    others = [IMAGE, IMAGE.view(3, 2, 8), IMAGE.flip(0), IMAGE.flip(2), IMAGE.transpose(1, 2)]
    for place in range(IMAGE.numel()):
        changed = IMAGE.clone().view(-1)
        changed[place] = torch.nextafter(changed[place], torch.tensor(1.0))
        others.append(changed.view_as(IMAGE))
    assert len({address_of(x) for x in others}) == len(others)


def test_fresh_seeds_differ_and_fit_a_float() -> None:
    seeds = [fresh_seed() for _ in range(100)]
    assert len(set(seeds)) == 100
    assert all(0 <= seed < 2**SEED_BITS and int(float(seed)) == seed for seed in seeds)


@pytest.mark.cuda
def test_the_device_does_not_matter() -> None:
    assert address_of(IMAGE.cuda()) == address_of(IMAGE)
