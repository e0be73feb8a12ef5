"""Other numbers in a manifest, and every other character as it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from probetui.errors import ManifestError
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import Probe, ProbeType
from probetui.manifest.edit.probe_numbers import EditedManifest, ProbeEdit, edit_probes
from probetui.manifest.yaml.parser import SourceFile
from tests.manifest.yaml_pods import load

POD = """\
# my pod
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: 'busybox:1.36'   # pinned
    livenessProbe:
%s
  # the end
"""
FIELDS = {
    "initialDelaySeconds": "initial_delay_seconds",
    "timeoutSeconds": "timeout_seconds",
    "periodSeconds": "period_seconds",
    "failureThreshold": "failure_threshold",
    "successThreshold": "success_threshold",
}


def pod(*probe: str) -> str:
    return POD % "\n".join(f"      {line}" for line in probe)


def cut(text: str) -> str:
    """Return a pod up to the last character of its probe."""
    return text.rpartition("\n  # the end")[0]


def edit(
    text: str | bytes,
    kind: ProbeType = ProbeType.LIVENESS,
    container: str = "app",
    pod_number: int = 0,
    **numbers: int,
) -> EditedManifest:
    loaded = load(text).loaded[pod_number]
    wanted = {api: numbers[name] for api, name in FIELDS.items() if name in numbers}
    return edit_probes(
        SourceFile("pod.yaml", text), [ProbeEdit(loaded, container, kind, wanted)]
    )


def edit_text(text: str, **numbers: int) -> str:
    return edit(text, **numbers).data.decode()  # type: ignore[arg-type]  # numbers only


def refusal(text: str, **numbers: int) -> str:
    with pytest.raises(ManifestError) as refused:
        edit_text(text, **numbers)
    return str(refused.value)


def test_a_number_is_exchanged_and_nothing_else() -> None:
    text = pod("tcpSocket: {port: 80}", "periodSeconds:   5   # often", "# never mind")

    changed = edit(text, period_seconds=7)

    assert changed.data.decode() == text.replace(":   5   #", ":   7   #")
    assert changed.fields == 1


def test_what_is_left_out_is_put_at_the_end_of_the_probe() -> None:
    text = pod("tcpSocket:", "  port: 80   # web")

    changed = edit_text(text, period_seconds=7, failure_threshold=1)

    assert changed == pod(
        "tcpSocket:", "  port: 80   # web", "periodSeconds: 7", "failureThreshold: 1"
    )


def test_numbers_that_are_so_already_are_not_written() -> None:
    text = pod("tcpSocket: {port: 80}", "periodSeconds: 5")

    changed = edit(text, period_seconds=5, timeout_seconds=1, success_threshold=1,
                   failure_threshold=9)  # fmt: skip

    assert changed.fields == 1
    assert changed.data.decode() == text.replace(
        "periodSeconds: 5", "periodSeconds: 5\n      failureThreshold: 9"
    )


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        pytest.param(
            "{tcpSocket: {port: 80}, periodSeconds: 5}",
            "{tcpSocket: {port: 80}, periodSeconds: 7, timeoutSeconds: 2}",
            id="flow",
        ),
        pytest.param(
            '{"tcpSocket":{"port":80},"periodSeconds":5}',
            '{"tcpSocket":{"port":80},"periodSeconds":7, "timeoutSeconds": 2}',
            id="json in one line",
        ),
        pytest.param(
            '{\n  "tcpSocket": {"port": 80},\n  "periodSeconds": 5\n }',
            '{\n  "tcpSocket": {"port": 80},\n  "periodSeconds": 7,\n'
            '  "timeoutSeconds": 2\n }',
            id="json in lines",
        ),
        pytest.param(
            "{tcpSocket: {port: 80}, periodSeconds: 5, # five\n }",
            "{tcpSocket: {port: 80}, periodSeconds: 7, timeoutSeconds: 2, # five\n }",
            id="flow with a comma too many and a comment",
        ),
    ],
)
def test_flow_style_stays_flow_style(probe: str, expected: str) -> None:
    text = POD.replace("livenessProbe:\n%s", "livenessProbe: %s")

    changed = edit_text(text % probe, period_seconds=7, timeout_seconds=2)

    assert changed == text % expected


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("periodSeconds:", id="nothing"),
        pytest.param("periodSeconds: null", id="null"),
        pytest.param("periodSeconds: ~ # default", id="tilde"),
        pytest.param("periodSeconds: 0", id="zero"),
        pytest.param("periodSeconds: 0x0A", id="hexadecimal"),
        pytest.param('periodSeconds: !!int "10"', id="with a tag"),
        pytest.param("periodSeconds: &p 10", id="with an anchor that nobody uses"),
        pytest.param('"periodSeconds": 10', id="with a key in quotes"),
        pytest.param("periodSeconds: 1\n      periodSeconds: 10", id="twice"),
    ],
)
def test_a_number_may_be_written_in_many_ways(written: str) -> None:
    text = pod("tcpSocket: {port: 80}", written, "timeoutSeconds: 4")

    (changed,) = load(edit(text, period_seconds=7).data).pods

    assert changed.containers[0].liveness_probe is not None
    assert changed.containers[0].liveness_probe.period_seconds == 7
    assert changed.containers[0].liveness_probe.timeout_seconds == 4


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pod("exec:", "  command:", "  - sh", "  - |", "    true", ""),
            id="text in a block behind it",
        ),
        pytest.param(
            cut(pod("exec:", "  command:", "  - sh", "  - |", "    true")),
            id="text in a block at the end of the file",
        ),
        pytest.param(cut(pod("tcpSocket: {port: 80}")), id="no last line break"),
        pytest.param(
            pod("tcpSocket: {port: 80}").replace("\n", "\r\n"), id="lines of Windows"
        ),
        pytest.param(
            pod("tcpSocket:", "  port:", "    80"), id="a value below its key"
        ),
        pytest.param("\ufeff" + pod("tcpSocket: {port: 80}"), id="a byte order mark"),
    ],
)  # fmt: skip
def test_a_field_finds_its_place_behind_anything(text: str) -> None:
    (before,) = load(text).pods

    changed = edit(text, period_seconds=7)

    (after,) = load(changed.data).pods
    assert timeless(after) == timeless(before)
    assert after.containers[0].liveness_probe == replace(
        before.containers[0].liveness_probe or Probe(None), period_seconds=7
    )
    assert changed.data.decode().count("\r\n") in {0, text.count("\n") + 1}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_file_stays_in_its_encoding(encoding: str) -> None:
    text = "\ufeff" + pod("tcpSocket: {port: 80}").replace("my pod", "mein Döschen")

    changed = edit(text.encode(encoding), period_seconds=7)

    lines = changed.data.decode(encoding).splitlines()
    assert lines[0] == "\ufeff# mein Döschen"
    assert "      periodSeconds: 7" in lines


def test_other_documents_and_items_of_a_list_are_left_alone() -> None:
    text = (
        "# nothing\n---\n~\n---\nkind: Service\napiVersion: v1\nmetadata: {name: s}\n"
        "---\napiVersion: v1\nkind: List\nitems:\n"
        "- apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: one}\n"
        "  spec:\n    selector: {matchLabels: {a: b}}\n    template: &t\n"
        "      metadata: {labels: {a: b}}\n      spec:\n        initContainers:\n"
        "        - {name: side, image: x, restartPolicy: Always,\n"
        "           readinessProbe: {tcpSocket: {port: 1}}}\n"
        "        containers: [{name: app, image: x}]\n"
        "- apiVersion: v1\n  kind: Pod\n  metadata: {name: two}\n  spec:\n"
        "    containers: [{name: app, image: x, livenessProbe: {grpc: {port: 1}}}]\n"
    )

    first = edit(text, ProbeType.READINESS, "side", 0, period_seconds=7)
    second = edit(text, pod_number=1, failure_threshold=7)

    assert first.data.decode() == text.replace(
        "{port: 1}}}\n        con", "{port: 1}, periodSeconds: 7}}\n        con"
    )
    assert second.data.decode() == text.replace(
        "grpc: {port: 1}", "grpc: {port: 1}, failureThreshold: 7"
    )


def test_several_probes_are_changed_at_once() -> None:
    text = pod("tcpSocket: {port: 80}").replace(
        "  # the end", "    readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 2}"
    )
    (loaded,) = load(text).loaded
    edits = [
        ProbeEdit(loaded, "app", ProbeType.LIVENESS, {"periodSeconds": 7}),
        ProbeEdit(loaded, "app", ProbeType.READINESS, {"periodSeconds": 8}),
    ]

    changed = edit_probes(SourceFile("pod.yaml", text), edits)

    assert changed.fields == 2
    assert changed.data.decode() == text.replace(
        "port: 80}\n    read", "port: 80}\n      periodSeconds: 7\n    read"
    ).replace("periodSeconds: 2", "periodSeconds: 8")


# -- shared values

SHARED = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: x
    livenessProbe: &probe
      tcpSocket: {port: 80}
      periodSeconds: &five 5
    readinessProbe: %s
"""


