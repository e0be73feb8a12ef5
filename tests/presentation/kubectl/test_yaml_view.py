"""A pod as YAML with its defaults, and the roles of its words (highlighting)."""

from __future__ import annotations

import yaml
from msgspec.structs import replace

from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.presentation.kubectl.yaml_view import yaml_lines
from probetui.presentation.text.spans import Role, text_of
from probetui.presentation.text.view import View
from probetui.record.masking import MASKED, Mask
from tests.presentation.looking import TIMES, VIEW
from tests.tui.snapshots import DEMO, a_pod_snapshot, demo


def text_of_pod(pod: Pod, view: View = VIEW) -> str:
    return "\n".join(text_of(line) for line in yaml_lines(a_pod_snapshot(pod), view))


def roles(pod: Pod) -> dict[str, Role]:
    """Return the role of each word on the pod's page; the last one counts."""
    return {
        span.text.strip(): span.role
        for line in yaml_lines(a_pod_snapshot(pod), VIEW)
        for span in line
    }


def test_defaults_and_status_are_there() -> None:
    lines = [text_of(line) for line in yaml_lines(demo(), VIEW)]
    read = yaml.safe_load("\n".join(lines))

    probe = read["spec"]["containers"][0]["livenessProbe"]
    assert probe["successThreshold"] == 1
    assert read["spec"]["restartPolicy"] == "Always"
    assert read["status"]["phase"] == "Running"
    assert read["status"]["conditions"][1] == {"type": "Ready", "status": "True"}
    assert list(read) == ["apiVersion", "kind", "metadata", "spec", "status"]


def test_keys_are_highlighted() -> None:
    shown = roles(DEMO)

    assert shown["periodSeconds"] is Role.ACCENT
    assert shown["5"] is Role.SUCCESS
    assert shown["/tmp/healthy"] is Role.PLAIN
    assert shown["{}"] is Role.SUCCESS
    assert shown["-"] is Role.MUTED


def test_text_in_a_block_has_no_keys() -> None:
    container = Container("app", args=("echo: 1\n\nname: x\n",), working_dir="/srv")

    shown = roles(replace(DEMO, containers=(container,)))

    assert shown["echo: 1"] is Role.PLAIN
    assert shown["name: x"] is Role.PLAIN
    assert shown["workingDir"] is Role.ACCENT


def test_markup_and_escape_sequences_are_only_text() -> None:
    container = Container(
        "app", "[red]x[/red]", args=("\x1b[2J", "\udcff", "\u202e"), env=()
    )

    text = text_of_pod(replace(DEMO, containers=(container,)))

    assert "image: '[red]x[/red]'" in text
    assert not any(
        not (character.isprintable() or character == "\n") for character in text
    )


def test_secrets_are_masked_unless_shown_on_request() -> None:
    container = Container("app", env=(EnvVar("PASSWORD", "abc"),))
    pod = replace(DEMO, containers=(container,))

    hidden = text_of_pod(pod, View(TIMES, mask=Mask()))
    shown = text_of_pod(pod, View(TIMES, mask=Mask(hides=False)))

    assert f"value: {MASKED}" in hidden.replace("'", "")
    assert "value: abc" in shown
