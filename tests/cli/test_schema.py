"""`probetui schema`: JSON schemas for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from probetui.cli.main import run
from probetui.cli.settings import ALL_SETTINGS, config_schema, load_settings
from probetui.errors import ManifestError
from probetui.presentation.state_json import state_schema
from probetui.record.format import AnyRecord
from probetui.tui.actions.table import ACTIONS_BY_ID

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  containers:
    - name: app
      image: none
      command: [sh, -c, "sleep 0.5"]
      readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
"""

ANY = {"boolean": True, "integer": 1, "string": "x"}
OF_FORM = {
    "autosave-limit": "500M",
    "kubelet": "1.36",
    "max-container-restart-period": "60s",
}


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    assert run(["schema", *args]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_schema_of_the_record_is_the_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys) == printed(capsys, "record")
    assert "Tick" in printed(capsys)["$defs"]


def test_the_state_of_a_session_has_a_schema_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys, "state") == state_schema()


def test_the_configuration_has_a_schema_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = printed(capsys, "config")

    assert found == config_schema()
    assert found["properties"].keys() == {setting.key for setting in ALL_SETTINGS}
    assert found["additionalProperties"] is False


@pytest.mark.parametrize(
    ("key", "schema"),
    [
        pytest.param("keep", {"type": "boolean", "default": False}, id="switch"),
        pytest.param("autosave", {"type": "boolean", "default": True}, id="on"),
        pytest.param(
            "color",
            {"enum": ["auto", "always", "never"], "default": "auto"},
            id="one of some words",
        ),
        pytest.param(
            "seed",
            {"type": "integer", "minimum": 0},
            id="number",
        ),
        pytest.param("log-file", {"type": "string"}, id="text"),
        pytest.param(
            "autosave-limit",
            {
                "type": ["string", "integer"],
                "pattern": "^[0-9]{1,15}([kMGT]|[KMGT]i)?$",
                "minimum": 0,
                "maximum": 10**15 - 1,
                "default": "1Gi",
            },
            id="size",
        ),
    ],
)
def test_a_setting_has_the_type_of_its_option(
    key: str, schema: dict[str, object]
) -> None:
    found = config_schema()["properties"][key]

    assert found.pop("description")
    assert found == schema


def test_numbers_may_have_a_maximum() -> None:
    option = ALL_SETTINGS[0].__class__(
        ["--share"], section="x", type=click.IntRange(max=9), is_setting=True
    )

    found = config_schema([option])["properties"]["share"]

    assert found == {"description": "", "type": "integer", "maximum": 9}


def test_the_program_accepts_what_the_schema_allows(tmp_path: Path) -> None:
    properties = config_schema()["properties"]
    values = {
        key: OF_FORM[key]
        if key in OF_FORM
        else schema["enum"][0]
        if "enum" in schema
        else ANY[schema["type"]]
        for key, schema in properties.items()
        if key != "keymap"
    }
    values["keymap"] = {"time.step": "n", "probe.trigger": ["t", "f5"]}
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps(values))

    assert load_settings(path, known=ALL_SETTINGS, wanted=ALL_SETTINGS)


def test_the_program_refuses_what_the_schema_forbids(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("color: red\nkeep: 3\nseed: -1\nmore: 1\n")

    with pytest.raises(ManifestError) as caught:
        load_settings(path, known=ALL_SETTINGS, wanted=())

    assert len(caught.value.problems) == 4


@pytest.mark.slow
def test_the_record_of_a_real_session_conforms_to_its_schema(tmp_path: Path) -> None:
    path, record = tmp_path / "pod.yaml", tmp_path / "record.jsonl"
    path.write_text(POD)

    status = run(
        ["-f", str(path), "--runtime", "process", "--record", str(record), "-q"]
    )

    lines = record.read_bytes().splitlines()
    records = [msgspec.json.decode(line, type=AnyRecord) for line in lines]
    kinds = {record.__struct_config__.tag for record in records}
    assert status == 0
    assert {"session", "tick", "event", "container", "status", "end"} <= kinds


def test_the_keymap_has_ids_of_actions() -> None:
    keymap = config_schema()["properties"]["keymap"]

    assert keymap["type"] == ["string", "object"]
    assert keymap["properties"]["time.step"]["default"] == "greater_than_sign"
    step = ACTIONS_BY_ID["time.step"]
    assert keymap["properties"]["time.step"]["description"] == step.tooltip
