"""What a user may want to know, although it was dealt with: notes as values, and all of their wording.

A note says of which kind it is, and its facts by name. `WORDING` has the sentence of each
kind, so that a program can tell notes apart without reading one.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from randsmooth.errors import RESUME, Setting, Spell, Words, spelt
from randsmooth.escape import names_of, printable
from randsmooth.number_text import percent

Facts = Mapping[str, Any]


class Note(Warning):
    """A warning about something that a user may want to know, although it was dealt with.

    Attributes:
        kind: one of `WORDING`.
        facts: what its sentence tells, by name.

    Example:
        >>> note = Note("usual_sigma", sigma=0.25)
        >>> print(note)
        sigma=0.25, as none was named
        >>> note.kind, note.facts
        ('usual_sigma', {'sigma': 0.25})
        >>> Note("unheard_of")
        Traceback (most recent call last):
        KeyError: 'unheard_of'

    Raises:
        TypeError: its sentence tells a fact that is not given.
    """

    def __init__(self, kind: str, /, **facts: Any) -> None:
        super().__init__(kind)
        self._wording = WORDING[kind]
        self.kind = kind
        self.facts = facts
        self._check_facts()

    def _check_facts(self) -> None:
        """Fail where a fact is missing, rather than where the note is printed.

        Other programs copy a warning by its class and `args`, which lack the facts; on
        this TypeError they pass its text on instead.
        """
        try:
            self.words()
        except KeyError as error:
            message = f"note {self.kind!r} lacks the fact {error}"
            raise TypeError(message) from error

    def __reduce__(self) -> tuple[Callable[[], Self], tuple[()]]:
        # An exception is pickled by `args` else.
        return partial(type(self), self.kind, **self.facts), ()

    def words(self, spell: Spell = str) -> str:
        """Return the note in a sentence, in which `spell` writes the settings."""
        wording = self._wording
        if callable(wording):
            wording = wording(self.facts)
        parts = wording if isinstance(wording, tuple) else (wording,)
        filled = tuple(
            part.format_map(self.facts) if isinstance(part, str) else part
            for part in parts
        )
        return printable(spelt(filled, spell))

    def to_dict(self) -> dict[str, Any]:
        """Return kind and facts, as JSON can hold them.

        Example:
            >>> Note.from_dict(Note("unlabelled").to_dict()) == Note("unlabelled")
            True
        """
        return {"kind": self.kind, "facts": self.facts}

    @classmethod
    def from_dict(cls, kept: Facts) -> Self:
        """Return the note of which `to_dict` gave kind and facts."""
        return cls(kept["kind"], **kept["facts"])

    def __str__(self) -> str:
        return self.words()

    def __repr__(self) -> str:
        facts = "".join(f", {name}={fact!r}" for name, fact in self.facts.items())
        return f"Note({self.kind!r}{facts})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Note):
            return NotImplemented
        return (self.kind, self.facts) == (other.kind, other.facts)

    def __hash__(self) -> int:
        return hash((self.kind, str(self)))


def counted(number: int, noun: str) -> str:
    """Return a number with what it counts, in the plural unless it is 1.

    Example:
        >>> counted(1, "row"), counted(2000, "row")
        ('1 row', '2,000 rows')
    """
    plural = "" if number == 1 else "s"
    return f"{number:,} {noun}{plural}"


def _large_sigma(facts: Facts) -> Words:
    return (
        Setting("sigma", facts["sigma"]),
        " is {sigma:g} times the range of a pixel, which is from 0 to 1: if it is meant "
        "for pixels in 0..255, give {of_255:.3g}",
    )


def _proportions_lost(facts: Facts) -> Words:
    return (
        Setting("resize", facts["size"]),
        " distorts {image}, which is {sides}, and all images of other proportions: ",
        Setting("resize", facts["side"]),
        " with ",
        Setting("crop", facts["size"]),
        " keeps them, for a model trained so",
    )


def _usual_sigma(facts: Facts) -> Words:
    return (Setting("sigma", facts["sigma"]), ", as none was named")


def _files_left_out(facts: Facts) -> Words:
    """Word files that are not read; `suffixes` are some of their kinds with their numbers."""
    listed = ", ".join(
        f"{count:,} {_literal(suffix)}" for suffix, count in facts["suffixes"].items()
    )
    if sum(facts["suffixes"].values()) < facts["number"]:
        listed += ", ..."
    if facts["number"] == 1:
        return f"left out of {{root}}: 1 file of a kind that is not read ({listed}), {{first}}"
    return (
        f"left out of {{root}}: {{number:,}} files of kinds that are not read ({listed}), "
        "the first of them {first}"
    )


def _images_beside(facts: Facts) -> Words:
    images = counted(facts["number"], "image")
    return f"left out of {{folder}}: {images} beside {{beside}}, the first of them {{first}}"


def _rows_in_no_split(facts: Facts) -> Words:
    rows = counted(facts["number"], "row")
    return f"{{source}}: left out {rows} without a {{column}}, the first of them row {{row}}"


def _unlike_preset(facts: Facts) -> Words:
    changes = ", ".join(
        f"{name} {usual} -> {now}" for name, (usual, now) in facts["changes"].items()
    )
    return f"unlike the preset: {_literal(changes)}"


def _backend_tried(facts: Facts) -> Words:
    rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in facts["rates"].items())
    return f"backend {{backend}}, batches of {{batch}} (images per second: {rates})"


def _right_without_noise(facts: Facts) -> str:
    """Word on how many inputs a model is right without noise, and how many it declines."""
    share = percent(facts["share"])
    words = (
        "without noise the model is right about {right} of {total} of these {inputs} "
        f"({share})"
    )
    if facts["declined"]:
        words += ", and declines {declined}"
    return words


def _hardly_better_than_guessing(facts: Facts) -> Words:
    """Word a model that knows hardly more than guessing, with what may be wrong as questions."""
    questions = []
    if facts["epochs"] is not None:
        epochs = counted(facts["epochs"], "epoch")
        trained_on = ""
        if facts["trained_on"] is not None:
            trained_on = " on {trained_on:,} {inputs}"
        questions.append(f"was it trained long enough ({epochs}{trained_on})")
    numbering = " ({numbering})" if facts["numbering"] else ""
    guess = percent(facts["guess"])
    questions.append(f"are its classes numbered as the data's{numbering}")
    questions.append("and does it take {units}?")
    return (
        f"{_right_without_noise(facts)}, hardly more often than guessing ({guess}): "
        f"{', '.join(questions)}"
    )


def _budgets_differ(facts: Facts) -> Words:
    """Word budgets that differ; `rejudged` if counts can be judged at the smallest."""
    field = facts["field"]
    form, more = BUDGETS[field]
    listed = ", ".join(format(value, form) for value in facts["values"])
    words = f"The tables differ in {field} ({listed}), and {more} alone can raise ACR"
    if not facts["rejudged"]:
        return f"{words}."
    smallest = Setting(field, facts["values"][0])
    return (f"{words}; ", smallest, " judges all tables alike.")


def _not_recorded(facts: Facts) -> Words:
    """Word which settings of tables are not known, and what that costs."""
    missing = facts["missing"]
    words: list[str | Setting] = [
        f"Not known of {{tables}}: {', '.join(missing)}. Tables certified with other "
        "settings cannot be compared; state "
    ]
    for name in missing:
        words += [Setting(name), ", "]
    return (*words[:-1], ".")


def _certified_by_rule(facts: Facts) -> Words:
    """Word how many samples a rule took, and which figures it does not give therefore."""
    clauses = [
        "{table} was certified by rule {rule} with {samples:,.0f} samples per image on "
        "average, of at most {most:,}"
    ]
    if facts["stops"]:
        clauses.append(
            "it stops once its rule is answered, so ACR and accuracy at other "
            "radii are lower bounds"
        )
    if not facts["knows_p_a"]:
        clauses.append("p_A is not measured")
    if facts["label_aware"]:
        tested = "only the label was tested"
        if facts["gives_up_others"]:
            tested = "samples stopped where the label was missed"
        clauses.append(f"{tested}, so abstention is unknown: for evaluation only")
    return f"{'; '.join(clauses)}."


def _told_by_path(facts: Facts) -> Words:
    """Word which facts of a log its path told, and which the repository it lies in."""
    clauses = []
    if facts["by_path"]:
        clauses.append(f"{_listed(facts['by_path'])} as the path says")
    if facts["by_repository"]:
        names = _listed(facts["by_repository"])
        clauses.append(f"{names} as all logs there of {{repository}} have it")
    return "; ".join(clauses)


def _budget_inferred(facts: Facts) -> Words:
    """Word n and alpha, or the one of them, that the largest radius of a log told."""
    names = " and ".join(f"{name} {{{name}:,}}" for name in facts["lacking"])
    return (
        f"{names}: the largest radii, up to {{largest}}, are those that these certify"
    )


def _budget_unknown(facts: Facts) -> Words:
    """Word that the largest radius of a log does not tell its n, its alpha, or both."""
    names = " and ".join(facts["lacking"])
    return (
        f"{names} not known: the largest radii, up to {{largest}}, are not those of any "
        "one usual budget; its radii are those that the log has"
    )


def _radii_of_no_budget(facts: Facts) -> Words:
    """Word radii that a log's n and alpha do not give; its sigma may be unknown."""
    sigma = "" if facts["sigma"] is None else "sigma {sigma:g}, "
    return (
        "some of the largest radii are none that the exact bound gives at "
        f"{sigma}n {{n:,}} and alpha {{alpha:g}}: another bound made them, or they were "
        "changed"
    )


