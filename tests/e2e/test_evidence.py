"""What a container printed last is told by `why` and `logs`, on every runtime."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.program import RUNTIMES, Program

MANIFEST = """\
apiVersion: v1
kind: Secret
metadata: {name: database, namespace: e2e-evidence}
stringData: {password: not-to-be-seen}
---
apiVersion: v1
kind: Pod
metadata: {name: crashes, namespace: e2e-evidence}
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: app
      image: busybox:1.36
      command:
        - sh
        - -c
        - |
          exec >&2  # an engine does not keep the order of two streams
          echo "opens the database with $PASSWORD"
          printf 'FATAL: \\033[2J no database\\n'
          exit 3
      env:
        - name: PASSWORD
          valueFrom: {secretKeyRef: {name: database, key: password}}
---
apiVersion: v1
kind: Pod
metadata: {name: hooked, namespace: e2e-evidence}
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: app
      image: busybox:1.36
      command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 0.1; done"]
      lifecycle:
        postStart: {exec: {command: [sh, -c, "echo no cache; exit 5"]}}
"""


@pytest.mark.parametrize("options", RUNTIMES)
def test_a_crash_and_a_failed_hook_are_explained_by_what_they_printed(
    program: Program, options: tuple[str, ...], tmp_path: Path
) -> None:
    manifest, record = tmp_path / "pod.yaml", tmp_path / "session.jsonl"
    manifest.write_text(MANIFEST)

    lines = program.run(
        *("run", "-f", str(manifest), *options, "--no-tui"),
        *("--until", "backoff", "--record", str(record)),
    )
    why = program.run("why", str(record), "crashes/app")
    hook = program.run("why", str(record), "hooked/app")
    report = program.run("why", str(record), "crashes/app", "-o", "json")
    logs = program.run("logs", str(record), "crashes/app", "-p")

    assert lines.returncode == 0, lines.stderr
    assert r"no database" in lines.stdout
    assert any(r"FATAL: \x1b[2J" in line for line in why.stdout.splitlines()[:4])
    assert "postStart hook failed" in hook.stdout
    assert "exited with 5: no cache" in hook.stdout
    assert logs.stdout.splitlines()[0] == "opens the database with ***"
    (container,) = json.loads(report.stdout)
    first = container["instances"][0]
    assert first["exitCode"] == 3
    assert len(first["lastOutput"]["lines"]) == 2
    everything = record.read_text() + lines.stdout + why.stdout + report.stdout
    assert "not-to-be-seen" not in everything + logs.stdout + hook.stdout
