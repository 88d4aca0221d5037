"""How much each departure from a paper's text or its released code moves the loss: the figures of docs/departures.md.

    python benchmarks/departures.py MODEL_DIR [--images 128] [--m 4] [--sigma 0.5] [--sharpen 8]

MODEL_DIR is a trained model; the images are the first of its data set's training split, in eval mode, each under the
same m noises whichever way its loss is taken. `--sharpen` multiplies the logits, which moves no decision and makes the
network surer.
"""

import argparse
import math

import torch
from torch import Tensor, nn

from randsmooth import data, methods, models
from randsmooth.attacks import DAMP, ball_attack, ddn, noisy_logits, pgd
from randsmooth.attacks.shared import norms, within_ball
from randsmooth.noise import Stream, draw


class Case:
    """Images x (B, C, H, W) labelled y, and m noises of each, under one model."""

    def __init__(self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor) -> None:
        self.model, self.x, self.y, self.noise = model, x, y, noise
        self.m = len(noise)
        with torch.no_grad():
            self.logits = noisy_logits(model, x, noise)  # (m, B, K)

    def at(self, points: Tensor) -> float:
        """Mean cross-entropy at attacked images (B, ...) or noises (m, B, ...)."""
        x, noise = (
            (points, self.noise) if points.dim() == self.x.dim() else (self.x, points)
        )
        with torch.no_grad():
            logits = noisy_logits(self.model, x, noise)
        return float(
            nn.functional.cross_entropy(logits.flatten(0, 1), self.y.repeat(self.m))
        )


class Sharpened(nn.Module):
    """A network whose logits are multiplied."""

    def __init__(self, model: nn.Module, factor: float) -> None:
        super().__init__()
        self.model, self.factor = model, factor

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * self.model(x)  # type: ignore[no-any-return]


def image_attacks(case: Case) -> dict[str, float]:
    """DDN and PGD at the images, ours and as released; of PGD with either step for a zero gradient."""
    given, found = (case.model, case.x, case.y, case.noise), {}
    for released in (False, True):
        points = ddn(*given, steps=10, eps=1.0, released=released).points
        found[f"DDN, {'as released' if released else 'ours'}"] = case.at(points)
    for eps in (1.0, 2.0):
        found[f"PGD, eps {eps:g}, ours"] = case.at(
            pgd(*given, steps=10, step=eps / 5.0, eps=eps).points
        )
        for random in (True, False):
            at, zero = released_pgd(case, eps, random=random)
            found[
                f"eps {eps:g}, as released, {'random' if random else 'no'} step for a zero gradient"
            ] = case.at(at)
        found[f"eps {eps:g}, zero gradients as released, share of steps"] = zero
    return found


def released_pgd(
    case: Case, eps: float, steps: int = 10, *, random: bool
) -> tuple[Tensor, float]:
    """PGD on SmoothAdv's released losses, which round where ours keeps digits, and its share of zero gradients.

    With one noise the loss is the sum of the cross-entropies; with several it is the mean over the images of the
    logarithm of the mean probability, held above 1e-20. `random`: an image whose gradient's norm rounds to 0 takes a
    step along a standard normal draw, not scaled to length 1, as there; else none.
    """
    at, draws, zeros = case.x, torch.Generator().manual_seed(0), 0.0
    for _ in range(steps):
        at = at.detach().requires_grad_()
        logits = noisy_logits(case.model, at, case.noise)
        if case.m == 1:
            loss = nn.functional.cross_entropy(logits[0], case.y, reduction="sum")
        else:
            loss = nn.functional.nll_loss(
                logits.softmax(dim=-1).mean(dim=0).clamp_min(1e-20).log(), case.y
            )
        (gradient,) = torch.autograd.grad(loss, at)
        none = norms(gradient).flatten() == 0.0
        zeros += float(none.float().mean()) / steps
        step = gradient / norms(gradient)
        step[none] = torch.randn(step[none].shape, generator=draws) if random else 0.0
        moved = (at + 2.0 * eps / steps * step).clamp(0.0, 1.0)
        at = case.x + within_ball(moved - case.x, eps)
    return at.detach(), zeros


def sphere(case: Case) -> dict[str, float]:
    """Amplify's attack by unit and by damped steps: the loss, and what it fools of noises by their margin."""
    found: dict[str, float] = {}
    top = case.logits.topk(2, dim=-1).values
    right = case.logits.argmax(dim=-1) == case.y
    margin = torch.where(right, top[..., 0] - top[..., 1], -1.0)
    for gradient in ("unit", "damped"):
        amplify = methods.create("amplify", m=case.m, T=6, eps=0.25, gradient=gradient)
        points = amplify.walk(case.model, case.x, case.y, case.noise).points  # type: ignore[attr-defined]
        found[f"sphere attack, {gradient}: loss"] = case.at(points)
        with torch.no_grad():
            fooled = noisy_logits(case.model, case.x, points).argmax(dim=-1) != case.y
        turned = (points - case.noise).flatten(2).norm(dim=2) / case.noise.flatten(
            2
        ).norm(dim=2)
        for low, high in ((0.0, 10.0), (10.0, 20.0), (20.0, 1e9)):
            some = (margin >= low) & (margin < high)
            what = f"{gradient}, margin {low:g} to {high:g} ({float(some.float().mean()):.1%} of noises)"
            if some.any():
                found[f"{what}: fooled"] = float(fooled[some].float().mean())
                found[f"{what}: moved, of the norm"] = float(turned[some].mean())
    return found


def noise_attacks(case: Case) -> dict[str, float]:
    """CAT-RS's attack with standard deviations and unit gradients, and with each of the released code's changes."""
    copies, labels = case.x.repeat(case.m, 1, 1, 1), case.y.repeat(case.m)

    def loss(**how: object) -> float:
        noise = case.noise.flatten(0, 1)
        walk = ball_attack(case.model, copies, labels, noise, steps=4, eps=1.0, **how)  # type: ignore[arg-type]
        return case.at(walk.points.view_as(case.noise))

    return {
        "CAT-RS's attack": loss(),
        "by root mean squares": loss(rms=True),
        "damped": loss(damp=case.m * DAMP),
    }


def macer_floor(case: Case) -> dict[str, float]:
    """MACER's classification term, and with 1e-10 added in its logarithm."""
    label = case.logits.softmax(dim=-1).mean(dim=0).gather(1, case.y[:, None])
    sums = case.logits.log_softmax(dim=-1).logsumexp(dim=0).gather(1, case.y[:, None])
    return {
        "MACER, classification": float(math.log(case.m) - sums.mean()),
        "with 1e-10 in the logarithm": float(-(label + 1e-10).log().mean()),
        "share of images below 1e-10": float((label < 1e-10).float().mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--images", type=int, default=128)
    parser.add_argument("--m", type=int, default=4)
    parser.add_argument(
        "--sigma", type=float, default=None, help="default: the model's own"
    )
    parser.add_argument("--sharpen", type=float, default=1.0)
    options = parser.parse_args()
    model = models.load(options.model)
    sigma = options.sigma or model.provenance["sigma"]
    images = data.load(model.provenance["dataset"], "train")
    x, y = images.batch(torch.arange(options.images))
    case = Case(
        Sharpened(model, options.sharpen),
        x,
        y,
        draw((options.m, *x.shape), sigma, stream=Stream(0, "departures")),
    )
    print(f"cross-entropy at the Gaussian noises: {case.at(case.noise):.4f}")
    for part in (macer_floor, sphere, noise_attacks, image_attacks):
        for what, value in part(case).items():
            print(f"{what}: {value:.4f}", flush=True)


if __name__ == "__main__":
    main()
