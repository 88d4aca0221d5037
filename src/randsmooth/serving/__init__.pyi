from .launching import serve as serve
from .limits import Limits as Limits
from .served import Moment as Moment
from .served import Served as Served
from .space import write_space as write_space
