"""Tasks beside a session: what one raises is heard, and no other task is kept."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import probetui
from probetui.drive.session import KeptTasks

SOURCE = Path(probetui.__file__).parent
STARTS = {"create_task", "ensure_future"}
HEARD_OTHERWISE = {
    "runtimes/process/container.py": "its end is awaited by whoever stops or removes",
    "runtimes/process/descendant_killer.py": "whoever asked for a kill awaits it",
    "runtimes/process/logs.py": "`close` raises it",
    "cluster/attach/port_forward.py": "`has_ended`, and the next read or write",
}
"""Modules that keep a task beyond the call that begins it, and who hears its end."""


async def test_what_a_task_raises_is_heard() -> None:
    heard: list[Exception] = []
    tasks = KeptTasks(heard.append)

    async def fail() -> None:
        raise LookupError("x")

    async def wait() -> None:
        await asyncio.Event().wait()

    waiting = tasks.start(wait())
    await asyncio.wait([tasks.start(fail())])
    await asyncio.sleep(0)
    await tasks.end()

    assert [str(error) for error in heard] == ["x"]
    assert waiting.cancelled()


def test_every_other_task_ends_with_the_call_that_begins_it() -> None:
    keeps = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "attr", "") in STARTS
        and any(
            isinstance(target, ast.Attribute)
            for target in (
                node.targets if isinstance(node, ast.Assign) else [node.target]
            )
        )
    }
    assert keeps == HEARD_OTHERWISE.keys()
