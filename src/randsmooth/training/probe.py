"""How often a model classifies each training image correctly under noise."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn

from randsmooth import models
from randsmooth.data import Images
from randsmooth.methods import Probe
from randsmooth.noise import Stream, draw, frozen, noisy_logits
from randsmooth.training.ranks import ALONE, Ranks

SAMPLES = 2048  # forward samples at a time
AUGMENT = 1  # appended to the address of a chunk's noise


def make_probe(
    model: nn.Module, images: Images, sigma: float, stream: Stream, device: torch.device, ranks: Ranks = ALONE
) -> Probe:
    """A `Probe` of `model` on `images`: (M,) indices and m -> (M,) counts of correctly classified noisy copies.

    `stream` belongs to the epoch. Noise and augmentation of a call are addressed by m and the place in the indices.
    The `ranks` take turns: each counts for every so many chunks of the images, and all get all counts.
    """

    @torch.inference_mode()
    def probe(indices: Tensor, m: int, of: str | None = None, *, augmented: bool = False) -> Tensor:
        network = model if of is None else models.load(of, device=device)
        chunks = indices.split(max(1, SAMPLES // m))
        own = range(ranks.rank, len(chunks), ranks.number)

        def crops(k: int) -> Generator | None:
            return stream.at(m, own[k], AUGMENT).torch(images.device) if augmented else None

        counts = [torch.zeros(len(chunk), dtype=torch.int64, device=device) for chunk in chunks]
        with frozen(network):
            batches = images.batches([chunks[place] for place in own], crops)
            for place, (x, y) in zip(own, batches, strict=True):
                noise = draw((m, *x.shape), sigma, stream=stream.at(m, place), device=device)
                right = noisy_logits(network, x, noise).argmax(dim=-1) == y  # (m, B)
                counts[place] = right.sum(dim=0)
        return ranks.sum(torch.cat(counts)).cpu()

    return probe
