"""Signs in a table of certificates that its model was used wrongly."""

import numpy as np

from randsmooth.certificates import Certificates
from randsmooth.noise import Gaussian

# Fewer images, or fewer certified images, are too few to judge by.
LEAST_IMAGES = 10

# With fewer samples of an image, images of good models abstain too.
LEAST_SAMPLES = 100

# Where no label has half of the images, one class has this share of the certified
# images only by mistake.
SUSPICIOUS_CLASS_SHARE = 3 / 4


def suspicions(table: Certificates) -> list[str]:
    """Return a sentence on a suspicious table, alone in a list; usually the list is empty.

    A table is suspicious where most images abstain, or where (nearly) all certified
    images get one class. A model that never saw noise does this, and so does one whose
    images are normalised twice or not at all. The sentence speaks of inputs, because a
    table does not say whether they are images or features.

    Example:
        >>> from randsmooth.certificates import from_counts
        >>> counts0, counts = [[9, 1]] * 12, [[90, 10]] * 12
        >>> how = {"sigma": 0.5, "alpha": 0.001, "name": "mine"}
        >>> table = from_counts(counts, counts0=counts0, label=[0, 1] * 6, **how)
        >>> print(suspicions(table)[0].partition(";")[0])
        12 of 12 inputs that are certified (100%) get class 0
    """
    # Label-aware certification and sequential rules give an image up once its outcome
    # is known: it abstains by intent.
    is_by_intent = table.header.label_aware or table.rule.sequential
    if len(table) < LEAST_IMAGES or is_by_intent:
        return []
    observed = [*_most_abstain(table), *_one_class_prevails(table)]
    if not observed:
        return []

    question = (
        f"was the model trained with the noise {table.noise.text}, and does it "
        "take images in [0, 1], or features in these units?"
    )
    if isinstance(table.noise, Gaussian):
        question += " --sigma 0.01 shows what it answers without noise"
    return [f"{' and '.join(observed)}; {question}"]


def _most_abstain(table: Certificates) -> list[str]:
    """Return a clause where most images abstain after enough samples; else no clause."""
    # A class below 0 is an abstention.
    abstained = int((table.predict < 0).sum())
    # A log that does not say n is taken to have enough.
    n = table.header.n or LEAST_SAMPLES
    if n < LEAST_SAMPLES or 2 * abstained <= len(table):
        return []
    return [f"most inputs abstain ({abstained} of {len(table)})"]


def _one_class_prevails(table: Certificates) -> list[str]:
    """Return a clause where one class has too many certified images; else no clause."""
    certified = table.predict[table.predict >= 0]
    if len(certified) < LEAST_IMAGES or not table.labelled:
        return []

    _, images_by_label = np.unique(table.label, return_counts=True)
    # Images of one label rightly get one class.
    if len(images_by_label) == 1:
        return []
    classes, images_by_class = np.unique(certified, return_counts=True)
    most = int(images_by_class.max())
    share = most / len(certified)
    no_label_prevails = 2 * images_by_label.max() < len(table)
    if share < 1 and not (share >= SUSPICIOUS_CLASS_SHARE and no_label_prevails):
        return []
    name = table.class_name(classes[images_by_class.argmax()])
    # Rounded down, so that 100% means all.
    percent = 100 * most // len(certified)
    return [
        f"{most} of {len(certified)} inputs that are certified ({percent}%) get class "
        f"{name}"
    ]
