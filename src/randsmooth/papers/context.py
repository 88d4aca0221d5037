"""What a reproduction works with: the certificates and models at hand, how large its runs are, and their steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from randsmooth import metrics
from randsmooth.launch.chains import Step
from randsmooth.papers.cell_comparison import (
    CellComparison,
    agreement_of,
    compare_cells,
    lack,
)
from randsmooth.papers.find_certificates import CertificateFile, certificates_for
from randsmooth.papers.published_values import PaperRow, named
from randsmooth.report.grouping import gathered


@dataclass(frozen=True)
class Scale:
    """How far the runs of a reproduction are reduced from those of the paper.

    Attributes:
        dataset, arch: used in place of the paper's; None keeps the paper's.
        epochs: None keeps the paper's; with fewer the schedule is compressed.
        train_images: how many to train on; None for all.
        images: how many to certify; 0 for as many as the paper.
        n0, n: samples per image, to pick the class and to bound its probability.
        teacher_noises: noisy copies of each image that a teacher sees; None keeps the paper's number.

    Example:
        >>> from randsmooth.papers import SCALES
        >>> SCALES["cpu"].epochs, SCALES["cpu"].n
        (8, 10000)
    """

    dataset: str | None
    arch: str | None
    epochs: int | None
    train_images: int | None
    images: int
    n0: int
    n: int
    teacher_noises: int | None = None

    def dataset_of(self, row: PaperRow) -> str:
        return self.dataset or row.dataset

    def model_folder_name(self, row: PaperRow) -> str:
        """Name of the row's model folder."""
        return f"{self.dataset_of(row)}-{row.preset.replace('/', '-')}-{row.sigma:g}"


SCALES = {
    "tiny": Scale(
        "digits", "small-cnn", 2, None, 40, 50, 500, 64
    ),  # shows that it runs
    "cpu": Scale(None, None, 8, 20_000, 500, 100, 10_000, 1000),
    "paper": Scale(None, None, None, None, 0, 100, 100_000),
}
# Every k-th test image of these data sets is certified, as in the literature; of the others, every image.
SKIPPED = {"imagenet": 100, "svhn": 20}
ABLATED = 20  # CAT-RS's ablations on CIFAR-10, tables 3 and 5 to 7, have 500 of its images (section 4.3)
TEACHER_SIGMA = 0.25  # the released CAT-RS code: one Gaussian-trained teacher for every sigma, under 10,000 noises


def steps_for(row: PaperRow, scale: Scale, folder: Path) -> list[Step]:
    """The steps that train and certify a row's model in `folder`, preceded by that of its teacher if any."""
    wanted = _teacher(row)
    sigma = TEACHER_SIGMA if wanted == "teacher" else row.sigma
    teacher = PaperRow(
        row.paper, row.dataset, sigma, "gaussian", "", f"{row.paper}/gaussian"
    )
    before = (_train(teacher, scale, folder, {}),) if wanted else ()
    given: dict[str, Any] = (
        {wanted: str(folder / scale.model_folder_name(teacher))} if wanted else {}
    )
    if wanted == "teacher" and scale.teacher_noises:
        given["teacher_noises"] = scale.teacher_noises
    train = _train(row, scale, folder, given, before)
    return [*before, train, _certify(row, scale, train)]


def _teacher(row: PaperRow) -> str:
    """The name of the setting that names another model, for a row that needs one; else empty."""
    from randsmooth.training.presets import named

    preset = named(row.preset)[0]
    if (
        preset.method == "cat-rs"
        and preset.hyperparameters(row.sigma).get("variant") == "released"
    ):
        return "teacher"
    return (
        "p_A_from" if preset.method == "amplify" and row.dataset == "imagenet" else ""
    )


def _train(
    row: PaperRow,
    scale: Scale,
    folder: Path,
    given: dict[str, Any],
    before: tuple[Step, ...] = (),
) -> Step:
    out = folder / scale.model_folder_name(row)
    options: dict[str, Any] = {
        "preset": row.preset,
        "sigma": row.sigma,
        "anywhere": scale.dataset is not None,
    }
    options |= {
        "arch": scale.arch,
        "epochs": scale.epochs,
        "take": scale.train_images,
        "set": given,
        "out": out,
    }
    return Step(
        f"{out.name}/train", "train", scale.dataset_of(row), options, out, before
    )


def skip_of(row: PaperRow) -> int | None:
    """k where every k-th test image is certified for the row; None where all are."""
    return (
        ABLATED
        if row.setting and (row.paper, row.dataset) == ("cat-rs", "cifar10")
        else SKIPPED.get(row.dataset)
    )


