from .balls import ball_under as ball_under
from .balls import inside as inside
from .balls import on_grid as on_grid
from .base import BallSearch as BallSearch
from .choice import differentiable_copy as differentiable_copy
from .choice import make_search as make_search
from .gradient import GradientSearch as GradientSearch
from .gradient_free import GradientFreeSearch as GradientFreeSearch