@pytest.mark.parametrize(
    ("readiness", "kind", "expected"),
    [
        pytest.param(
            "*probe",
            ProbeType.LIVENESS,
            'pod.yaml:8:20: spec.containers[0].livenessProbe: is "*probe" elsewhere: '
            "shared values are not changed",
            id="a probe that another one is",
        ),
        pytest.param(
            "*probe",
            ProbeType.READINESS,
            'pod.yaml:11:21: spec.containers[0].readinessProbe: is "*probe": '
            "shared values are not changed",
            id="a probe that is another one",
        ),
        pytest.param(
            "{tcpSocket: {port: 80}, periodSeconds: *five}",
            ProbeType.LIVENESS,
            "pod.yaml:10:22: spec.containers[0].livenessProbe.periodSeconds: is"
            ' "*five" elsewhere: shared values are not changed',
            id="a number that another one is",
        ),
    ],
)
def test_what_others_have_a_share_in_is_refused(
    readiness: str, kind: ProbeType, expected: str
) -> None:
    with pytest.raises(ManifestError) as refused:
        edit(SHARED % readiness, kind, period_seconds=7)

    assert str(refused.value) == expected


def test_a_number_that_is_an_alias_gets_one_of_its_own() -> None:
    text = SHARED % "{tcpSocket: {port: 80}, periodSeconds: *five}"

    changed = edit(text, ProbeType.READINESS, period_seconds=7)

    assert changed.data.decode() == text.replace("*five", "7")


