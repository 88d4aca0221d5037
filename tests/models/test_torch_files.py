"""Files of `torch.save`: what people keep in them is read; what would make more than they hold is refused, unmade."""

import io
import pickle
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from models.refusing import problem_of, refusal
from randsmooth.errors import Conflict, WrongFile
from randsmooth.models import import_checkpoint
from randsmooth.models.adapters.torch_program import scripted
from randsmooth.models.archives import MOST_CODE
from randsmooth.models.pickle_calls import MOST_ODD_KEYS
from randsmooth.models.torch_files import MAGIC, load_plain
from randsmooth.training import checkpoint
from values import Refusal

PROTOCOL = b"\x80\x02"
HUGE = 10**11  # more than any machine of ours has


def kept(**more: Any) -> dict[str, Any]:
    """What scripts keep: weights, optimiser, schedule, generators, plain values."""
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    optimiser = torch.optim.Adam(network.parameters())
    network(torch.rand(2, 3, 8, 8)).sum().backward()
    optimiser.step()
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, [3, 3, 5])
    states = {
        "state_dict": network.state_dict(),
        "optimizer": optimiser.state_dict(),
        "lr": schedule.state_dict(),
    }
    plain = {
        "epoch": 3,
        "rng": torch.get_rng_state(),
        "long": 2**127,
        "accuracy": 0.5,
        "name": "é",
        "none": None,
    }
    others = {
        "set": {1, 2},
        "bytes": b"\xff",
        "buffer": bytearray(b"x"),
        "complex": 1j,
        "type": torch.float16,
    }
    tensors = {
        "size": torch.Size([2]),
        "part": torch.arange(9.0)[2:5],
        "turned": torch.rand(2, 3).t(),
    }
    tensors |= {
        "half": torch.ones(2).half(),
        "empty": torch.zeros(0, 3),
        "own": nn.Parameter(torch.ones(2)),
    }
    return states | plain | others | tensors | more


def saved(content: object, *, archive: bool = True) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer, _use_new_zipfile_serialization=archive)
    return buffer.getvalue()


def test_what_scripts_keep_is_read(tmp_path: Path) -> None:
    content = kept(small=torch.ones(3, dtype=torch.uint16))
    for archive in (True, False):
        if not archive:  # which did not know this type
            del content["small"]
        for source in (saved(content, archive=archive), tmp_path / "model.pth"):
            if isinstance(source, Path):
                source.write_bytes(saved(content, archive=archive))
            found = load_plain(source)
            assert found.keys() == content.keys()
            assert saved(found) == saved(content)


# --- small files that would make gigabytes --------------------------------------------------------------------------


def named(name: str) -> bytes:
    module, _, last = name.rpartition(".")
    return f"c{module}\n{last}\n".encode()


def number(value: int) -> bytes:
    return b"\x8a\x09" + value.to_bytes(9, "little")


def called(name: str, *arguments: bytes) -> bytes:
    return named(name) + b"(" + b"".join(arguments) + b"tR"


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def storage(elements: int) -> bytes:
    return (
        b"("
        + text("storage")
        + named("torch.FloatStorage")
        + text("0")
        + text("cpu")
        + number(elements)
        + b"tQ"
    )


def tensor(elements: int, side: int, offset: int = 0, stride: int = 1) -> bytes:
    sizes = b"(" + number(side) + b"t", b"(" + number(stride) + b"t"
    hooks = called("collections.OrderedDict")
    return called(
        "torch._utils._rebuild_tensor_v2",
        storage(elements),
        number(offset),
        *sizes,
        b"\x89",
        hooks,
    )


SHARED = b"]q\0" + b"".join(b"](h%ch%ceq%c" % (k, k, k + 1) for k in range(25))
COPIED = (
    b"("
    + text("a" * 10**5)
    + b"q\0"
    + called("_codecs.encode", b"h\0", text("latin1")) * 1000
    + b"t"
)
COLLIDING = (
    b"}("
    + b"".join(
        b"\x8a\x28" + (k * (2**61 - 1)).to_bytes(40, "little") + b"N"
        for k in range(1, 2000)
    )
    + b"u"
)

PICKLES: dict[str, tuple[bytes, str]] = {
    "a number of bytes": (
        called("builtins.bytearray", number(HUGE)),
        "bytes of a number",
    ),
    "the same by its old name": (
        called("__builtin__.bytearray", number(HUGE)),
        "bytes of a number",
    ),
    "a tensor of a size": (called("torch.Tensor", number(HUGE)), "torch.Tensor"),
    "a storage of a size": (
        called("torch.FloatStorage", number(HUGE)),
        "not called here",
    ),
    "a storage that is not there": (storage(HUGE), "not as large as its record"),
    "a tensor beyond its storage": (tensor(4, HUGE), "not stored whole"),
    "one by its offset": (tensor(4, 1, offset=HUGE), "not stored whole"),
    "one that repeats its storage": (tensor(4, HUGE, stride=0), "not stored whole"),
    "lists shared 25 deep": (SHARED, "the same ones many times"),
    "a text copied 1000 times": (COPIED, "more than the file holds"),
    "keys that all collide": (COLLIDING, f"more than {MOST_ODD_KEYS:,} keys"),
    "a length beyond the file": (b"X" + struct.pack("<I", 2**32 - 1) + b"a", "damaged"),
    "nested without end": (b"]" * 100 + b"a" * 99, "deeper than"),
    "code": (called("os.system", text("true")), "os.system, which is code"),
    "no container": (b"K\1K\1a", "no list"),
    "nothing": (b"", "damaged"),
}


