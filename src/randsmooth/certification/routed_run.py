"""A routed certification of a data set: the router, its experts, and their table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import certificates
from randsmooth.atomic import claimed
from randsmooth.certificates import Certificates
from randsmooth.certificates.files import as_table
from randsmooth.certification.opening import dataset_of
from randsmooth.certification.routed import Routed
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.errors import (
    GO_ON_OR_BEGIN_ANEW,
    BadValue,
    Conflict,
    OutputExists,
)
from randsmooth.models import provenance_of
from randsmooth.notes import Note
from randsmooth.urls import Place, beside, is_url, name_of, place_of

# Certifies one smoothed classifier, as `certification.certify` does.
CertifyOne = Callable[..., Certificates]

# Settings that each part has of its own.
OWN_NOISE = ("sigma", "noise", "sound")

# Options of one run, which name its images.
OF_ONE_RUN = ("shard", "only", "command")


def certify_routed(
    routed: Routed,
    dataset: Any,
    certify_one: CertifyOne,
    *,
    out: Place | None,
    resume: bool,
    overwrite: bool,
    router_rule: str | None,
    options: Mapping[str, Any],
) -> Certificates:
    """Certify a routed classifier in stages, and return the routed table.

    The router certifies all images, without their labels. Each expert certifies those
    that the router's n0 samples name it for. Each stage has a file of its own beside
    `out`, and goes on where it was killed.

    Args:
        routed: the router and its experts.
        dataset: see `certification.certify`.
        certify_one: certifies one part; it is `certification.certify`.
        out: the file of the routed table; None: all stages stay in memory.
        resume, overwrite: go on with an interrupted run, or discard what is there.
        router_rule: the rule of the router; None: that of the experts.
        options: all further keywords of `certification.certify`. Without an alpha, it is
            that of the router.

    Raises:
        Problem: a noise is given, or a shard; or a stage raises it.
    """
    _check_for_all_stages(options)
    if dataset is None:
        # The router may have been trained on other labels of the same data.
        dataset = dataset_of(None, provenance_of(routed.experts[0].model))
    alpha = options.get("alpha")
    if alpha is None:
        alpha = routed.router.settings.alpha
    stages = _Stages(
        certify_one, dataset, out, overwrite, options={**options, "alpha": alpha}
    )
    if out is None:
        return stages.route(routed, router_rule, alpha, name="routed")
    if is_url(out):
        raise BadValue(f"{out} is a URL: a routed run needs a folder for its stages")
    path = Path(place_of(out))
    with claimed(path) as check_claim:
        if not (resume or overwrite):
            _check_new(path, len(routed.experts))
        table = stages.route(routed, router_rule, alpha, name=path.stem)
        check_claim()
        certificates.write_parquet(table, path)
    return table


def _check_for_all_stages(options: Mapping[str, Any]) -> None:
    """Raise Problem for an option that router and experts cannot share."""
    for name in OWN_NOISE:
        if options.get(name):
            raise BadValue(
                field=name,
                value=options[name],
                expected="is not for a routed classifier, whose parts have their own",
                fix="leave it out",
            )
    for name in OF_ONE_RUN:
        if options.get(name) is not None:
            raise Conflict(
                field=name,
                value=options[name],
                expected="is not for all stages of a routed run at once",
                fix=(
                    "certify router and experts in shards, merge these, and route the "
                    "tables"
                ),
            )


@dataclass(frozen=True)
class _Stages:
    """The stages of a routed run.

    Attributes:
        certify_one: certifies one part.
        dataset: the data set.
        out: the file of the routed table; None: all stages stay in memory.
        overwrite: whether to discard what is there.
        options: the keywords that all parts share.
    """

    certify_one: CertifyOne
    dataset: Any
    out: Place | None
    overwrite: bool
    options: Mapping[str, Any]

    def route(
        self, routed: Routed, router_rule: str | None, alpha: float, name: str
    ) -> Certificates:
        """Go through the stages, and return the routed table, called `name`."""
        of_router: dict[str, Any] = {"unlabelled": True, "label_aware": False}
        if router_rule is not None:
            of_router["rule"] = router_rule
        router = self.certify("router", routed.router, of_router)
        router_table = as_table(router)
        gets = certificates.images_of_experts(router_table)
        _tell_shares(router_table, gets)
        experts = []
        for k, expert in enumerate(routed.experts):
            positions = router_table.idx[gets[:, k]].tolist()
            words = f"{len(positions)} images that the router names expert {k} for"
            only = {"only": (tuple(positions), words), "take": None, "skip": None}
            experts.append(self.certify(f"expert{k}", expert, only))
        return certificates.route(router, experts, alpha=alpha, name=name)

    def certify(
        self, name: str, part: SmoothedClassifier, facts: Mapping[str, Any]
    ) -> Place | Certificates:
        """Certify a part, and return its file; where there is no `out`, its table.

        Args:
            name: the name of the stage.
            part: the router or an expert.
            facts: the keywords of this part alone.
        """
        keywords = {**_settings_of(part), **self.options, **facts}
        if self.out is None:
            return self.certify_one(part.model, self.dataset, **keywords)
        file = stage_file(self.out, name)
        self.certify_one(
            part.model,
            self.dataset,
            out=file,
            # To go on with a stage that was never begun is to begin it.
            resume=not self.overwrite,
            overwrite=self.overwrite,
            **keywords,
        )
        return file


def _tell_shares(router: Certificates, gets: NDArray[np.bool_]) -> None:
    """Tell how many images each expert gets, and whether the router always names one.

    Args:
        router: the table of the router.
        gets: (N, K) whether each expert certifies each image.
    """
    K = gets.shape[1]
    counts0, _ = router.evidence()
    first = np.bincount(counts0[:, :K].argmax(axis=1), minlength=K)
    note = Note(
        "images_of_experts",
        images=len(router),
        numbers=gets.sum(axis=0).tolist(),
        only=int(first.argmax()) if first.max() == len(router) else None,
    )
    warnings.warn(note, stacklevel=3)


def stage_file(out: Place, name: str) -> Place:
    """Return the file of a stage of the routed run into `out`.

    Example:
        >>> stage_file("runs/routed.parquet", "router")
        PosixPath('runs/routed-router.parquet')
    """
    stem = name_of(out).removesuffix(".parquet")
    return beside(out, f"{stem}-{name}.parquet")


def _check_new(out: Path, K: int) -> None:
    """Raise Problem where the routed run into `out` was begun before."""
    names = ["router", *(f"expert{k}" for k in range(K))]
    for file in (out, *(Path(stage_file(out, name)) for name in names)):
        for path in (file, file.with_name(f"{file.name}.partial")):
            if path.exists():
                raise OutputExists(f"{path} exists", fix=GO_ON_OR_BEGIN_ANEW, file=path)


def _settings_of(part: SmoothedClassifier) -> dict[str, Any]:
    """Return the settings of a part, with its noise, as keywords."""
    return {name: value for name, value in part.settings if value is not None}
