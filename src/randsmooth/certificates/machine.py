"""The machine that made a row, where several took part in a run."""

from __future__ import annotations

import hashlib
import platform
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import ConfigDict, model_validator

from randsmooth.certificates.limits import check_facts
from randsmooth.frozen_record import FrozenRecord

if TYPE_CHECKING:
    from randsmooth.certificates.header import Header

OF_THE_MACHINE = ("device", "instructions", "versions")  # the facts that a header tells, too


class Machine(FrozenRecord):
    """What may differ between the processes that make one table, as long as the classifier's outputs do not.

    Attributes:
        host: eight digits of a hash of what the machine is called, which tell machines apart and name none.
        device, instructions: its processor and the instructions used, as in a header.
        versions: of the libraries.

    Example:
        >>> Machine(host="5d1f7c0a", device="cpu", instructions="AVX2", versions={"torch": "2.10.0"}).host
        '5d1f7c0a'
    """

    model_config = ConfigDict(strict=True)
    field_is: ClassVar[str] = "fact of a machine"

    host: str | None = None
    device: str | None = None
    instructions: str | None = None
    versions: dict[str, str] | None = None

    @model_validator(mode="after")
    def _limited(self) -> Self:
        check_facts(self)
        return self

    @classmethod
    def here(cls, header: Header) -> Self:
        """This machine, in a process that made `header`.

        Example:
            >>> from randsmooth.certificates import Header
            >>> Machine.here(Header(device="cpu")).device
            'cpu'
        """
        host = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
        return cls(host=host, **{name: getattr(header, name) for name in OF_THE_MACHINE})


class NumberedMachines:
    """The machines of a table or journal, each with a number: 0 for the first one named, and so on.

    Example:
        >>> numbered = NumberedMachines()
        >>> [numbered.number(Machine(host=host)) for host in ("node7", "node8", "node7")]
        [0, 1, 0]
        >>> [machine.host for machine in numbered.machines]
        ['node7', 'node8']
    """

    def __init__(self) -> None:
        self.machines: list[Machine] = []
        self._numbers: dict[str, int] = {}

    def __contains__(self, machine: Machine) -> bool:
        return machine.model_dump_json() in self._numbers

    def number(self, machine: Machine) -> int:
        """The number of `machine`, a new one where it was not named before."""
        number = self._numbers.setdefault(machine.model_dump_json(), len(self.machines))
        if number == len(self.machines):
            self.machines.append(machine)
        return number
