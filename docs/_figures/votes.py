"""Draw images and the votes of their samples, one for each way to abstain: images/abstains-votes.png.

    python docs/_figures/votes.py

The model, the images and the settings are those of docs/abstains.md.
"""

from __future__ import annotations

import look
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from randsmooth import SmoothedClassifier

SIGMA, N, ALPHA = 0.4, 200, 0.001


def chosen(counts: np.ndarray, predict: np.ndarray) -> dict[str, int]:
    """An image of each kind: the one that shows it best."""
    share = np.sort(counts / counts.sum(axis=1, keepdims=True), axis=1)[:, ::-1]
    away = predict == -1
    split = np.where(away, share[:, 0] + share[:, 1] - 2.0 * abs(share[:, 0] - share[:, 1]), -9.0)
    return {
        "certified": int(np.argmax(np.where(away, 0.0, share[:, 0]))),
        "too few samples": int(np.argmax(np.where(away, share[:, 0], 0.0))),
        "two classes alike": int(np.argmax(split)),
        "many classes": int(np.argmin(np.where(away, share[:, 0], 1.0))),
    }


def main() -> None:
    x, y = load_digits(return_X_y=True)
    model = SVC().fit(x[:1500] / 16, y[:1500])
    images = x[1500:1600].reshape(-1, 1, 8, 8).astype(np.float32) / 16
    import torch

    found = SmoothedClassifier(model, sigma=SIGMA, seed=0).certify(torch.from_numpy(images), n=N, alpha=ALPHA)
    kinds = chosen(found.counts, found.predict)
    figure, axes = plt.subplots(
        2, len(kinds), figsize=(5.6, 3.1), layout="constrained", height_ratios=(1, 1.1), sharey="row"
    )
    for (above, below), (kind, i) in zip(axes.T, kinds.items(), strict=True):
        above.imshow(images[i, 0], cmap="gray")
        above.set_title(kind, fontsize=9)
        above.axis("off")
        share = found.counts[i] / N
        below.bar(range(10), share, color=[look.COLOURS[0] if k == y[1500 + i] else "#9a9a9a" for k in range(10)])
        below.axhline(0.5, color="#D55E00", linewidth=1.0)
        below.set_ylim(0.0, 1.0)
        below.set_xticks(range(0, 10, 3))
        below.tick_params(labelsize=8)
        below.spines[["top", "right"]].set_visible(False)
    axes[1, 0].set_ylabel("share of votes", fontsize=9)
    figure.supxlabel("class (blue: the label)", fontsize=9)
    look.save(figure, "abstains-votes.png")


if __name__ == "__main__":
    main()
