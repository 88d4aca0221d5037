from .datasets import check_dataset as check_dataset
from .methods import check_method as check_method
from .networks import check_architecture as check_architecture
from .networks import check_backend as check_backend
from .panels import check_panel as check_panel
from .rules import check_rule as check_rule
from .rules import evidence_of as evidence_of
from .rules import walks as walks
