"""The header of a record, and the secrets that it masks."""

from __future__ import annotations

from pathlib import Path

import pytest

from probetui.cli.session.recording import make_header, open_writer, without_secrets
from probetui.errors import RecordError
from probetui.k8s.probe import ExecAction
from probetui.kubelet.config import KubeletConfig
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from probetui.record.masking import Mask, find_pod_secrets

MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: app
      image: busybox
      env:
        - {name: MODE, value: plain}
        - {name: API_TOKEN, value: "hunter22: yes"}
        - name: PRIVATE_KEY
          value: |
            BEGIN
            END
        - {name: DB_PASSWORD, value: "1"}
      livenessProbe:
        httpGet:
          port: 80
          httpHeaders:
            - {name: Authorization, value: Bearer abcdef}
            - {name: Accept, value: text/plain}
"""


@pytest.fixture
def rendered() -> str:
    return load_manifests([SourceFile("pod.yaml", MANIFEST)]).loaded[0].manifest


def values(manifest: str) -> dict[str, str]:
    container = load_manifests([SourceFile("x", manifest)]).pods[0].containers[0]
    probe = container.liveness_probe
    headers = getattr(probe and probe.handler, "http_headers", ())
    return {variable.name: variable.value for variable in (*container.env, *headers)}


def test_values_with_secret_names_are_masked_and_nothing_else_changes(
    rendered: str,
) -> None:
    masked = without_secrets(rendered, Mask())

    assert values(masked) == {
        "MODE": "plain",
        "API_TOKEN": "***",
        "PRIVATE_KEY": "***",
        "DB_PASSWORD": "***",
        "Authorization": "***",
        "Accept": "text/plain",
    }
    for secret in ("hunter22", "BEGIN", "abcdef"):
        assert secret not in masked
    recorded_options = [
        line for line in rendered.splitlines() if line in masked.splitlines()
    ]
    assert len(recorded_options) >= len(rendered.splitlines()) - 7


REPEATED = """
apiVersion: v1
kind: Pod
metadata: {name: hunter22}
spec:
  containers:
    - name: hunter22
      image: hunter22
      command: [sh, -c, "echo hunter22\\nexec sleep 9"]
      args: [--password=hunter22, plain]
      env: [{name: API_TOKEN, value: hunter22}, {name: URL, value: "x://hunter22@y"}]
      livenessProbe: {exec: {command: [curl, hunter22]}}
      readinessProbe: {httpGet: {path: /?key=hunter22, port: 80}}
"""


def test_other_occurrences_of_a_secret_are_masked_and_names_are_kept() -> None:
    loaded = load_manifests([SourceFile("pod.yaml", REPEATED)]).loaded

    made = make_header(loaded, "docker", KubeletConfig(), {}, show_secrets=False)
    text = made.manifests[0][1]

    again = load_manifests([SourceFile("x", text)]).pods[0]
    container = again.containers[0]
    assert (again.name, container.name, container.image) == ("hunter22",) * 3
    assert container.command == ("sh", "-c", "echo ***\nexec sleep 9")
    assert container.args == ("--password=***", "plain")
    assert [var.value for var in container.env] == ["***", "x://***@y"]
    assert container.liveness_probe is not None
    assert container.liveness_probe.handler == ExecAction(("curl", "***"))
    assert text.count("hunter22") == 3


def test_a_manifest_without_secrets_is_recorded_unchanged() -> None:
    manifest = MANIFEST.replace("API_TOKEN", "A").replace("PRIVATE_KEY", "B")
    manifest = manifest.replace("DB_PASSWORD", "C").replace("Authorization", "D")

    assert without_secrets(manifest, Mask(["no such"])) == manifest


def test_a_record_has_referenced_objects_without_secrets() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: shown}\n---\n"
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {b: hidden}\n"
    )
    objects = load_manifests([SourceFile("all.yaml", text)]).objects

    made = make_header(
        (), "x", KubeletConfig(), {}, show_secrets=False, objects=objects
    )
    shown = make_header(
        (), "x", KubeletConfig(), {}, show_secrets=True, objects=objects
    )

    assert [name for name, _ in made.manifests] == ["all.yaml"] * 2
    assert "shown" in made.manifests[0][1]
    assert "b: '***'" in made.manifests[1][1]
    again = load_manifests([SourceFile("x", shown.manifests[1][1])])
    assert again.config_objects == (objects[1].value,)


def test_a_record_has_the_manifest_with_secrets_only_on_request() -> None:
    loaded = load_manifests([SourceFile("pod.yaml", MANIFEST)]).loaded
    config = KubeletConfig(seed=7)

    masked = make_header(loaded, "docker", config, {}, show_secrets=False)
    shown = make_header(loaded, "docker", config, {}, show_secrets=True)

    assert masked.seed == 7
    assert masked.kubelet == "v1.32"
    assert [name for name, _ in masked.manifests] == ["pod.yaml"]
    assert "hunter22" not in masked.manifests[0][1]
    assert shown.manifests[0][1] == loaded[0].manifest


def test_a_mask_includes_secrets_of_pods_that_are_added_later() -> None:
    pods = load_manifests([SourceFile("pod.yaml", MANIFEST)]).pods
    mask = Mask(["earlier-secret"])

    mask.learn(find_pod_secrets(pods))

    assert mask.text("got Bearer abcdef, earlier-secret") == "got ***, ***"


def test_a_record_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError):
        open_writer(str(tmp_path / "missing" / "session.jsonl"))


def test_secrets_on_the_command_line_are_masked() -> None:
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: x, env: [{name: DB_PASS, value: hunter2-x}]}]}
"""
    loaded = load_manifests([SourceFile("pod.yaml", pod)]).loaded
    options = {
        "changes": ["a=hunter2-x", "b=1"],
        "host": "tcp://me:pw@h",
        "watch": True,
    }

    def recorded_options(*, show_secrets: bool) -> object:
        config = KubeletConfig()
        return make_header(
            loaded, "docker", config, options, show_secrets=show_secrets
        ).options

    assert recorded_options(show_secrets=True) == options
    assert recorded_options(show_secrets=False) == {
        "changes": ["a=***", "b=1"],
        "host": "tcp://me:***@h",
        "watch": True,
    }


def test_credentials_are_masked_in_annotations_of_a_manifest() -> None:
    manifest = """\
metadata:
  annotations:
    db: postgres://me:hunter22@db/app
    api-token: hunter33
    kind: plain
"""

    masked = without_secrets(manifest, Mask(["hunter33"]))

    assert "hunter" not in masked
    assert "kind: plain" in masked
