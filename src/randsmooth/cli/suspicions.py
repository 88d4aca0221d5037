"""What a finished certification shows of a mistake in how the model was trained or called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates

FEW = 10  # images that show nothing
FEW_SAMPLES = 100  # of an image, which leave even good models undecided


def suspicions(table: Certificates) -> list[str]:
    """Sentences where most images abstain, or all that are certified get one class; usually none.

    A model that never saw noise, or gets its images normalised twice or not at all, looks like this.

    Example:
        >>> from randsmooth.certificates import from_counts
        >>> counts0, counts = [[9, 1]] * 12, [[90, 10]] * 12
        >>> table = from_counts(counts, counts0=counts0, label=[0, 1] * 6, sigma=0.5, alpha=0.001, name="mine")
        >>> print(suspicions(table)[0].partition(";")[0])
        all 12 images that are certified get class 0
    """
    import numpy as np

    if len(table) < FEW or table.header.label_aware or table.rule.sequential:
        return []
    certified = table.predict[table.predict >= 0]
    away = len(table) - len(certified)
    found = []
    if 2 * away > len(table) and (table.header.n or FEW_SAMPLES) >= FEW_SAMPLES:
        found.append(f"most images abstain ({away} of {len(table)})")
    if len(certified) >= FEW and table.labelled and len(set(certified)) == 1 < len(np.unique(table.label)):
        found.append(f"all {len(certified)} images that are certified get class {table.class_name(certified[0])}")
    way = (
        f"was the model trained with noise of sigma {table.header.sigma:g}, and does it take images in [0, 1]? "
        "--sigma 0.01 shows what it answers without noise"
    )
    return [f"{' and '.join(found)}; {way}"] if found else []
