"""The pods of a node: static ones of files beside those of the API server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from probetui.cli.commands.node import NodeCommandOptions, node
from probetui.cli.option_groups import pick_options
from probetui.cli.options import NodeOptions
from probetui.cli.pods import ManifestOptions, load_pods
from probetui.cli.session.node import NodePods
from probetui.cli.session.plan import NodePlan
from probetui.cli.session.planning import make_plan
from probetui.cli.session.pod_registry import PodRegistry
from probetui.cli.session.screen import manifest_reloader
from probetui.cluster.node.api_pods import ReadPod
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from tests.cli.contexts import context_of
from tests.fakes import FakeClock, FakeEngine, FakeRuntime

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s, uid: "%s"}
spec: {containers: [{name: app, image: busybox}]}
"""


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """Return the file of a static pod."""
    path = tmp_path / "static.yaml"
    path.write_text(POD % ("agent", "1"))
    return path


def test_a_reload_of_static_pods_keeps_the_pods_of_the_cluster(static: Path) -> None:
    options = NodeCommandOptions.of(context_of(node, "--static", str(static)).params)
    source = pick_options(ManifestOptions, options)
    reader = source.reader()
    run_plan = make_plan(load_pods(source, reader), options, source, reader)
    plan = NodePlan.of(run_plan, name="worker", node=NodeOptions())
    registry = PodRegistry(plan.desired)
    pods = NodePods(plan, registry, FakeRuntime(FakeEngine(FakeClock())))
    (assigned,) = load_manifests([SourceFile("api", POD % ("web", "2"))]).loaded
    asyncio.run(pods.apply_api([ReadPod(assigned)]))
    reread = manifest_reloader(plan, registry)
    assert reread is not None
    static.write_text(POD % ("agent-2", "3"))

    reread().apply()

    assert sorted(pod.name.partition("-worker")[0] for pod in registry.pods) == [
        "agent-2",
        "web",
    ]
