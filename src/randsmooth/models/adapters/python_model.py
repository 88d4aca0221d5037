"""A base classifier that is called in Python on NumPy arrays."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor

from randsmooth.models.adapters.foreign_model import ForeignModel


class PythonModel(ForeignModel):
    """A base classifier that is called in Python, with as many images at once as one likes.

    Attributes:
        padded: whether it is to be called with batches of one size only, filled up with images whose answers are thrown
            away, so that an answer's last bits never depend on how full a batch is; False where every answer costs.

    Example:
        >>> import torch
        >>> class Brightness(PythonModel):
        ...     kind, num_classes = "brightness", 2
        ...     def weights_hash(self):
        ...         return "sha256:none"
        ...     def answer(self, noisy):
        ...         bright = noisy.mean(dim=(1, 2, 3))
        ...         return torch.stack([1 - bright, bright], dim=1)
        >>> Brightness().answer(torch.ones(2, 1, 8, 8)).argmax(dim=1)
        tensor([1, 1])
    """

    padded: bool = True

    @abstractmethod
    def answer(self, noisy: Tensor) -> Tensor:
        """(B, K) logits or votes of noisy images (B, C, H, W) float32, on any device.

        Raises:
            InputError: it refuses them, or its answer is neither logits nor labels.
        """
