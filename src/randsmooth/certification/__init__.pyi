from .checks import check_eval_mode as check_eval_mode
from .dataset import certify as certify, load as load
from .engine import Engine as Engine
from .refutation import Attacks as Attacks, attack as attack
from .runner import certify_images as certify_images, check_fit as check_fit, make_header as make_header
from .same_classifier import certified_as as certified_as, check_answers as check_answers, check_same as check_same
from .smoothed import Certified as Certified, SmoothedClassifier as SmoothedClassifier
from .soft import Figure4 as Figure4, SoftCertified as SoftCertified, certify_soft as certify_soft, figure_4 as figure_4
