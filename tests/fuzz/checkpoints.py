"""Checkpoints of other projects, as `randsmooth import` reads them."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import torch

from fuzz.draw import Draw
from fuzz.plain import bent
from fuzz.reader import Files, Reader
from fuzz.torch_archive import inflating, rezipped
from randsmooth import models

FILE = "checkpoint.pth.tar"


class Foreign(Reader):
    """A checkpoint without a digest: another valid file cannot be told from it, but must be a whole network."""

    name = "foreign-checkpoint"
    signed = False
    target = FILE

    def valid(self) -> list[Files]:
        return [_saved(prefix) for prefix in ("1.", "1.module.", "")]

    def bombs(self) -> list[Files]:
        (files, *_) = self.valid()
        huge = {"1.conv1.weight": torch.zeros(1).expand(16, 1, 3, 3), "1.layer1.0.x": torch.zeros(1).expand(2**40)}
        buffer = io.BytesIO()
        torch.save({"state_dict": huge, "arch": "cifar_resnet9998"}, buffer)
        return [{FILE: inflating(files[FILE], 700)}, {FILE: buffer.getvalue()}]

    def read(self, folder: Path) -> Any:
        model = models.import_checkpoint(folder / FILE, "digits", normalise="none")
        with torch.inference_mode():
            answer = model(torch.full((1, *model.shape), 0.5))
        return {"arch": model.arch, "state": model.state_dict(), "answer": answer}

    def fault(self, read: Any) -> str:
        wrong = [name for name, tensor in read["state"].items() if not bool(torch.isfinite(tensor).all())]
        return f"{wrong[0]} is not finite" if wrong else ""

    def bent(self, files: Files, draw: Draw) -> Files | None:
        """With a record of the archive changed, or a value in it."""
        if draw.chance(0.5):
            return {FILE: rezipped(files[FILE], draw)}
        buffer = io.BytesIO()
        try:
            torch.save(bent(torch.load(io.BytesIO(files[FILE]), weights_only=True), draw), buffer)
        except Exception:  # what cannot be saved is no file
            return None
        return {FILE: buffer.getvalue()}


@cache
def _saved(prefix: str) -> Files:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(len(prefix))
        network = models.build("resnet8", in_channels=1, image_size=8, num_classes=10)
    state = {f"{prefix}{name}": tensor for name, tensor in network.state_dict().items()}
    buffer = io.BytesIO()
    torch.save({"epoch": 90, "arch": "cifar_resnet8", "state_dict": state} if prefix else state, buffer)
    return {FILE: buffer.getvalue()}
