"""The figures are files of the asked kind; odd names neither vanish nor break them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.report import draw_p_a_curves, draw_radius_accuracy

Make = Callable[..., Certificates]
Draw = Callable[[list[Certificates], Path], None]

BEGINS = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


@pytest.mark.parametrize("draw", [draw_radius_accuracy, draw_p_a_curves])
@pytest.mark.parametrize("suffix", BEGINS)
def test_a_figure_is_drawn(make: Make, tmp_path: Path, draw: Draw, suffix: str) -> None:
    path = tmp_path / f"figure.{suffix}"
    draw([make("gaussian"), make("b", seed=1)], path)
    assert path.read_bytes().startswith(BEGINS[suffix])
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["$\\frac{$", "_hidden", "a" * 300, "%&#"])
def test_a_name_is_text_never_a_formula(make: Make, tmp_path: Path, name: str) -> None:
    draw_radius_accuracy([make(name)], tmp_path / "figure.svg")
    assert name[:8].replace("&", "&amp;") in (tmp_path / "figure.svg").read_text()


def test_bad_input_is_named(make: Make, log: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown figure format 'jpg'"):
        draw_radius_accuracy([make()], tmp_path / "figure.jpg")
    with pytest.raises(InputError, match="sigma, n and alpha"):
        draw_p_a_curves([log([1.0])], tmp_path / "figure.png")
    with pytest.raises(InputError, match="no certificate table"):
        draw_p_a_curves([], tmp_path / "figure.png")
    assert not list(tmp_path.iterdir())
