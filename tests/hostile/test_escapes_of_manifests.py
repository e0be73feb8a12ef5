"""Text in any field or name of a manifest is shown and never obeyed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
import yaml
from lightkube.models import core_v1

from probetui.cli.commands.inspection import CHECK_FORMATS
from probetui.cli.main import run
from probetui.manifest import schema
from probetui.manifest.schema import FieldKind
from tests.hostile.payloads import EVERYTHING, MEGABYTE, PAYLOADS, obeyed

pytestmark = pytest.mark.usefixtures("_own_home")

Captured = pytest.CaptureFixture[str]
Step = str | int

_DEEPEST = 9
_UNKNOWN = "unknownField"

GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {
        "containers": [
            {
                "name": "app",
                "image": "busybox",
                "livenessProbe": {"exec": {"command": ["ls"]}},
                "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
            }
        ]
    },
}


def string_paths(
    model: type[msgspec.Struct], before: tuple[Step, ...] = ()
) -> Iterator[tuple[Step, ...]]:
    """Yield the paths of all fields of a model that can have text, and of its maps."""
    for name, field in schema.fields_of(model).items():
        path = (*before, name, 0) if field.is_list else (*before, name)
        if field.model is not None:
            if len(path) < _DEEPEST and field.model.__name__ not in before:
                yield from string_paths(field.model, path)
        elif field.kind in {
            FieldKind.STRING,
            FieldKind.INT_OR_STRING,
            FieldKind.QUANTITY,
            FieldKind.TIME,
        }:
            yield path
        elif field.kind in {FieldKind.STRING_MAP, FieldKind.QUANTITY_MAP}:
            yield (*path, "key")
    yield (*before, _UNKNOWN)


def changed(document: Any, path: Sequence[Step], text: str) -> Any:
    """Return a document with a text at a path; missing parents are created.

    An unknown field and an entry of a map have the text as their name, too.
    """
    if not path:
        return text
    step, *rest = path
    if isinstance(step, int):
        items = document if isinstance(document, list) and document else [{}]
        return [changed(items[0], rest, text), *items[1:]]
    fields = dict(document) if isinstance(document, dict) else {}
    name = text if step in {_UNKNOWN, "key"} and not rest else step
    return {**fields, name: changed(fields.get(step), rest, text)}


def everywhere(text: str) -> dict[str, Any]:
    """Return a pod with a text in every field and in names of fields."""
    document = GOOD
    for path in PATHS:
        document = changed(document, path, text)
    return {**document, "apiVersion": "v1", "kind": "Pod"}


PATHS = [
    path
    for path in string_paths(core_v1.Pod)
    if path not in {("apiVersion",), ("kind",)} and path[0] != "status"
]


def printed(capsys: Captured, *args: str) -> str:
    """Run a command line and return its whole output."""
    run(args)
    captured = capsys.readouterr()
    return str(captured.out + captured.err)


def commands(path: Path) -> list[tuple[str, ...]]:
    """Return command lines that read manifests and start nothing."""
    file = ("-f", str(path))
    return [
        *(("check", *file, "-v", "-o", form) for form in CHECK_FORMATS),
        ("explain", *file),
        ("run", *file, "--runtime", "docker", "--host", "unix:///nowhere"),
    ]


@pytest.mark.parametrize("text", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_a_manifest_with_the_text_everywhere_is_not_obeyed(
    text: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(yaml.safe_dump(everywhere(text)))

    bad = {args: obeyed(printed(capsys, *args)) for args in commands(path)}

    assert {args: found for args, found in bad.items() if found} == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_no_single_field_is_obeyed(part: int, tmp_path: Path, capsys: Captured) -> None:
    """A pod with one invalid field gets further than a pod with many."""
    path = tmp_path / "pod.yaml"
    simulated = ("sim", "-f", str(path), "--plain", "--for", "2s", "--no-autosave")
    bad = {}
    for place in PATHS[part::4]:
        path.write_text(yaml.safe_dump(changed(GOOD, place, EVERYTHING)))
        if found := obeyed(printed(capsys, *simulated)):
            bad[place] = found

    assert bad == {}


@pytest.mark.parametrize("text", MEGABYTE.values(), ids=MEGABYTE.keys())
@pytest.mark.parametrize(
    "place",
    [
        pytest.param((_UNKNOWN,), id="unknown field"),
        pytest.param(("spec", "containers", 0, _UNKNOWN), id="deep unknown field"),
        pytest.param(("metadata", "name"), id="name"),
        pytest.param(("metadata", "annotations", "key"), id="key of a map"),
        pytest.param(("spec", "containers", 0, "image"), id="image"),
        pytest.param(
            ("spec", "containers", 0, "livenessProbe", "exec", "command", 0),
            id="command",
        ),
    ],
)
def test_a_megabyte_in_one_line_is_cut_short(
    text: str, place: tuple[Step, ...], tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(changed(GOOD, place, text)))

    output = printed(capsys, "check", "-f", str(path), "-v")
    output += printed(capsys, "explain", "-f", str(path))

    assert obeyed(output) == []
    assert max(map(len, output.split("\n"))) < 200_000
    assert len(output) < 1_000_000


def test_many_problems_below_a_long_name_do_not_repeat_it_in_full(
    tmp_path: Path, capsys: Captured
) -> None:
    unknown = {f"field{number}": 1 for number in range(2000)}
    nested = changed(GOOD, ("metadata", "annotations", "key"), "x" * (1 << 20))
    nested["spec"]["containers"][0].update(unknown)
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(nested))

    output = printed(capsys, "check", "-f", str(path), "-o", "json")

    assert len(output) < 4_000_000


@pytest.mark.parametrize(
    "kind", ["line breaks", "separators", "github", "tap", "xml", "control characters"]
)
def test_output_for_programs_is_unchanged(
    kind: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(yaml.safe_dump(everywhere(PAYLOADS[kind])))
    forms = {form: printed_form(capsys, path, form) for form in CHECK_FORMATS}

    count = len(json.loads(forms["json"]))
    (suite,) = ET.fromstring(forms["junit"])
    (of_sarif,) = json.loads(forms["sarif"])["runs"]
    points = forms["tap"].splitlines()
    annotations = forms["github"].splitlines()
    assert count == len(suite) == len(of_sarif["results"])
    assert points[:2] == ["TAP version 13", f"1..{count}"]
    assert [point.split(" - ")[0] for point in points[2:]] == [
        f"not ok {number}" for number in range(1, count + 1)
    ]
    assert len(annotations) == count
    assert all(
        line.startswith(("::error file=", "::warning file=", "::notice file="))
        for line in annotations
    )


def printed_form(capsys: Captured, path: Path, form: str) -> str:
    """Return the output of `check` in a format for programs."""
    run(("check", "-f", str(path), "-v", "-o", form))
    return str(capsys.readouterr().out)


@pytest.mark.parametrize("form", CHECK_FORMATS)
def test_the_name_of_a_file_is_not_obeyed(
    form: str, tmp_path: Path, capsys: Captured
) -> None:
    name = "\x1b[2J::error::x\n# TODO ok 1\u202e\udc80,'%0A.yaml"
    (tmp_path / name).write_text(yaml.safe_dump(changed(GOOD, (_UNKNOWN,), "x")))

    output = printed(capsys, "check", "-f", str(tmp_path / name), "-o", form)

    assert obeyed(output) == []


def test_a_syntax_error_is_shown_with_its_line_escaped(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text("a: \u202ex\u200b" + "\u0351" * 30 + ": c: d\n")

    output = printed(capsys, "check", "-f", str(path))

    assert "\\u202e" in output
    assert obeyed(output) == []


def test_arguments_of_the_command_line_are_not_obeyed(capsys: Captured) -> None:
    text = "\x1b]52;c;x\x07\u202e\udc80"
    outputs = [
        printed(capsys, *args)
        for args in (
            (text,),
            (f"--{text}",),
            ("run", f"--{text}"),
            ("check", "-f", text),
            ("check", "-f", "x.yaml", "-o", text),
            ("run", "-f", "x", "--set", text),
            ("run", "-f", "x", "--until", text),
            ("run", "-f", "x", "-l", text),
            ("run", "-f", "x", "--timeout", text),
            ("why", text),
            ("why", f"{text}.jsonl"),
            ("replay", f"{text}.jsonl"),
            ("demo", text),
            ("schema", text),
            ("ls", "--host", text),
            ("exec", text, "ls"),
        )
    ]

    assert [obeyed(text) for text in outputs] == [[]] * len(outputs)
