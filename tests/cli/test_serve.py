"""What `randsmooth serve` refuses before anything is started."""

from __future__ import annotations

import re
import socket

from cli.run import Run


def test_what_cannot_be_served_is_refused(cli: Run, model: object) -> None:
    cases: list[tuple[list[object], str]] = [
        (["none"], "none names no model"),
        (["{model}", "--seconds", 0], "seconds=0.0 must be above 0"),
        (["{model}", "--alpha", 2], "alpha"),
        (["{model}", "--port", 99_999], "port=99999 must be from 1 to 65535"),
        (["{model}", "--host", "no such place"], "nothing can listen at no such place ("),
        (["{model}", "--space", "out", "--alpha", 2], "alpha=2"),
        (["{model}", "--space", "out", "--sigma", -1], "sigma=-1"),
        (["{model}", "--space", "out", "--host", "0.0.0.0"], "--host is not for a Space"),
        (["{model}", "--space", "{model}"], "is not empty"),
        (["{model}", "--space", "out", "--dataset", "images/"], "no folder of yours"),
    ]
    for words, said in cases:
        done = cli("serve", *(str(word).format(model=model) for word in words))
        assert done.code == 2 and re.search(re.escape(said), done.err), done.err


def test_a_port_that_another_program_has_is_refused(cli: Run, model: object) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = cli("serve", model, "--host", "localhost", "--port", port)
    assert done.code == 2 and f"nothing can listen at localhost:{port} (Address already in use)" in done.err
