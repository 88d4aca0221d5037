"""What a file states of itself is checked before anything is made of it."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from randsmooth import data
from randsmooth.errors import WrongFile
from randsmooth.noise import GaussianPerCoordinate

TERABYTES = (10**9, 28, 28)


def lying_array() -> bytes:
    """An .npy file whose header states 6 TB of numbers, of which there are eight."""
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": TERABYTES}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + bytes(64)


def test_an_array_that_states_more_than_its_file_holds_is_refused_by_its_header(
    tmp_path: Path,
) -> None:
    with zipfile.ZipFile(tmp_path / "images.npz", "w") as archive:
        archive.writestr("x.npy", lying_array())
    (tmp_path / "std.npy").write_bytes(lying_array())
    stated = r"\(1000000000, 28, 28\) of float64, 6,272,000,000,000 bytes.*holds 192"
    with pytest.raises(WrongFile, match=rf"'x' of .*images\.npz states .*{stated}"):
        data.load(tmp_path / "images.npz", "test")
    with pytest.raises(WrongFile, match=rf"std\.npy' states .*{stated}"):
        GaussianPerCoordinate.parse(str(tmp_path / "std.npy"))


def test_an_array_called_npz_is_not_opened_as_numpy_would(tmp_path: Path) -> None:
    (tmp_path / "alone.npz").write_bytes(lying_array())
    with pytest.raises(WrongFile, match=r"alone\.npz.*an array of NumPy"):
        data.load(tmp_path / "alone.npz", "test")
