"""Named data sets from the Hugging Face hub, through the `datasets` library and its cache."""

from __future__ import annotations

import urllib.error
import urllib.request

from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.table import ImageTable, plain
from randsmooth.errors import InputError
from randsmooth.extras import needs

TIMEOUT_SECONDS = 5.0


def from_hub(spec: DatasetSpec, split: str) -> ImageTable:
    """A split of a data set that has a hub id.

    Raises:
        InputError: within seconds, if the library, the network or the data set is not there.
    """
    with needs(f"the data set {spec.hub} of the hub"):
        import datasets

    _check_reachable()
    try:
        found = datasets.load_dataset(spec.hub, spec.hub_config, split=spec.files[split][0])
    except (OSError, ValueError) as error:
        raise InputError(f"the hub did not give {spec.hub}: {error}") from error
    return ImageTable(plain(found), f"{spec.hub} ({split})")


def _check_reachable() -> None:
    """Raise InputError where the hub cannot be reached: `datasets` itself would retry for half a minute.

    Any answer of the hub is enough. In offline mode nothing is checked, since only the cache is read.
    """
    import datasets
    import huggingface_hub

    if datasets.config.HF_HUB_OFFLINE:
        return
    endpoint = huggingface_hub.constants.ENDPOINT
    try:
        with urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=TIMEOUT_SECONDS):
            pass
    except urllib.error.HTTPError:
        pass
    except OSError as error:
        raise InputError(
            f"cannot reach {endpoint} ({error}); for a data set in the cache, set HF_HUB_OFFLINE=1"
        ) from error
