from .base import Backend as Backend
from .choose import BACKENDS as BACKENDS
from .choose import CLEARLY as CLEARLY
from .choose import candidates as candidates
from .choose import fastest as fastest
from .choose import make_backend as make_backend
from .choose import usual_backend as usual_backend
