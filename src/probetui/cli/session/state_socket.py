"""The state of a session for `probetui ls`: a socket that only its user may read.

Each connection gets the state as JSON (`probetui schema state`) and is closed.

This is no HTTP, though probetui has a server for that (`cluster/serving/http_server`):
every session has this socket, so the server and its parser would be imported before
every first screen, and there is one thing to ask for, no request to be parsed and no
stranger to be kept away: the system lets only this user connect. Sessions that run
while probetui is upgraded answer the new `ls`, as long as an answer is a text and the
end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self

from probetui.cli.folders import make_private_directory, state_folder
from probetui.cli.session.parts import SessionPart, SessionScope
from probetui.untrusted_files import DirectoryRoot

MAX_CONNECTIONS = 8
"""Further connections are closed without an answer."""

TIMEOUT_SECONDS = 5
"""For a session to answer, and for a reader to take the answer."""

LARGEST_STATE = 64 * 1024 * 1024
"""Bytes of an answer; a session of 20,000 containers has half of it."""

CACHE_SECONDS = 0.5
"""How long an answer is used again: to make one delays the probes."""

_SUFFIX = ".sock"
_DESCRIPTORS = "/proc/self/fd"
_OWN_MODE = 0o600


@asynccontextmanager
async def serve_state(make_state: Callable[[], str]) -> AsyncIterator[None]:
    """Serve a session's state while the context lasts.

    Raises:
        OSError: the state folder takes no socket.
    """
    folder = _folder()
    make_private_directory(folder)
    root, name = DirectoryRoot(folder), f"{os.getpid()}{_SUFFIX}"
    root.unlink(name, missing_ok=True)  # of a process that had this number
    with _short_path(root) as short, contextlib.closing(_listener()) as listener:
        try:
            listener.bind(str(short / name))
            server = await asyncio.start_unix_server(
                _answers(make_state), sock=listener, backlog=MAX_CONNECTIONS
            )
            # Without a wait for clients, which a server's own context has from 3.12 on.
            with contextlib.closing(server):
                yield
        finally:
            root.unlink(name, missing_ok=True)


class StatePart(SessionPart):
    """Serves the state of a session; one whose state cannot be served runs without."""

    def __init__(self, scope: SessionScope) -> None:
        self._scope = scope
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Start to serve."""
        try:
            await self._stack.enter_async_context(serve_state(self._text))
        except OSError as error:
            self._scope.plan.notes.warning(
                f"`probetui ls` cannot show this session: {error}"
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop serving."""
        await self._stack.aclose()

    def _text(self) -> str:
        # Late: few sessions are looked at from elsewhere.
        from probetui.presentation.state_json import state_text

        session = self._scope.session
        return state_text(session.snapshot, session.runtime_name, self._scope.mask)


async def read_states(api_version: str) -> list[dict[str, Any]]:
    """Return the states, in this version, of all sessions of this user that answer."""
    folder = _folder()
    if not folder.is_dir():
        return []
    root = DirectoryRoot(folder)
    names = [name for name in sorted(root.names()) if name.endswith(_SUFFIX)]
    with _short_path(root) as short:
        states = await asyncio.gather(*(_read(root, short, name) for name in names))
    # Sessions of another version of probetui may say something else.
    return [state for state in states if state.get("apiVersion") == api_version]


def _listener() -> socket.socket:
    """Return a socket that its owner alone may connect to, once it has a name."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Not every system has modes of sockets; the folder is private as well.
    with contextlib.suppress(OSError):
        os.fchmod(listener.fileno(), _OWN_MODE)
    return listener


def _answers(
    make_state: Callable[[], str],
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]:
    answered: tuple[float, bytes] = (-CACHE_SECONDS, b"")
    count = 0

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal answered, count
        now = asyncio.get_running_loop().time()
        if count >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        count += 1
        try:
            if now - answered[0] >= CACHE_SECONDS:
                answered = now, make_state().encode()
            async with asyncio.timeout(TIMEOUT_SECONDS):
                writer.write(answered[1])
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, ConnectionError):
            return
        finally:
            count -= 1
            writer.transport.abort()

    return answer


async def _read(root: DirectoryRoot, short: Path, name: str) -> dict[str, Any]:
    """Return what a session answers, empty if none does; a dead one's socket goes."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            reader, writer = await asyncio.open_unix_connection(short / name)
            with contextlib.closing(writer):
                state = json.loads(await _read_to_end(reader, LARGEST_STATE))
                return state if isinstance(state, dict) else {}
    except ConnectionRefusedError:
        root.unlink(name, missing_ok=True)
        return {}
    except (OSError, TimeoutError, ValueError, RecursionError):
        return {}


async def _read_to_end(reader: asyncio.StreamReader, limit: int) -> bytes:
    """Read all that comes; raises `ValueError` if it is more than `limit` bytes."""
    try:
        await reader.readexactly(limit + 1)
    except asyncio.IncompleteReadError as ended:
        return ended.partial
    raise ValueError("the answer is too long")


@contextmanager
def _short_path(root: DirectoryRoot) -> Iterator[Path]:
    """Yield a path of the folder that is short enough for a socket's address."""
    if not Path(_DESCRIPTORS).is_dir():
        yield root.path
        return
    descriptor = root.open_directory("")
    try:
        yield Path(_DESCRIPTORS, str(descriptor))
    finally:
        os.close(descriptor)


def _folder() -> Path:
    return state_folder() / "sockets"
