"""A real containerd without a network: which pods wait for one, and what is said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runtimes.own_containerd import OwnContainerd, own_containerd

__all__ = ["own_containerd"]

pytestmark = [pytest.mark.cri, pytest.mark.slow]

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  hostNetwork: HOST
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: busybox:1.36
    imagePullPolicy: Never
    command: [sleep, "1000"]
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
---
"""
PODS = "".join(
    POD.replace("NAME", name).replace("HOST", is_host)
    for name, is_host in (("rules-waits", "false"), ("rules-host", "true"))
)


def events_until(condition: str, daemon: OwnContainerd, folder: Path) -> list[Any]:
    """Run the pods and return the events of the one that needs a network."""
    manifest = folder / "pods.yaml"
    manifest.write_text(PODS)
    done = subprocess.run(
        [
            sys.executable, "-m", "probetui", "run", "-f", str(manifest), "-o", "jsonl",
            "--runtime", "cri", "--runtime-endpoint", f"unix://{daemon.socket}",
            "--until", condition, "--timeout", "60s",
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        one
        for one in records
        if one["type"] == "event" and one.get("pod") == "rules-waits"
    ]


def test_pods_wait_for_the_network_but_for_those_of_the_host(
    own_containerd: OwnContainerd, tmp_path: Path
) -> None:
    own_containerd.start()
    own_containerd.load_images()

    without = events_until("rules-host:ready", own_containerd, tmp_path)
    own_containerd.make_network()
    with_one = events_until(
        "rules-waits:event=FailedCreatePodSandBox", own_containerd, tmp_path
    )

    assert {one["reason"] for one in without} == {"NetworkNotReady"}
    assert without[0]["message"] == (
        "network is not ready: container runtime network not ready: "
        "NetworkReady=false reason:NetworkPluginNotReady message:Network plugin "
        "returns error: cni plugin not initialized"
    )
    # That network is the loopback alone: the pod is tried, and has no address.
    assert "FailedCreatePodSandBox" in {one["reason"] for one in with_one}
