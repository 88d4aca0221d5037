from .address import address_of as address_of
from .attacked import Attacked as Attacked
from .freezing import frozen as frozen
from .gaussian import draw as draw, fill as fill, perturb as perturb
from .geometry import DAMP as DAMP, within_ball as within_ball
from .losses import divergence as divergence, full as full, noisy_logits as noisy_logits
from .on_images import ddn as ddn, gradient_free as gradient_free, pgd as pgd
from .on_noises import ball_attack as ball_attack, sphere_attack as sphere_attack
from .pixel_grid import check_on_lattice as check_on_lattice, lattice as lattice
from .stream import Stream as Stream, fresh_seed as fresh_seed