def _misclassified(facts: Facts) -> Words:
    images_were = "{images:,} images were"
    if facts["images"] == 1:
        images_were = "1 image was"
    return (
        f"{images_were} misclassified and not certified (predict=-2), which counts as "
        "wrong"
    )


def _verdict_off(facts: Facts) -> Words:
    """Word which tables, as a check failed, get neither a verdict nor marked figures."""
    names = facts["names"]
    get = "gets" if len(names) == 1 else "get"
    return (
        f"A check failed, so {_literal(names_of(names))} {get} no verdict and no marked "
        "figures. To get them in spite of that, give ",
        Setting("anyway"),
        ".",
    )


def _images_of_experts(facts: Facts) -> Words:
    """Word how many images each expert gets, and a router that always names one."""
    numbers = ", ".join(f"{number:,}" for number in facts["numbers"])
    words = f"the experts, from 0 on, get {numbers} of the router's {{images:,}} images"
    if facts["only"] is not None:
        words += (
            ". The router names expert {only} first for every image, so it chooses "
            "nothing: train it longer, or on more images"
        )
    return words


def _missing_not_by_chance(facts: Facts) -> Words:
    shared_share = percent(facts["shared_share"])
    other_share = percent(facts["other_share"])
    return (
        f"{{table}} is right on {shared_share} of the shared images and on {other_share} "
        "of its others. Chance did not choose the missing images, so no verdict is fair."
    )


