"""Where the app runs: its server, its address and the names it is reached by."""

import socket
from collections.abc import Collection
from typing import Any

from randsmooth.app.guard import Guard, names_of
from randsmooth.app.live_certificates import MEGABYTE, Served
from randsmooth.app.uploads import emptying, folder_of_uploads
from randsmooth.app.web_app import gradio, make_app, style_of_examples
from randsmooth.documents import shown
from randsmooth.errors import BadValue
from randsmooth.report import web

# The most threads of the server, for visitors who only wait or read.
MOST_THREADS = 8
# The most sessions that Gradio keeps beside those that run or wait. The app itself keeps
# nothing of a session.
OTHER_SESSIONS = 32
# The largest number of a port.
MOST_PORT = 2**16 - 1


def serve(
    served: Served,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    public_names: Collection[str] = (),
    wait: bool = True,
) -> Any:
    """Start the app, and return it: at once, or when it is interrupted.

    Nothing is sent anywhere: no analytics, and pages load from this server alone. Files
    are limited in size and deleted after minutes. No more visitors wait than
    `served.limits` says.

    Args:
        served: the model to serve.
        host: the address to listen at: by default for this machine alone; "0.0.0.0" for
            all who can reach it.
        port: the port to listen at; default: the first free one from 7860 on.
        public_names: more names under which visitors reach the app, such as that of a
            server in front of it. Its address, the name of this machine and localhost
            are known. A request that names another host is refused.
        wait: whether to return only when the app is interrupted. Otherwise it runs on,
            and its `close()` ends it.

    Raises:
        Problem: `served` is no `Served`, nothing can listen at the address, or Gradio is
            not installed.

    Example:
        >>> serve("runs/gaussian")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: 'runs/gaussian' cannot be served as it is: ...
    """
    if not isinstance(served, Served):
        raise BadValue(
            f"{shown(repr(served))} cannot be served as it is: serve(Served.of(model, "
            "name))"
        )
    check_address(host, port)
    gr = gradio()
    # Late, as Gradio brings it, which may not be installed.
    from starlette.middleware import Middleware

    names = names_of(host, socket.gethostname(), public_names)
    uploads = folder_of_uploads()
    app = make_app(served)
    # Gradio lists the files that it has taken: those that are deleted leave the list.
    forget = app.upload_file_set.difference_update
    server_options = {
        "middleware": [Middleware(Guard, uploads, served, names)],
        "lifespan": emptying(uploads, forget),
    }
    # app.css is in the colours of Gradio's theme.
    styles = [web.asset(__package__, "page.css"), web.asset(__package__, "app.css")]
    styles.append(style_of_examples(served))
    _launch(
        app,
        gr,
        served,
        host=host,
        port=port,
        css="\n".join(styles),
        server_options=server_options,
    )
    if wait:
        app.block_thread()
    return app


def _launch(
    app: Any,
    gr: Any,
    served: Served,
    *,
    host: str,
    port: int | None,
    css: str,
    server_options: dict[str, Any],
) -> None:
    """Start the server.

    Args:
        app: the app of Gradio.
        gr: the package gradio.
        served: the model with the limits of the app.
        host: the address to listen at.
        port: the port to listen at, or None.
        css: the style sheets of the page.
        server_options: the arguments of the server: the guard around the app, and what
            runs beside it.
    """
    limits = served.limits
    app.launch(
        server_name=host,
        server_port=port,
        # Return when the server runs.
        prevent_thread_lock=True,
        quiet=True,
        share=False,
        show_error=False,
        max_file_size=int(limits.upload_mb * MEGABYTE),
        state_session_capacity=OTHER_SESSIONS + limits.queue + limits.at_once,
        max_threads=MOST_THREADS,
        enable_monitoring=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        footer_links=[],
        theme=_theme(gr),
        css=css,
        app_kwargs=server_options,
    )


def _theme(gr: Any) -> Any:
    """Return Gradio's theme with the fonts of a system, and text that can be read.

    Its own orange and its palest grey are too close to the white beside them.
    """
    theme = gr.themes.Default(
        primary_hue="blue",
        font=["system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    )
    return theme.set(
        body_text_color_subdued="#59636e",
        body_text_color_subdued_dark="#a6aeb8",
        block_info_text_color="#59636e",
        block_info_text_color_dark="#a6aeb8",
        button_primary_background_fill="#0068a3",
        button_primary_background_fill_dark="#0068a3",
        button_primary_background_fill_hover="#005587",
        button_primary_background_fill_hover_dark="#005587",
    )


def check_address(host: str, port: int | None) -> None:
    """Raise Problem where nothing can listen at `host` and `port`.

    Either there is no such address here, or another program listens at it.

    Example:
        >>> check_address("127.0.0.1", 99_999)
        Traceback (most recent call last):
        randsmooth.errors.BadValue: port=99999 must be from 1 to 65535
    """
    if port is not None and not 0 < port <= MOST_PORT:
        raise BadValue(field="port", value=port, expected="must be from 1 to 65535")
    try:
        # As the server does it. Without a port, any free one will do: 0.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        addresses = socket.getaddrinfo(host, port or 0, family, socket.SOCK_STREAM)
        *_, address = addresses[0]
        # It listens for a moment, and raises where it cannot.
        socket.create_server(address, family=family).close()
    except (OSError, UnicodeError) as error:
        where = shown(host if port is None else f"{host}:{port}")
        # A UnicodeError, for a host that no name can be, has no such attribute.
        reason = getattr(error, "strerror", None) or error
        raise BadValue(
            f"nothing can listen at {where} ({reason}): give another host or port"
        ) from error