def _certify(row: PaperRow, scale: Scale, train: Step) -> Step:
    chosen, table = (
        {"take": scale.images} if scale.images else {"skip": skip_of(row)},
        train.beside(".parquet"),
    )
    options = {**chosen, "n0": scale.n0, "n": scale.n, "out": table}
    return Step(
        f"{train.chain}/certify", "certify", str(train.makes), options, table, (train,)
    )


@dataclass(frozen=True)
class Context:
    """The certificates and models at hand.

    Attributes:
        found: the certificate files.
        scale: the size of the models that are made, or would be, in `folder`.
        skipped: a sentence for each file that could not be used.
    """

    found: tuple[CertificateFile, ...]
    scale: Scale
    folder: Path
    skipped: tuple[str, ...] = ()

    def certificates_of(self, row: PaperRow) -> CertificateFile | None:
        """The certificates to show for a row, the first by `_order` where several fit; None where none do."""
        fit = self._fitting(row)
        return (
            fit[0]
            if len(fit) == 1
            else min(fit, key=lambda found: _order(row, found), default=None)
        )

    def compared(
        self, rows: Sequence[PaperRow], beyond: Sequence[dict[str, float]] = ()
    ) -> CellComparison:
        """The rows beside the certificates to show for them, and what is known `beyond` these of each row."""
        return compare_cells(rows, [self.certificates_of(row) for row in rows], beyond)

    def lack(self, row: PaperRow, *, p_a: bool = False) -> str:
        """Why the certificates at hand are not enough for the row, which may need p_A; empty where they are."""
        found = self.certificates_of(row)
        unknown = p_a and found is not None and not metrics.knows_p_a(found.table)
        why = lack(None if found is None else agreement_of(row, found))
        return why or "certificates that do not tell p_A" * unknown

    def notes_on(self, rows: Sequence[PaperRow]) -> list[str]:
        """What was inferred about the rows' logs or changed in them, and which rows had several logs to choose from."""
        shown = [
            (row, found)
            for row in rows
            if (found := self.certificates_of(row)) is not None
        ]
        notes = gathered(
            (_in_short(note, row), row)
            for row, found in shown
            for note in found.table.header.notes
        )
        sentences = [
            f"{'all' if len(own) == len(shown) > 1 else named(own)}: {note}"
            for note, own in notes.items()
        ]
        return sentences + [
            note for row, found in shown if (note := self._choice(row, found))
        ]

    def _choice(self, row: PaperRow, shown: CertificateFile) -> str:
        """A note that names the table that is shown, unless it is the only log, and the others that fit the row."""
        others = [found for found in self._fitting(row) if found is not shown]
        if shown.log and not others:
            return ""
        listed = ", ".join(
            f.path.name if f.path.parent == shown.path.parent else str(f.path)
            for f in others
        )
        fit = (
            f" of {len(others) + 1} files that fit; the others: {listed}"
            if others
            else ""
        )
        return f"{named([row])}: {shown.path} is shown{fit}"

    def _fitting(self, row: PaperRow) -> list[CertificateFile]:
        return certificates_for(self.found, row, self.scale.dataset_of(row))

    def model(self, row: PaperRow) -> Path | None:
        """The folder of a row's model: of a `reproduce` run, or the one beside the certificates with their name."""
        found, own = (
            self.certificates_of(row),
            self.folder / self.scale.model_folder_name(row),
        )
        places = [own] if found is None else [own, found.path.with_suffix("")]
        return next(
            (place for place in places if (place / "config.json").exists()), None
        )


def _in_short(note: str, row: PaperRow) -> str:
    """The note without what the row's name says, so that one note serves many rows."""
    facts = f"sigma {row.sigma:g}, data set {row.dataset}, method {row.method}"
    return note.replace(f"{facts} as", "sigma, data set and method as")


def _order(
    row: PaperRow, found: CertificateFile
) -> tuple[bool, bool, bool, bool, float, bool, float]:
    """The sorting key by which the certificates to show come first.

    First come those of the row's preset, then logs that are not refuted on equally many images, then logs that a user
    put at DATASET-sigmaSIGMA/METHOD.tsv, then those of at least half as many images, then those that agree best.
    Certificates of few images agree with many a row by chance: they come before neither of these.
    """
    agreed = agreement_of(row, found)
    put = found.place is not None and found.place.filed_by_user
    refuted = agreed.another_run or not agreed.same_images
    few = 2 * len(found.table) < (row.images or 0)
    return (
        found.preset != row.preset,
        refuted,
        not put,
        few,
        agreed.share,
        not agreed.same_images,
        agreed.mean_error,
    )
