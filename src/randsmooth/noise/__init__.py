"""Gaussian sampling with named, position-addressed streams, and attacks on images and on noises."""

from randsmooth.noise.address import address_of
from randsmooth.noise.attacked import Attacked
from randsmooth.noise.frozen import frozen
from randsmooth.noise.gaussian import draw, fill, perturb
from randsmooth.noise.geometry import DAMP, within_ball
from randsmooth.noise.lattice import check_on_lattice, lattice
from randsmooth.noise.losses import divergence, full, noisy_logits
from randsmooth.noise.on_images import ddn, gradient_free, pgd
from randsmooth.noise.on_noises import ball_attack, sphere_attack
from randsmooth.noise.stream import Stream, fresh_seed

__all__ = [
    "DAMP",
    "Attacked",
    "Stream",
    "address_of",
    "ball_attack",
    "check_on_lattice",
    "ddn",
    "divergence",
    "draw",
    "fill",
    "fresh_seed",
    "frozen",
    "full",
    "gradient_free",
    "lattice",
    "noisy_logits",
    "perturb",
    "pgd",
    "sphere_attack",
    "within_ball",
]