def test_what_a_merge_brings_is_overruled_in_the_probe_itself() -> None:
    text = SHARED % "\n      <<: *probe\n      tcpSocket: {port: 81}"

    changed = edit(text, ProbeType.READINESS, period_seconds=7)

    assert changed.data.decode() == f"{text}      periodSeconds: 7\n"


def test_a_probe_that_a_merge_brings_is_refused() -> None:
    text = SHARED.replace("- name: app", "- &base\n    name: app") % "\n"
    text += "  - {<<: *base, name: second}\n"

    with pytest.raises(ManifestError, match="is merged by <<: shared values"):
        edit(text, container="second", period_seconds=7)


def test_a_number_that_a_merge_overrules_is_refused() -> None:
    text = SHARED % "\n      periodSeconds: 6\n      <<: *probe"

    with pytest.raises(ManifestError) as refused:
        edit(text, ProbeType.READINESS, period_seconds=7)

    assert str(refused.value) == (
        "pod.yaml:12:7: spec.containers[0].readinessProbe: "
        "cannot be changed in the text without other changes"
    )


def test_an_unchanged_file_is_not_written_again() -> None:
    text = pod("tcpSocket: {port: 80}", "periodSeconds: 5")

    assert refusal(text, period_seconds=5) == "pod.yaml: already has these numbers"


