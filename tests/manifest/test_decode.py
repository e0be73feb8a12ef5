from __future__ import annotations

from datetime import UTC, datetime

import pytest
from lightkube.models import core_v1, meta_v1

from probetui.manifest.decode import Decoded, decode
from probetui.manifest.yaml.parser import SourceFile, parse_yaml


def _decoded(text: str, path: str = "") -> Decoded[core_v1.Container]:
    (document,) = parse_yaml(SourceFile("c.yaml", text)).documents
    return decode(document.root, core_v1.Container, path)


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        pytest.param(
            'livenessProbe: {periodSeconds: "5s"}',
            'livenessProbe.periodSeconds: is the string "5s", must be a whole number of'
            " seconds",
            id="duration",
        ),
        pytest.param(
            "livenessProbe: {failureThreshold: 2.5}",
            "livenessProbe.failureThreshold: is the number 2.5, must be a whole number",
            id="fraction",
        ),
        pytest.param(
            "livenessProbe: {timeoutSeconds: yes}",
            "livenessProbe.timeoutSeconds: is a boolean (yes), must be a whole number"
            " of seconds",
            id="boolean-for-a-number",
        ),
        pytest.param(
            "livenessProbe: {timeoutSeconds: 2147483648}",
            "livenessProbe.timeoutSeconds: is the number 2147483648, must be between"
            " -2147483648 and 2147483647",
            id="more-than-32-bits",
        ),
        pytest.param(
            "livenessProbe: {timeoutSeconds: 1e300}",
            "livenessProbe.timeoutSeconds: is the number 1e300, must be a whole number"
            " of seconds",
            id="astronomic",
        ),
        pytest.param(
            "livenessProbe: [1]",
            "livenessProbe: is a list, must be a mapping (lines of `name: value`)",
            id="list-for-a-mapping",
        ),
        pytest.param(
            "command: sh",
            'command: is the string "sh", must be a list (lines that begin with `- `)',
            id="text-for-a-list",
        ),
        pytest.param(
            "command: [sleep, 5]",
            'command[1]: is the number 5, must be a string: put it in quotes, "5"',
            id="number-for-text",
        ),
        pytest.param(
            "env: [{name: A, value: on}]",
            'env[0].value: is a boolean (on), must be a string: put it in quotes, "on"',
            id="boolean-for-text",
        ),
        pytest.param(
            "image: {a: b}", "image: is a mapping, must be a string", id="map-for-text"
        ),
        pytest.param(
            "tty: maybe",
            'tty: is the string "maybe", must be true or false',
            id="text-for-a-boolean",
        ),
        pytest.param(
            "livenessProbe: {tcpSocket: {port: 80.5}}",
            "livenessProbe.tcpSocket.port: is the number 80.5, must be a whole number"
            " or a name",
            id="port",
        ),
        pytest.param(
            "resources: {limits: {cpu: half}}",
            'resources.limits.cpu: is the string "half", must be a quantity such as'
            " 500m, 2 or 64Mi"
            " (quantities must match the regular expression"
            " '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$')",
            id="quantity",
        ),
        pytest.param(
            "resources: {limits: {cpu: true}}",
            "resources.limits.cpu: is a boolean (true), must be a quantity such as"
            " 500m, 2 or 64Mi"
            " (quantities must match the regular expression"
            " '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$')",
            id="boolean-for-a-quantity",
        ),
        pytest.param(
            "resources: {limits: [cpu]}",
            "resources.limits: is a list, must be a mapping (lines of `name: value`)",
            id="list-of-quantities",
        ),
    ],
)
def test_a_wrong_type_names_the_field_and_what_it_takes(
    field: str, problem: str
) -> None:
    decoded = _decoded(field)

    messages = [f"{problem.path}: {problem.message}" for problem in decoded.problems]
    assert [message.partition(" (json: ")[0] for message in messages] == [problem]


def test_all_problems_are_found_at_once_with_their_places() -> None:
    decoded = _decoded("name: 5\nimage: yes\nports:\n- containerPort: '80'\n", "spec")

    assert [str(problem.position) for problem in decoded.problems] == [
        "c.yaml:1:1",
        "c.yaml:2:1",
        "c.yaml:4:3",
    ]
    assert decoded.problems[2].path == "spec.ports[0].containerPort"


def test_a_field_that_cannot_be_read_is_as_good_as_absent() -> None:
    decoded = _decoded("name: 5\ncommand: [a, 5, null]\nstartupProbe: 3\n")

    assert decoded.value.name == ""
    assert decoded.value.command == ["a", "", ""]
    assert decoded.value.startupProbe == core_v1.Probe()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("5.0", 5, id="whole-float"),
        pytest.param("1e1", 10, id="exponent"),
        pytest.param("010", 8, id="octal"),
        pytest.param("null", None, id="null"),
    ],
)
def test_whole_numbers_may_be_written_in_many_ways(
    text: str, seconds: int | None
) -> None:
    decoded = _decoded(f"livenessProbe: {{periodSeconds: {text}}}")

    assert decoded.problems == ()
    assert decoded.value.livenessProbe == core_v1.Probe(periodSeconds=seconds)


