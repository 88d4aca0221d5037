"""Many images named in few words, and none left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

SHORT = 4  # so many in equal steps are named by the first and the last of them


def named(images: Sequence[int]) -> str:
    """Positions in ascending order, in words: those in equal steps by the first, the last and the step.

    Example:
        >>> named([7]), named([3, 4, 5, 6, 9])
        ('7', '3 to 6, 9')
        >>> named([0, 16, 32, 48, 64, 71])
        '0 to 64 in steps of 16, 71'
    """
    return ", ".join(_in_words(run) for run in _runs(images))


def _runs(images: Sequence[int]) -> Iterator[Sequence[int]]:
    """The images cut into stretches of equal steps; those too short to be worth it one by one."""
    start = 0
    while start < len(images):
        end = start + 1
        while end < len(images) and images[end] - images[end - 1] == images[start + 1] - images[start]:
            end += 1
        end = end if end - start >= SHORT else start + 1
        yield images[start:end]
        start = end


def _in_words(run: Sequence[int]) -> str:
    if len(run) == 1:
        return str(run[0])
    step = run[1] - run[0]
    return f"{run[0]} to {run[-1]}" + (f" in steps of {step}" if step > 1 else "")