def test_a_pod_that_is_not_where_it_was_is_refused() -> None:
    (loaded,) = load(pod("tcpSocket: {port: 80}")).loaded
    source = SourceFile("pod.yaml", "# a line more\n" + pod("tcpSocket: {port: 80}"))
    wanted = ProbeEdit(loaded, "app", ProbeType.LIVENESS, {"periodSeconds": 7})

    with pytest.raises(ManifestError, match="is no longer in the file"):
        edit_probes(source, [wanted])


def test_a_probe_that_is_not_in_the_file_is_refused() -> None:
    with pytest.raises(ManifestError, match="livenessProbe: is not set in the file"):
        edit(pod("tcpSocket: {port: 80}"), container="another", period_seconds=7)


def test_a_file_that_is_no_text_any_more_is_refused() -> None:
    (loaded,) = load(pod("tcpSocket: {port: 80}")).loaded
    wanted = ProbeEdit(loaded, "app", ProbeType.LIVENESS, {"periodSeconds": 7})

    with pytest.raises(ManifestError, match="is not utf-8 text"):
        edit_probes(SourceFile("pod.yaml", b"\xff"), [wanted])


# -- any manifest

SAMPLES = [
    path
    for path in sorted(Path(__file__).parents[2].glob("sample_pods/*.yaml"))
    if "Probe:" in path.read_text()
]


@pytest.mark.parametrize("path", SAMPLES, ids=[sample.stem for sample in SAMPLES])
def test_the_samples_can_be_copied_with_other_numbers(path: Path) -> None:
    text = path.read_text()
    edits = [
        ProbeEdit(loaded, container.name, kind, {"periodSeconds": 77})
        for loaded in load(text).loaded
        for container in loaded.pod.all_containers()
        for kind in ProbeType
        if container.probe(kind) is not None
    ]

    data = edit_probes(SourceFile("pod.yaml", text), edits).data

    assert {
        probe.period_seconds
        for pod in load(data).pods
        for container in pod.all_containers()
        for kind in ProbeType
        if (probe := container.probe(kind)) is not None
    } == {77}


_NUMBERS = st.fixed_dictionaries(
    {},
    optional={
        "initialDelaySeconds": st.integers(0, 300),
        "timeoutSeconds": st.integers(1, 300),
        "periodSeconds": st.integers(1, 300),
        "failureThreshold": st.integers(1, 300),
    },
)
_COMMENTS = st.sampled_from(["", " # why", "   # 5: {x]", "\n\n# - a\n"])


@st.composite
def _block(draw: st.DrawFn, indent: int) -> str:
    """Write a probe in block style, its fields in any order, with comments."""
    handlers = [
        "tcpSocket: {port: 80}",
        f"tcpSocket:\n{' ' * indent}  port: 80",
        f"exec:\n{' ' * indent}  command:\n{' ' * indent}  - a",
        f"exec:\n{' ' * indent}  command:\n{' ' * indent}  - |\n{' ' * indent}    a b",
        f"exec: {{command: [a,\n{' ' * indent}   'b']}}",
    ]
    numbers = draw(_NUMBERS)
    fields = [draw(st.sampled_from(handlers))]
    fields += [f"{name}: {number}" for name, number in numbers.items()]
    lines = [
        " " * indent + field + ("" if "|" in field else draw(_COMMENTS))
        for field in draw(st.permutations(fields))
    ]
    return "\n" + "\n".join(lines)


@st.composite
def _flow(draw: st.DrawFn) -> str:
    """Write a probe in flow style, perhaps as JSON, perhaps in lines."""
    quote = draw(st.sampled_from(["", '"']))
    between = draw(st.sampled_from([", ", ",", ",\n                 "]))
    fields = [f"{quote}tcpSocket{quote}: {{{quote}port{quote}: 80}}"]
    fields += [f"{quote}{name}{quote}: {n}" for name, n in draw(_NUMBERS).items()]
    return " {" + between.join(draw(st.permutations(fields))) + "}"


