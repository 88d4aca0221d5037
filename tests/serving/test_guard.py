"""What a call may say: the page's own calls are let through, all others are refused before Gradio reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from randsmooth.errors import InputError
from randsmooth.serving import Served
from randsmooth.serving.guard import CALLS, NAMED

pytest.importorskip("gradio")


def test_only_what_the_page_says_is_let_through(served: Served) -> None:
    from randsmooth.serving.guard import Guarded
    from randsmooth.serving.web_app import make_app

    app = make_app(served)
    guarded, uploads = Guarded(None, app, served), app.GRADIO_CACHE
    (by_number,) = (number for number, function in app.fns.items() if function.api_name == "certify")
    assert by_number == 0

    def file(path: object, **more: object) -> dict[str, Any]:
        return {"path": path, "meta": {"_type": "gradio.FileData"}} | more

    def call(*data: object, **more: object) -> bytes:
        return json.dumps({"data": data} | more).encode()

    mine = file(f"{uploads}/1f/mine.PNG", url=None, size=200, orig_name="mine.PNG")
    through = [
        (NAMED, call(mine, 0.25, 500)),
        (NAMED, call(None, 2, 2000)),
        (CALLS[1], call(mine, 0.25, 500, fn_index=by_number, session_hash="a")),
    ]
    for path, body in through:
        guarded.check(path, body)
    other = file("http://example.com/x.png")
    refused = {
        "no JSON": [b"", b"{", b"\xff\xfe", b"[" * 60_000, b"9" * 60_000],
        "a call is": [b"[]", b"{}", b'{"data": "x"}', b'{"data": null}'],
        "no such function": [call(), call(mine, 0.25), call(mine, 0.25, 500, 1)],
        "sigma must be": [call(mine, sigma, 500) for sigma in ("a", None, True, 1e-9, 1e9, float("nan"), other)],
        "n must be": [call(mine, 0.25, n) for n in (5000, 1, None, "500", 10**300, float("inf"), other)],
        "was uploaded": [
            call(each, 0.25, 500)
            for each in (
                *(3, "x.png", [other], {"path": mine["path"]}, other, file(3), file("/etc/passwd"), file("x\0.png")),
                *(
                    file(f"{uploads}/../x.png"),
                    file(f"{uploads}-more/x.png"),
                    file("\ud800.png"),
                    mine | {"more": other},
                ),
            )
        ],
        "ends in": [call(file(f"{uploads}/page.html"), 0.25, 500)],
    }
    for message, bodies in refused.items():
        for body in bodies:
            with pytest.raises(InputError, match=message):
                guarded.check(NAMED, body)
    for number in (99, None, "0", True, [0]):
        with pytest.raises(InputError, match="no such function"):
            guarded.check(CALLS[1], call(mine, 0.25, 500, fn_index=number))
