"""Rounded noise drawn on an accelerator: the same integers as on the CPU, from the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from randsmooth.noise.philox import LANES, computed_words, signed
from randsmooth.noise.streams import Stream
from randsmooth.noise.thresholds import (
    FIRST,
    FIRST_BITS,
    MORE,
    MORE_BITS,
    OPEN,
    Thresholds,
    beyond,
    counters,
    first_looks,
)

SIGN = signed(1 << 63)  # the words of unsigned numbers, with this bit turned over, are in order as signed ones


class Copies(NamedTuple):
    """Noisy copies to be drawn: `samples` of the image x (C, H, W), from `stream`.

    Example:
        >>> from randsmooth.noise import grid_sampler
        >>> groups = [Copies(torch.zeros(1, 2, 2), Stream(seed, "mine"), 3) for seed in (0, 1)]
        >>> noisy = torch.empty(6, 1, 2, 2)
        >>> grid_sampler(0.5).draw_together(noisy, groups)
        >>> torch.equal(noisy[:3], noisy[3:])
        False
    """

    x: Tensor
    stream: Stream
    samples: int


class GridOnDevice:
    """Draws clip(k + J) / 255, with k + J clipped to `low` and `high`, on `device`.

    Everything is drawn in whole numbers, and k/255 is read from a table that the CPU divided, since a GPU multiplies by
    1/255 instead, which rounds differently.
    """

    def __init__(self, thresholds: Thresholds, low: int, high: int, device: torch.device) -> None:
        self.host, self.low, self.high, self.device = thresholds, low, high, device
        self.table = torch.from_numpy(first_looks(thresholds)).int().to(device)
        self.thresholds = torch.from_numpy(thresholds.rounded.view(np.int64) ^ SIGN).to(device)
        levels = np.arange(low, high + 1, dtype=np.float32) / np.float32(255.0)
        self.levels = torch.from_numpy(levels).to(device)

    def draw(self, out: Tensor, groups: Sequence[Copies]) -> None:
        """Set `out` (n, C, H, W), contiguous float32, to the samples of `groups`, n together, one after another.

        They share each kernel, so that many small groups take no longer than a single one.
        """
        group, row = self._rows([each.samples for each in groups])
        streams = torch.tensor([each.stream.philox().signed() for each in groups]).to(self.device)
        drawn = self._integers(group, row, streams, out[0].numel(), groups)
        k = torch.stack([(each.x * 255.0).round().int() for each in groups])
        whole = k.index_select(0, group).add_(drawn.view(out.shape)).clamp_(self.low, self.high)
        torch.index_select(self.levels, 0, whole.sub_(self.low).view(-1), out=out.view(-1))

    def _rows(self, samples: Sequence[int]) -> tuple[Tensor, Tensor]:
        """(n,) the group that each row of a batch belongs to, and (n,) its number in the group."""
        group = torch.arange(len(samples)).repeat_interleave(torch.tensor(samples))
        row = torch.cat([torch.arange(each) for each in samples])
        return group.to(self.device), row.to(self.device)

    def _integers(self, group: Tensor, row: Tensor, streams: Tensor, pixels: int, groups: Sequence[Copies]) -> Tensor:
        """(n * pixels,) J."""
        of_a_row = torch.arange(counters(pixels), device=self.device)
        places = row[:, None] * counters(pixels) + of_a_row
        words = computed_words(streams[group][:, None], FIRST, places)
        bits = words.view(torch.int16).flatten(1)[:, :pixels].reshape(-1).int() & ((1 << FIRST_BITS) - 1)
        drawn = self.table.index_select(0, bits)
        undecided = (drawn == OPEN).nonzero()[:, 0]  # for which the host waits
        if len(undecided):
            drawn[undecided] = self._decided(undecided, bits[undecided], group, streams, pixels, groups)
        return drawn

    def _decided(
        self, places: Tensor, bits: Tensor, group: Tensor, streams: Tensor, pixels: int, groups: Sequence[Copies]
    ) -> Tensor:
        """(len(places),) J at the places of a batch that their first `bits` leave open."""
        own = group[places // pixels]
        begin = torch.searchsorted(own, torch.arange(len(groups), device=self.device))  # `own` ascends
        number = torch.arange(len(places), device=self.device) - begin[own]  # among those of the group
        words = computed_words(streams[own], MORE, number // LANES)
        more = words.gather(1, (number % LANES)[:, None])[:, 0] >> FIRST_BITS & ((1 << MORE_BITS) - 1)
        numbers = (bits.long() << MORE_BITS | more) ^ SIGN
        cells = torch.searchsorted(self.thresholds, numbers)
        met = (self.thresholds[cells.clamp_max(len(self.thresholds) - 1)] == numbers).nonzero()[:, 0].tolist()
        found = (cells + self.host.first).int()
        further = [beyond(each.stream.philox()) for each in groups] if met else []
        for i in met:  # once in 10^14 of those that were open
            number_met = np.array([int(numbers[i]) ^ SIGN]).view(np.uint64)
            found[i] = int(self.host.cells(number_met, further[int(own[i])])[0])
        return found
