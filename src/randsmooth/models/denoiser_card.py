"""The card of a denoiser: the README.md that travels with its weights."""

from __future__ import annotations

from typing import Any

from randsmooth.escape import markdown
from randsmooth.models.card import TRAINING, cell, rows

TEMPLATE = (
    """\
---
{{ card_data }}
---

# {{ arch }}{{ " on " + dataset if dataset }}: a denoiser for denoised smoothing

It takes noisy images of {{ channels }} channel{{ "s" if channels != 1 }}, with pixels in [0, 1] before the noise, and
returns images.
{{ "It was trained for noise of sigma = %s." | format(sigma) if sigma is not none
   else "The sigma that it was trained for is not recorded." }}
Before a classifier that never saw noise, it makes a base classifier for randomized smoothing.

In Python:

```python
import randsmooth

base = randsmooth.Denoised("FOLDER", classifier)
smoothed = randsmooth.SmoothedClassifier(base, sigma={{ sigma if sigma is not none else "SIGMA" }})
```

On the command line:

```sh
randsmooth certify CLASSIFIER --denoiser FOLDER
```

"""
    + TRAINING
)


def fields(config: dict[str, Any], sigma: float | None) -> dict[str, Any]:
    """What the template needs, from a denoiser's `config`."""
    dataset = config["provenance"].get("dataset")
    return {
        "arch": markdown(config["arch"]),
        "channels": config["channels"],
        "dataset": cell(dataset) if dataset else None,
        "sigma": sigma,
        "rows": rows(config["provenance"]),
    }