def test_quantities_may_be_numbers() -> None:
    decoded = _decoded("resources: {limits: {cpu: 2, memory: 64Mi, x: null}}")

    assert decoded.problems == ()
    assert decoded.value.resources == core_v1.ResourceRequirements(
        limits={"cpu": "2", "memory": "64Mi", "x": "0"}
    )


def test_unknown_fields_are_reported_with_the_nearest_name() -> None:
    decoded = _decoded("livenesProbe: {}\nzzz: 1\nports: [{containerport: 1}]\n", "c")

    assert [(field.path, field.message) for field in decoded.unknown] == [
        (
            "c.livenesProbe",
            'unknown field "livenesProbe" (did you mean "livenessProbe"?)',
        ),
        ("c.zzz", 'unknown field "zzz"'),
        (
            "c.ports[0].containerport",
            'unknown field "containerport" (did you mean "containerPort"?)',
        ),
    ]
    assert decoded.problems == ()


@pytest.mark.parametrize(
    ("text", "home"),
    [
        pytest.param("spec: {livenessProbe: {}}", "a container", id="probe in a spec"),
        pytest.param("readinessProbe: {}", "a container", id="probe in a pod"),
        pytest.param("labels: {}", "metadata", id="labels in a pod"),
        pytest.param(
            "spec: {containers: [{volumes: []}]}",
            "the pod's spec",
            id="volumes in a container",
        ),
        pytest.param(
            "spec: {containers: [{livenessProbe: {path: /}}]}",
            "`httpGet`",
            id="path in a probe",
        ),
        pytest.param(
            "spec: {containers: [{livenessProbe: {httpGet: {periodSeconds: 1}}}]}",
            "a probe",
            id="period in a handler",
        ),
        pytest.param(
            "spec: {containers: [{periodSeconds: 1}]}",
            "a probe",
            id="period in a container",
        ),
    ],
)
def test_a_misplaced_field_is_told_where_it_belongs(text: str, home: str) -> None:
    (document,) = parse_yaml(SourceFile("p.yaml", text)).documents

    (unknown,) = decode(document.root, core_v1.Pod).unknown

    assert unknown.message.endswith(f" (it belongs in {home})")


@pytest.mark.parametrize("text", ["spec: {name: x}", "spec: {zzz: 1}"])
def test_a_field_that_belongs_to_several_objects_or_none_has_no_such_hint(
    text: str,
) -> None:
    (document,) = parse_yaml(SourceFile("p.yaml", text)).documents

    (unknown,) = decode(document.root, core_v1.Pod).unknown

    assert "belongs" not in unknown.message


def test_null_items_are_empty_objects() -> None:
    decoded = _decoded("ports: [null]")

    assert decoded.value.ports == [core_v1.ContainerPort(containerPort=0)]


def test_times_and_raw_fields_are_read() -> None:
    (document,) = parse_yaml(
        SourceFile(
            "p.yaml",
            "metadata:\n"
            "  creationTimestamp: 2026-11-20T08:21:05Z\n"
            "  managedFields: [{fieldsV1: {a: [1]}, time: yesterday}]\n"
            "  deletionTimestamp: 5\n"
            "status: {startTime: 2026-11-20T08:21:05}\n",
        )
    ).documents

    decoded = decode(document.root, core_v1.Pod)

    metadata = decoded.value.metadata
    assert metadata is not None
    assert metadata.creationTimestamp == datetime(2026, 11, 20, 8, 21, 5, tzinfo=UTC)
    assert metadata.managedFields == [meta_v1.ManagedFieldsEntry(fieldsV1={"a": [1]})]
    assert [problem.path for problem in decoded.problems] == [
        "metadata.managedFields[0].time",
        "metadata.deletionTimestamp",
        "status.startTime",
    ]


def test_null_items_of_any_type_have_gos_zero_value() -> None:
    (document,) = parse_yaml(
        SourceFile(
            "p.yaml", "spec: {securityContext: {supplementalGroups: [null, 5]}}\n"
        )
    ).documents

    spec = decode(document.root, core_v1.Pod).value.spec

    assert spec == core_v1.PodSpec(
        containers=[],
        securityContext=core_v1.PodSecurityContext(supplementalGroups=[0, 5]),
    )


@pytest.mark.parametrize(
    ("written", "is_time"),
    [
        ("2026-11-20T08:21:05Z", True),
        ("2026-11-20T08:21:05.25+01:00", True),
        ("2026-11-20T08:21Z", False),
        ("2026-11-20 08:21:05Z", False),
        ("20261120T082105Z", False),
        ("2026-11-20T08:21:05", False),
        ("2026-13-20T08:21:05Z", False),
    ],
)
def test_a_time_is_written_as_in_go(written: str, *, is_time: bool) -> None:
    source = SourceFile("a.yaml", f"creationTimestamp: '{written}'\n")
    (document,) = parse_yaml(source).documents

    decoded = decode(document.root, meta_v1.ObjectMeta)

    assert (not decoded.problems) is is_time


def test_blanks_around_a_quantity_mean_nothing() -> None:
    (document,) = parse_yaml(
        SourceFile("a.yaml", "limits: {cpu: ' 500m '}\n")
    ).documents

    decoded = decode(document.root, core_v1.ResourceRequirements)

    assert not decoded.problems
    assert decoded.value.limits == {"cpu": "500m"}
