"""What `randsmooth certify --help` and `make_rule` know of a rule before its class is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from randsmooth.rules.base import Rule


@dataclass(frozen=True, kw_only=True)
class RuleEntry:
    """A certification rule as users name it. Nothing is imported for it until the rule itself is made.

    Attributes:
        kind: where the class is, as "module:Class".
        usage: how a user writes the rule: "grid[=STEP]".
        help: what the rule draws, and what then holds with probability 1 - alpha, in one sentence.
        value: the field of the class that the number after `=` sets; None where the rule takes no number.
        required: whether that number must be given.

    Example:
        >>> from randsmooth.rules import RULES
        >>> RULES["grid"].usage, RULES["grid"].value
        ('grid[=STEP]', 'step')
    """

    kind: str
    usage: str
    help: str
    value: str | None = None
    required: bool = False

    def load(self) -> type[Rule]:
        """The class of the rule, imported now."""
        loaded: type[Rule] = resolve_name(self.kind)
        return loaded
