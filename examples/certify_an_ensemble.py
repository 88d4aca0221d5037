"""Certify several models as one, of several kinds, and stop where the first two agree.

python examples/certify_an_ensemble.py
"""

from __future__ import annotations

import numpy as np
import torch
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from torch import nn

import randsmooth as rs

SIGMA = 0.25


def noisy_digits(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Flat noisy digits and their labels, with noise of their own."""
    digits = rs.data.load("digits", "train")
    x, y = digits.batch(torch.arange(len(digits)))
    noise = np.random.default_rng(seed).normal(size=(len(x), 64))
    return x.flatten(1).numpy() + SIGMA * noise, y.numpy()


def members() -> list[object]:
    """A torch module, a scikit-learn forest and a function."""
    fitted = [
        LogisticRegression(max_iter=300).fit(*noisy_digits(seed)) for seed in range(2)
    ]
    linear = nn.Linear(64, 10)
    linear.weight.data, linear.bias.data = (
        torch.tensor(part).float() for part in (fitted[0].coef_, fitted[0].intercept_)
    )
    forest = ExtraTreesClassifier(20, random_state=0).fit(*noisy_digits(2))

    def function(images: np.ndarray) -> np.ndarray:
        return fitted[1].decision_function(images.reshape(len(images), -1))

    named = rs.models.FunctionModel(
        function, num_classes=10, identity="logistic regression, seed 1"
    )
    return [nn.Sequential(nn.Flatten(), linear).eval(), named, forest]


def main() -> None:
    digits = rs.data.load("digits")
    x, y = digits.batch(rs.data.take(len(digits), 20))
    parts = members()
    whole = {
        "the module alone": parts[0],
        "mean probabilities": rs.Ensemble(
            parts[:2], "probabilities"
        ),  # the forest says labels, which have no mean
        "vote": rs.Ensemble(parts, "vote"),
        "vote, the third asked where two differ": rs.Ensemble(
            parts, "vote", consensus=2
        ),
    }
    for name, model in whole.items():
        certified = rs.SmoothedClassifier(model, sigma=SIGMA, seed=0).certify(
            x, n0=100, n=1000
        )
        right = certified.predict == y.numpy()
        print(
            f"{name}: {right.mean():.0%} certified and right, mean radius {(certified.radius * right).mean():.3f}"
        )


if __name__ == "__main__":
    main()
