from .balls import ball_under as ball_under
from .balls import inside as inside
from .balls import on_grid as on_grid
from .choice import differentiable_copy as differentiable_copy
from .choice import make_search as make_search
