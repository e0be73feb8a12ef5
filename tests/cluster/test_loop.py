"""Our own kubelet behind our own API server, and `watch` before it: what it says of
each tick is what the session knows of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

_POD = """
apiVersion: v1
kind: Pod
metadata: {name: loop-of-watch}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: busybox:1.36
      command: [sh, -c, "touch ok; sleep 4; rm ok; sleep 100"]
      livenessProbe:
        exec: {command: [cat, ok]}
        periodSeconds: 1
        failureThreshold: 2
"""


async def _start(*words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "probetui", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
    )


def _results(output: bytes) -> list[str]:
    """Return what each tick that was counted came to."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in output.splitlines()]
    ticks = [it for it in lines if it["type"] == "tick" and not it.get("skip")]
    return [str(it["result"]) for it in ticks if it.get("result") is not None]


@pytest.mark.slow
@pytest.mark.e2e
async def test_watch_reports_the_ticks_of_the_session(
    tmp_path: Path,
) -> None:
    manifest, config = tmp_path / "pod.yaml", tmp_path / "config"
    manifest.write_text(_POD)
    serving = await _start(
        *("serve", "-f", str(manifest), "--runtime", "process", "-o", "jsonl"),
        *("--write-kubeconfig", str(config), "--timeout", "22s", "--no-autosave"),
    )
    assert serving.stderr is not None
    while b"KUBECONFIG" not in await serving.stderr.readline():
        assert not serving.stderr.at_eof()
    watching = await _start(
        *("watch", "--kubeconfig", str(config), "-A", "--via-node-proxy"),
        *("-o", "jsonl", "--timeout", "14s"),
    )
    watched, errors = await watching.communicate()
    served, _ = await serving.communicate()

    ours, theirs = _results(watched), _results(served)
    assert len(ours) >= 5, errors.decode()
    windows = [theirs[at : at + len(ours)] for at in range(len(theirs))]
    if b"order" in watched:  # polls were late: it says that their order is unknown
        assert any(Counter(window) == Counter(ours) for window in windows)
    else:
        assert ours in windows
    assert b"should have been" not in watched
    assert b"before its counted failures" not in watched
