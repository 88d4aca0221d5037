"""The package in tests/plugin_package: what it announces, and how it is installed for a test."""

import tomllib
from pathlib import Path
from typing import Any

from randsmooth.certification.backends import BACKENDS
from randsmooth.data import DATASETS
from randsmooth.methods import METHODS
from randsmooth.models import ARCHITECTURES
from randsmooth.noise import NOISES
from randsmooth.registry import Registry
from randsmooth.report import PANELS
from randsmooth.rules import RULES

SOURCE = Path(__file__).parents[1] / "plugin_package"
PROJECT: dict[str, Any] = tomllib.loads((SOURCE / "pyproject.toml").read_text())[
    "project"
]
POINTS: dict[str, dict[str, str]] = PROJECT["entry-points"]
REGISTRIES: dict[str, Registry[Any]] = {
    registry.group: registry
    for registry in (METHODS, RULES, DATASETS, ARCHITECTURES, BACKENDS, PANELS, NOISES)
}


def announce(site: Path, project: dict[str, Any] = PROJECT) -> None:
    """Write into `site` the metadata that installers make of a package's pyproject.toml."""
    name, version = project["name"], project["version"]
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )
    lines: list[str] = []
    for group, points in project["entry-points"].items():
        lines += [
            f"[{group}]",
            *(f"{each} = {value}" for each, value in points.items()),
        ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def forget_packages() -> None:
    """Have every registry look again at which packages are installed."""
    for registry in REGISTRIES.values():
        vars(registry).pop("_announced", None)
        for name in POINTS.get(registry.group, {}):
            registry._loaded.pop(name, None)
