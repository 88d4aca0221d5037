from .graph import Graph as Graph
from .graph import Step as Step
from .grid import Grid as Grid
from .sweep_graph import graph_of as graph_of
