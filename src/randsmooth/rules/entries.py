"""The rules that come with randsmooth, as they are listed and written."""

from __future__ import annotations

from randsmooth.rules.entry import RuleEntry

HOME = "randsmooth.rules"

FIXED = RuleEntry(
    kind=f"{HOME}.fixed:Fixed",
    usage="fixed",
    help="n samples of every image, and the radius that Clopper-Pearson proves from them.",
)
RADIUS = RuleEntry(
    kind=f"{HOME}.grid:OneRadius",
    value="radius",
    required=True,
    usage="radius=R",
    help="samples until radius R is proved or given up, by an exact sequential test that may stop at any of its looks.",
)
SCREEN = RuleEntry(
    kind=f"{HOME}.screen:Screen",
    value="radius",
    required=True,
    usage="screen=R",
    help="as radius=R, but an image that is not decided early is left open: the first pass of `randsmooth accuracy`.",
)
GRID = RuleEntry(
    kind=f"{HOME}.grid:Grid",
    value="step",
    usage="grid[=STEP]",
    help="samples until the largest provable radius of 0, 0.25, 0.5, ... is found, by exact sequential tests, smallest "
    "radius first.",
)
UNION = RuleEntry(
    kind=f"{HOME}.grid:Union",
    value="step",
    usage="union[=STEP]",
    help="as grid, and the radius that Clopper-Pearson proves at some look, alpha shared by all looks.",
)
DENSE = RuleEntry(
    kind=f"{HOME}.dense:Dense",
    value="price",
    usage="dense[=P]",
    help="as grid, for radii so close that rounding hardly matters, as long as further samples gain P sigma (0.25) "
    "per n: the largest mean radius for the samples.",
)
TOLERANCE = RuleEntry(
    kind=f"{HOME}.tolerance:Tolerance",
    value="tolerance",
    required=True,
    usage="tolerance=T",
    help="a pilot, then as many fresh samples as bring at least 90% of the Clopper-Pearson radii within T sigma of "
    "what n samples of the image would give.",
)
ANYTIME = RuleEntry(
    kind=f"{HOME}.anytime:Anytime",
    value="target",
    usage="anytime[=R]",
    help="samples until n, or until radius R is proved; the radius of its e-process holds at every sample at once.",
)