def archive_of(pickled: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x/data.pkl", pickled)
        archive.writestr("x/byteorder", "little")
        archive.writestr("x/version", "3\n")
        archive.writestr("x/data/0", bytes(16))
    return buffer.getvalue()


def old_file(pickled: bytes) -> bytes:
    """As torch wrote files before 1.6, with a storage of 4 floats."""
    pickled = pickled.replace(b"tQ", b"NtQ")  # which is not a part of another one
    head = [pickle.dumps(each, 2) for each in (MAGIC, 1001, {"little_endian": True})]
    storages = [pickle.dumps(["0"], 2), struct.pack("<q", 4), bytes(16)]
    return b"".join(
        [
            *head,
            pickled,
            *(storages if b"Storage" in pickled else [pickle.dumps([], 2)]),
        ]
    )


def test_what_would_make_more_than_the_file_holds_is_refused_unmade() -> None:
    """Under a limit of memory some would fail by themselves; what is refused here is refused before."""
    for case, (instructions, words) in PICKLES.items():
        for form in (archive_of, old_file):
            content = form(PROTOCOL + instructions + b".")
            assert len(content) < 300_000
            said = refusal(load_plain, content)
            assert words in said, (case, form.__name__, said)
    assert load_plain(archive_of(PROTOCOL + tensor(4, 4) + b".")).tolist() == [0.0] * 4
    assert load_plain(old_file(PROTOCOL + tensor(4, 4) + b".")).tolist() == [0.0] * 4


def test_the_readers_of_users_files_refuse_them(tmp_path: Path) -> None:
    for case in ("a number of bytes", "lists shared 25 deep"):
        content = archive_of(PROTOCOL + PICKLES[case][0] + b".")
        (tmp_path / "a.pth").write_bytes(content)
        assert PICKLES[case][1] in refusal(
            import_checkpoint, tmp_path / "a.pth", "digits"
        )
        (tmp_path / "checkpoint.pt").write_bytes(checkpoint.signed(content))
        assert PICKLES[case][1] in refusal(checkpoint.load, tmp_path / "checkpoint.pt")


# --- archives that two readers read differently ---------------------------------------------------------------------


def test_an_archive_of_two_directories_is_refused() -> None:
    """Python reads the directory before the end, and torch the one whose place is announced, here of packed zeros."""
    hidden, seen = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(hidden, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/data.pkl", bytes(10**6))
    first = hidden.getvalue()
    end = first.rfind(b"PK\5\6")
    place = struct.unpack_from("<L", first, end + 16)[0]
    with zipfile.ZipFile(seen, "w") as archive:
        archive.writestr("x/data.pkl", PROTOCOL + b"K\1.")
    content = bytearray(first[:end] + seen.getvalue())
    struct.pack_into("<L", content, len(content) - 6, place)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.infolist()[0].compress_type == zipfile.ZIP_STORED
    Refusal(WrongFile).check(problem_of(load_plain, bytes(content)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_whose_names_are_ambiguous_is_refused() -> None:
    for names in (
        ("x/data.pkl", "x/data.pkl"),
        ("x/data.pkl", "X/DATA.pkl"),
        ("x/data.pkl", "y/data.pkl"),
    ):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name in names:
                archive.writestr(name, PROTOCOL + b"K\1.")
        assert refusal(load_plain, buffer.getvalue())
    Refusal(WrongFile, "torch.save").check(problem_of(load_plain, b""))


def test_an_archive_without_entries_is_refused() -> None:
    empty = b"PK\3\4" + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0, 0, 0, 4, 0)
    with zipfile.ZipFile(io.BytesIO(empty)) as archive:
        assert archive.namelist() == []
    Refusal(WrongFile).check(problem_of(load_plain, empty))


def test_a_program_holds_no_more_than_its_file_but_code(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    with warnings.catch_warnings(
        action="ignore"
    ):  # that TorchScript is no longer developed
        torch.jit.save(torch.jit.trace(nn.Linear(4, 3), torch.zeros(2, 4)), path)
    assert scripted(path)(torch.zeros(2, 4)).shape == (2, 3)
    content = path.read_bytes()
    place = (
        content.index(b"class ")
        if b"class " in content
        else content.index(b"data.pkl") + 100
    )
    path.write_bytes(
        content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    )
    Refusal(Conflict, "checksum").check(problem_of(scripted, path))
    path.write_bytes(content)
    with zipfile.ZipFile(path) as whole:
        held = {name: whole.read(name) for name in whole.namelist()}
    for name, size in (
        ("net/data/0", MOST_CODE),
        ("net/code/more.py", MOST_CODE + 1),
    ):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for other, content in held.items():
                archive.writestr(
                    other, content, None if "/code/" in other else zipfile.ZIP_STORED
                )
            archive.writestr(name.replace("/0", "/00"), bytes(size))
        assert path.stat().st_size < size / 100
        assert refusal(scripted, path)
