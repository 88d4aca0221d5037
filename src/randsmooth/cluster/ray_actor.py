"""What runs on a node of a Ray cluster: an actor that carries the messages of one worker."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from typing import Any

from randsmooth.cluster.transport import Event, Failed, Joined
from randsmooth.cluster.worker import Inbox, serve
from randsmooth.escape import shortened

SILENCE = 30.0  # seconds after which a call for events ends without any


class Line:
    """The way to and from a worker, which serves in a thread of its own."""

    def __init__(self, worker: str) -> None:
        self.worker, self.inbox = worker, Inbox()
        self._said: queue.SimpleQueue[Event] = queue.SimpleQueue()
        threading.Thread(target=serve, args=(worker, self.inbox, self._say), daemon=True).start()

    def tell(self, message: Any) -> None:
        """Hand a message to the worker: itself, or in a list the reference to where it is in Ray's object store."""
        if isinstance(message, list):
            import ray

            try:
                (message,) = ray.get(message)
            except Exception as error:  # whatever is raised by the modules that the pickled objects need
                self._say(Failed(self.worker, f"what was sent cannot be opened there ({last_line(error)})"))
                return
        self.inbox.put(message)

    def events(self) -> Sequence[Event]:
        """What the worker has said since the last call, as soon as there is something."""
        try:
            said = [self._said.get(timeout=SILENCE)]
        except queue.Empty:
            return []
        while not self._said.empty():
            said.append(self._said.get())
        return said

    def _say(self, event: Event) -> None:
        if not isinstance(event, Joined):  # the actor has joined before, by its `versions`
            self._said.put(event)


def last_line(error: BaseException) -> str:
    """The last line of a report, which of Ray's is the error itself."""
    return shortened((str(error).strip().splitlines() or [type(error).__name__])[-1])


def actor_class() -> Any:
    """The actor, as Ray takes it.

    It is pickled by value, being no name of a module, and imports randsmooth only when it is told something. So it says
    which versions it has on a node, too, where randsmooth is missing or another one.
    """
    import ray

    class Actor:
        def __init__(self, worker: str, folder: str, environment: dict[str, str]) -> None:
            import os
            import threading

            for name, value in environment.items():
                os.environ.setdefault(name, value)
            if os.path.isdir(folder):  # noqa: PTH112
                os.chdir(folder)
            self.worker, self.lock = worker, threading.Lock()
            self.line: Line | None = None

        def versions(self, packages: tuple[str, ...]) -> dict[str, str]:
            import platform
            from importlib.metadata import PackageNotFoundError, version

            found = {"python": platform.python_version()}
            for package in packages:
                try:
                    found[package] = version(package)
                except PackageNotFoundError:
                    found[package] = "none"
            return found

        def _line(self) -> Line:
            from randsmooth.cluster.ray_actor import Line

            with self.lock:
                line = self.line = self.line or Line(self.worker)
            return line

        @ray.method(concurrency_group="told")  # type: ignore[untyped-decorator]
        def tell(self, message: Any) -> None:
            self._line().tell(message)

        @ray.method(concurrency_group="said")  # type: ignore[untyped-decorator]
        def events(self) -> Sequence[Event]:
            return self._line().events()

    return ray.remote(max_restarts=0, concurrency_groups={"told": 1, "said": 1})(Actor)