def _listed(names: Sequence[str]) -> str:
    """Return names in one phrase: "sigma, data set and method"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _literal(text: str) -> str:
    """Return `text` as a template that says it."""
    return text.replace("{", "{{").replace("}", "}}")


# Setting of a budget -> how its values are printed, and what can raise ACR.
BUDGETS = {"n": (",", "more samples"), "alpha": ("g", "a larger alpha")}
MERGES = "`randsmooth merge` makes one table of all shards"

# The sentence of each kind: a template with the names of the facts, with settings between
# its parts; or a function that makes one, where numbers decide about words.
WORDING: dict[str, Words | Callable[[Facts], Words]] = {
    # Of files of certificates.
    "foreign_notes": (
        "{path}: left out {number} of the header's notes, which randsmooth did not write"
    ),
    "thinned": "n {before} thinned to {now}, seed {seed}",
    "alpha_recomputed": "alpha {before} recomputed as {now}",
    "part_of_a_run": (
        "{path} is a part of a run: shard {shard} of {selection}, {images:,} images. "
        f"{MERGES}"
    ),
    "unfinished": (
        "{path}: the run is not finished, judged are {known} images. The run that began "
        "it ends it, with ",
        RESUME,
    ),
    "unfinished_easy_first": (
        "{path}: the run is not finished, judged are {known} images; images that rule "
        "{rule} decides early come first. The run that began it ends it, with ",
        RESUME,
    ),
    "another_arithmetic": "{table} was certified in {differences}",
    # Of published logs.
    "told_by_path": _told_by_path,
    "training_sigma": "trained at sigma {sigma:g}",
    "sigma_column": "sigma {sigma:g} as its column {column} says",
    "sigmas_column": (
        "each image has a sigma of its own, {low:g} to {high:g}, as its column {column} "
        "says: its radius holds only if the classifier keeps that sigma for every input"
    ),
    "budget_inferred": _budget_inferred,
    "budget_unknown": _budget_unknown,
    "radii_of_no_budget": _radii_of_no_budget,
    "many_largest_radii": (
        "{images:,} images share the largest radius, {largest:g}, though sigma "
        "{sigma:g}, n {n:,} and alpha {alpha:g} certify up to {possible:g}: check "
        "sigma, n and alpha"
    ),
    "bound_anew": (
        "made at alpha {before:g}, re-bound at {now:g}: ACR {acr:.3f}, as logged "
        "{logged_acr:.3f}"
    ),
    "unnumbered": (
        "the log does not say which images it is about; they are numbered -1, -2, ... in "
        "its order"
    ),
    "sorted_by_idx": "its rows were sorted by idx",
    "second_header": (
        "a header stands again in line {lines}: a run went on there, about other images"
    ),
    "misclassified": _misclassified,
    "columns_not_read": "columns not read: {columns}",
    # Of tables that are compared.
    "unseen_by_checks": (
        "In a log that was not released, no check sees a few wrong images made right, or "
        "radii raised by little below the largest."
    ),
    "judged_anyway": "You asked for verdicts in spite of failed checks.",
    "verdict_off": _verdict_off,
    "no_baseline": (
        "No verdicts: nothing says which table is the baseline; name it (",
        Setting("baseline"),
        ").",
    ),
    "radii_left_out": (
        "Some radii are left out to fit the line; name those to print (",
        Setting("radii"),
        ").",
    ),
    "columns_held_fixed": (
        "Radii are about changes of the other columns alone; held fixed: {columns}."
    ),
    "other_images": (
        "Each row is about all images of its table; {shared:,} images are in every table."
    ),
    "other_sources": (
        "Each row is about all images of its table; the tables are of different {kind} "
        "({sources})."
    ),
    "missing_not_by_chance": _missing_not_by_chance,
    "noises_differ": (
        "The tables were made under different noises ({noises}), each p_A under its own."
    ),
    "sigmas_differ": "The tables were made with different sigma ({sigmas}).",
    "sigma_of_each_image": (
        "{table} has a sigma of its own for each image: no other table shares it."
    ),
    "radii_converted": "{tables}: {radii}.",
    "budgets_differ": _budgets_differ,
    "not_recorded": _not_recorded,
    "sizes_differ": (
        "Radii are about images of different sizes ({sizes}), so more than the "
        "classifiers differs."
    ),
    "bounds_differ": (
        "Tables were judged in different ways ({bounds}), so more than the "
        "classifiers differs."
    ),
    "tables_without_labels": (
        "{tables}: the images have no labels, so accuracy, ACR and p_A are unknown."
    ),
    "counts_of_others": (
        "{tables}: the counts are another program's; its noise, and how it picked the "
        "classes, could not be checked."
    ),
    "noted_of_tables": "{tables}: {text}.",
    "all_copies_counted": (
        "{table}: all {n:,} noisy copies of an image were counted; its certificates are "
        "certain."
    ),
    "certified_by_rule": _certified_by_rule,
    "images_of_experts": _images_of_experts,
    "routed": (
        "{table} is routed among {experts} experts by a router of {router}. "
        "One expert backs {by_one:,} of {certified:,} certificates, and all experts "
        "together back {by_all:,}. "
        "An image took {samples:,.0f} samples on average, router and experts together. "
        "There is no single p_A."
    ),
    # Of what the page on one image leaves out.
    "attack_not_asked": "You asked for no attack.",
    "attack_off_the_grid": (
        "No attack was tried: the certificate is about images on the grid k/255, between "
        "whose points attacks search."
    ),
    "nothing_to_attack": "Nothing is certified, so there is nothing to attack.",
    "comparison_not_asked": "You asked for no comparison with training images.",
    "training_data_not_named": (
        "The model does not name its data set, so no training images are "
        "compared: name it (dataset)."
    ),
    "training_data_not_here": (
        "The training images of {dataset} are not on this machine (RANDSMOOTH_DATA), so "
        "none are compared."
    ),
    # Of what other packages announce.
    "name_taken": (
        "{entry} {name!r} of the package {package} is left out, since randsmooth has a "
        "{entry} of that name: that package must choose another"
    ),
    # Of data.
    "files_left_out": _files_left_out,
    "images_beside": _images_beside,
    "rows_in_no_split": _rows_in_no_split,
    "samples_in_no_split": (
        "left out of {source}: {number:,} samples in no folder of a split, the first of "
        "them {first}"
    ),
    "empty_class_folders": (
        "{number:,} of the {classes:,} class folders of {root} hold no images, the first "
        "of them {first}"
    ),
    "list_not_read": (
        "{list} beside the images of {folder} is not read for labels: {reason}"
    ),
    "list_lacks_images": (
        "{path} does not name {number:,} of {images:,} images, the first of them "
        "{first}: these are left out"
    ),
    "labels_of_list": "the labels of {folder} are those of {list}",
    "labels_paired": "{path}: randsmooth takes {labels} as the labels of {images}",
    "numbering_column": (
        "{path}: the first column has no name and numbers the rows; it is left out"
    ),
    "found_by_name": (
        "{path}: some names are not paths; they were found below {folder}, such "
        "as {cell} at {file}"
    ),
    "validation_as_test": (
        "{source} has no test split: randsmooth takes its validation split "
        "{split!r} instead"
    ),
    "folders_but_no_labels": (
        "{source} has no labels, and {number:,} folders, such as {first}: store 0001.cls "
        "beside 0001.jpg, or unpack it where folders are classes"
    ),
    "proportions_lost": _proportions_lost,
    # Of a run that certifies.
    "large_sigma": _large_sigma,
    "taken_for_signals": (
        "inputs {shape} with values below 0 are taken for signals, not for grey images: "
        "no scale is checked"
    ),
    "scales_apart": (
        "the features' standard deviations lie from {low:.3g} to {high:.3g}, but "
        "all get the same noise: ",
        Setting("sigma", "0.25std"),
        " takes a quarter of each",
    ),
    "cut_texts": "{number:,} of these {texts:,} texts have more tokens than the {limit} "
    "that the network takes: it never sees the words behind these",
    "held_columns": (
        "no noise on {columns}: certificates are about changes of the other columns alone"
    ),
    "other_training": "{part} {fact} {before}, not {now}",
    "brought_to_size": (
        "images are brought to size as in the model's training: {sizes}"
    ),
    "backend_tried": _backend_tried,
    "backend_untried": (
        "backend {backend}, batches of {batch} (no trial: the run is short, or there is "
        "no choice)"
    ),
    "slow_bfloat16": (
        "{processor} has no units for bfloat16 and computes in it slowly. "
        "Precision 32 with the backend auto is faster; an int8 model (`randsmooth "
        "quantise`) is faster still"
    ),
    "slow_bfloat16_on_gpu": (
        "{processor} has no units for bfloat16 and computes in it slowly: precision fp16 "
        "is faster"
    ),
    "one_image_at_a_time": (
        "the model fails on batches, so it gets one image at a time, which is "
        "slow: make it take any number of images"
    ),
    "batch_matters": (
        "the base classifier's answer for a noisy image depends slightly on the rest "
        "of its batch. No certificate allows for that. Does a layer scale by the batch, "
        "or round by the place in it?"
    ),
    "of_the_model": "{text}",
    "of_the_rule": "{text}",
    "unlabelled": "the images have no labels, so that accuracy and ACR stay unknown",
    "right_without_noise": _right_without_noise,
    "hardly_better_than_guessing": _hardly_better_than_guessing,
    "features_without_names": (
        "the features have no names: they are taken in the order of the fit, {first}, ..."
    ),
    "class_never_answered": (
        "{estimator} was not fitted with the class {name}, and never answers it"
    ),
    "numbers_for_names": (
        "{estimator} was fitted with numbers, but the data have class names. "
        "randsmooth takes them in the order {order}, ...: if that is wrong, give "
        "the numbers of the fit as labels"
    ),
    # Of a run that trains.
    "preset": "{name}: {source}",
    "published_for_others": "published for {datasets}, not for {dataset}",
    "values_of_nearest_sigma": (
        "{preset} has no values for {wanted}: {values} of sigma={nearest}"
    ),
    "unlike_preset": _unlike_preset,
    "usual_sigma": _usual_sigma,
    "early_fall": (
        "the learning rate falls after the first of {epochs} epochs, before the network "
        "has learnt much: train for {enough} epochs or more"
    ),
    "processes_share_batches": "{number} processes on the CPU share every batch",
    "gpus_share_batches": "{number} GPUs share every batch",
    "logger_failed": "{logger} failed ({reason}): the run goes on without it",
    "teacher_asked_anew": "{reason}, so the teacher is asked anew",
    # Of workers and forecasts.
    "one_worker_a_gpu": "{gpus} workers instead of {workers}: one for each GPU",
    "wide_limits": (
        "the limits are wide: the pilot has sampled only {known} {inputs}; give "
        "it more seconds"
    ),
}
