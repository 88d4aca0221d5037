from .graph import Graph as Graph
from .graph import Step as Step
