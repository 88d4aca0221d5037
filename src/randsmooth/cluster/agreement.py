"""Whether workers are about the same run: the header that they agree on, and what another one differs in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from randsmooth.certificates import Header, evidence_difference
from randsmooth.certificates.same_run import as_begun
from randsmooth.certification.crew import RunFacts
from randsmooth.errors import InputError
from randsmooth.versions import versions

MUST_EQUAL = ("randsmooth", "python")  # whose messages and order could be understood differently


def unlike_this_program(worker: str, theirs: Mapping[str, str]) -> str | None:
    """Why a worker with these versions cannot work for this program, in words; None where it can.

    Example:
        >>> unlike_this_program("node7", versions() | {"randsmooth": "0.0.1"})
        'worker node7 has randsmooth 0.0.1 and this process ...'
    """
    ours = _ours()
    named = [
        f"{name} {theirs.get(name)} and this process {ours[name]}"
        for name in MUST_EQUAL
        if _release(name, theirs.get(name, "none")) != _release(name, ours[name])
    ]
    return f"worker {worker} has {', '.join(named)}: install the same there" if named else None


@cache  # looked up in the files of the packages
def _ours() -> dict[str, str]:
    return versions()


def _release(package: str, version: str) -> str:
    """The part of a version that must be the same: of Python without the last number."""
    return version.rpartition(".")[0] if package == "python" else version


@dataclass
class Agreement:
    """Which run the workers are about: the facts that two of them came to, or that a resumed run was begun with.

    One worker alone is believed only where no other is left to ask or ready in time, since it may be the one with the
    wrong weights.

    Attributes:
        begun: the header of the run that is resumed; None where it begins.
        settled: the facts of the run, once it is clear which they are.
        first: the worker that came to them first.

    Example:
        >>> facts = RunFacts(Header(sigma=0.5), indices=(0,), labels=(1,))
        >>> wrong = RunFacts(Header(sigma=0.25), indices=(0,), labels=(1,))
        >>> agreement = Agreement()
        >>> for worker, theirs in {"node1": wrong, "node2": facts, "node3": facts}.items():
        ...     agreement.hear(worker, theirs)
        >>> agreement.settle(more=True) == facts, agreement.left_out("node1", wrong.header)
        (True, 'worker node1 is left out (sigma: 0.5 of worker node2, 0.25 of worker node1)')
    """

    begun: Header | None = None
    settled: RunFacts | None = None
    first: str = ""
    _sides: list[tuple[RunFacts, list[str]]] = field(default_factory=list)

    def hear(self, worker: str, facts: RunFacts) -> None:
        """A worker came to `facts`."""
        for side, workers in self._sides:
            if evidence_difference(side.header, facts.header, ("", "")) is None:
                workers.append(worker)
                return
        self._sides.append((facts, [worker]))

    def settle(self, *, more: bool) -> RunFacts | None:
        """The facts of the run; None while they are not clear.

        Args:
            more: whether other workers may still be heard.

        Raises:
            InputError: the workers differ, and no further one can tell who is right.
        """
        for facts, workers in self._sides:
            if self._agreed(facts, workers) or (not more and len(self._sides) == 1):
                self.settled, self.first = self._as_begun(facts), workers[0]
                return self.settled
        if not more and len(self._sides) > 1:
            (one, (first, *_)), (other, (second, *_)), *_ = self._sides
            differ = evidence_difference(one.header, other.header, (f"of worker {first}", f"of worker {second}"))
            raise InputError(
                f"workers {first} and {second} are not about the same run ({differ}), and there is no third one to "
                "tell which of them is meant: leave one of them out"
            )
        return None

    def _agreed(self, facts: RunFacts, workers: list[str]) -> bool:
        if self.begun is None:
            return len(workers) > 1
        return evidence_difference(self.begun, facts.header, ("", "")) is None

    def _as_begun(self, facts: RunFacts) -> RunFacts:
        """The facts with the machine that the run was begun on, which each row's own replaces where it is another."""
        return replace(facts, header=as_begun(self.begun, facts.header))

    def left_out(self, worker: str, header: Header) -> str | None:
        """Why a worker that came to `header` is left out of the settled run; None where it takes part."""
        assert self.settled is not None
        sides = f"of worker {self.first}", f"of worker {worker}"
        found = evidence_difference(self.settled.header, header, sides)
        return None if found is None else f"worker {worker} is left out ({found})"
