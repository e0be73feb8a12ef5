"""Where probes stand in their files."""

from __future__ import annotations

from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import format_probe_positions
from probetui.manifest.yaml.parser import SourceFile

DEPLOYMENT = b"""\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      initContainers:
        - name: side
          image: none
          restartPolicy: Always
          startupProbe:
            exec:
              command: [a]
      containers:
        - name: app
          image: none
          livenessProbe:
            httpGet:
              port: 80
"""


def test_every_handler_of_a_probe_has_its_place() -> None:
    loaded = load_manifests([SourceFile("web.yaml", DEPLOYMENT)]).loaded
    uid = loaded[0].pod.uid

    places = format_probe_positions(loaded)

    liveness = f"{uid} spec.containers[0].livenessProbe"
    startup = f"{uid} spec.initContainers[0].startupProbe"
    assert set(places) == {
        f"{liveness}.exec.command",
        f"{liveness}.httpGet",
        f"{startup}.exec.command",
        f"{startup}.httpGet",
    }
    assert places[f"{liveness}.httpGet"].startswith("web.yaml:20:")
    assert places[f"{startup}.exec.command"].startswith("web.yaml:15:")


def test_without_pods_there_are_none() -> None:
    assert format_probe_positions(()) == {}
