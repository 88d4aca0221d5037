from . import bounds as bounds
from . import certificates as certificates
from . import certification as certification
from . import data as data
from . import methods as methods
from . import metrics as metrics
from . import models as models
from . import noise as noise
from . import papers as papers
from . import report as report
from . import testing as testing
from . import training as training
from .certificates import ABSTAIN as ABSTAIN
from .certificates import Certificates as Certificates
from .certificates import CertificationSettings as CertificationSettings
from .certificates import from_counts as from_counts
from .certificates import read as read
from .certification import SmoothedClassifier as SmoothedClassifier
from .certification import certify as certify
from .certification import load_model as load_model
from .errors import InputError as InputError
from .models import Denoised as Denoised
from .models import DiffusionDenoiser as DiffusionDenoiser
from .training import TrainingSettings as TrainingSettings
from .training import train as train
from .training import train_denoiser as train_denoiser

__version__: str
