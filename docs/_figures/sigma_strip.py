"""Draw a digit under noise of the usual sigmas: images/sigma-strip.png.

python docs/_figures/sigma_strip.py
"""

from __future__ import annotations

import look
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

SIGMAS = (0.0, 0.12, 0.25, 0.5, 1.0)
SHOWN = (-0.5, 1.5)  # as far as is drawn: noise leaves [0, 1] on either side


def main() -> None:
    digit = load_digits().images[0] / 16
    figure, axes = plt.subplots(1, len(SIGMAS), figsize=(5.6, 1.3), layout="constrained")
    for place, sigma in zip(axes, SIGMAS, strict=True):
        noisy = digit + sigma * np.random.default_rng(0).standard_normal(digit.shape)
        place.imshow(noisy, cmap="gray", vmin=SHOWN[0], vmax=SHOWN[1])
        place.set_title(f"sigma {sigma:g}" if sigma else "image", fontsize=10)
        place.axis("off")
    look.save(figure, "sigma-strip.png")


if __name__ == "__main__":
    main()
