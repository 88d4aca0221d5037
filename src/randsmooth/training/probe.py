"""How often a model classifies each training image correctly under noise."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn

from randsmooth import models
from randsmooth.data import Images
from randsmooth.methods import Probe
from randsmooth.noise import Stream, draw, frozen, noisy_logits

SAMPLES = 2048  # forward samples at a time
AUGMENT = 1  # appended to the address of a chunk's noise


def make_probe(model: nn.Module, images: Images, sigma: float, stream: Stream, device: torch.device) -> Probe:
    """A `Probe` of `model` on `images`: (M,) indices and m -> (M,) counts of correctly classified noisy copies.

    `stream` belongs to the epoch. Noise and augmentation of a call are addressed by m and the place in the indices.
    """

    @torch.inference_mode()
    def probe(indices: Tensor, m: int, of: str | None = None, *, augmented: bool = False) -> Tensor:
        def crops(place: int) -> Generator | None:
            return stream.at(m, place, AUGMENT).torch(images.device) if augmented else None

        network = model if of is None else models.load(of, device=device)
        chunks = indices.split(max(1, SAMPLES // m))
        counts = []
        with frozen(network):
            for place, (x, y) in enumerate(images.batches(list(chunks), crops)):
                noise = draw((m, *x.shape), sigma, stream=stream.at(m, place), device=device)
                right = noisy_logits(network, x, noise).argmax(dim=-1) == y  # (m, B)
                counts.append(right.sum(dim=0))
        return torch.cat(counts).cpu()

    return probe