@st.composite
def _manifests(draw: st.DrawFn) -> str:
    """Write a pod, a workload, and a list, in any order, with some containers each."""

    def containers(indent: int) -> str:
        written = ""
        for number in range(draw(st.integers(1, 2))):
            written += f"\n{' ' * indent}- name: c{number}\n{' ' * indent}  image: x"
            for kind in draw(st.lists(st.sampled_from(ProbeType), unique=True)):
                probe = draw(st.one_of(_block(indent + 4), _flow()))
                written += f"\n{' ' * indent}  {kind.lower()}Probe:{probe}"
        return written

    documents = [
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:"
        + containers(2),
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b}\nspec:\n"
        "  selector: {matchLabels: {a: b}}\n  template:\n"
        "    metadata: {labels: {a: b}}\n    spec:\n      containers:" + containers(6),
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n"
        "  metadata: {name: c}\n  spec:\n    containers:" + containers(4),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\ndata: {a: 'b: 5'}",
        "# nothing but a remark",
    ]
    chosen = draw(st.permutations(documents))
    text = "\n---\n".join(chosen) + draw(st.sampled_from(["", "\n", "\n...\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@pytest.mark.slow
@given(_manifests(), st.data())
def test_a_copy_has_the_new_numbers_and_keeps_every_other_character(
    text: str, data: st.DataObject
) -> None:
    before = load(text)
    assert len(before.loaded) == 3
    probes = [
        (loaded, container.name, kind)
        for loaded in before.loaded
        for container in loaded.pod.containers
        for kind in ProbeType
        if container.probe(kind) is not None
    ]
    if not probes:
        return
    chosen = data.draw(st.lists(st.sampled_from(range(len(probes))), unique=True))
    edits = [ProbeEdit(*probes[index], data.draw(_NUMBERS)) for index in chosen]
    expected = [
        with_numbers(
            loaded_pod.pod, [edit for edit in edits if edit.loaded is loaded_pod]
        )
        for loaded_pod in before.loaded
    ]
    if [loaded_pod.pod for loaded_pod in before.loaded] == expected:
        return

    changed = edit_probes(SourceFile("pod.yaml", text), edits)

    after = load(changed.data)
    assert [replace(pod, uid="") for pod in after.pods] == [
        replace(pod, uid="") for pod in expected
    ]
    assert after.config_objects == before.config_objects
    assert is_within(without_digits(text), without_digits(changed.data.decode()))


def test_a_text_is_within_another_if_only_letters_were_added() -> None:
    words = ["", "a", "ab", "xaxbx"]

    assert all(is_within(*pair) for pair in pairwise(words))
    assert not is_within("ba", "ab")


def with_numbers(pod: Pod, edits: Sequence[ProbeEdit]) -> Pod:
    """Return a pod as it is to be."""
    containers: list[Container] = []
    for container in pod.containers:
        changed = container
        for probe_edit in edits:
            if probe_edit.container_name == container.name:
                name = f"{probe_edit.probe_type.lower()}_probe"
                numbers = {
                    FIELDS[api]: number for api, number in probe_edit.numbers.items()
                }
                probe = replace(getattr(container, name), **numbers)
                changed = replace(changed, **{name: probe})
        containers.append(changed)
    return replace(pod, containers=tuple(containers))


def timeless(pod: Pod) -> Pod:
    """Return a pod without the fields that a changed probe affects."""
    containers = (
        replace(container, liveness_probe=None) for container in pod.containers
    )
    return replace(pod, uid="", containers=tuple(containers))


def without_digits(text: str) -> str:
    return re.sub(r"\d", "", text)


def is_within(part: str, whole: str) -> bool:
    """Return whether a text is a subsequence of another one."""
    rest = iter(whole)
    return all(character in rest for character in part)
