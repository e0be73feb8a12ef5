"""Inputs of the engine, spelled and read back."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from probetui.debugger.commands import PauseProbes
from probetui.engine.inputs import AddPod, Input, SetObjects, SetPods
from probetui.k8s.pod import EnvVar
from probetui.k8s.probe import ExecAction, HTTPGetAction, HTTPHeader
from probetui.k8s.runtime import RuntimePodStatus
from probetui.k8s.volume import ConfigMap, Secret
from probetui.kubelet.facts import OperationFinished, ProbeFinished, Relisted
from probetui.kubelet.images.keyring import Keyring
from probetui.kubelet.journal import NoteEntry
from probetui.kubelet.outcome import Attempt, HTTPAnswer, ProbeOutcome, ProbeResult
from probetui.record.codec import encode_text
from probetui.record.format import RecordContext, mask_json
from probetui.record.inputs import InputDecoder, InputEncoder
from probetui.record.masking import Mask
from probetui.record.values import DamageError, format_timestamp
from probetui.record.writer import Recorder, RecordWriter
from tests.builders import START, a_container, a_pod, a_probe, at
from tests.kubelet.images.test_keyring import pull_secret
from tests.record.strategies import LEAVES, values_of

RELISTS = values_of(Relisted).filter(
    lambda relisted: len({pod.pod_uid for pod in relisted.pods}) == len(relisted.pods)
)
INPUTS = values_of(Input, {**LEAVES, Relisted: RELISTS})


def written(encoded: Any) -> str:
    """Return encoded inputs as they are in a line of a record that masks nothing."""
    return encode_text(mask_json(encoded, Mask(hides=False)))


def through_a_line(json_value: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(written(json_value))
    return read


def round_trip(*items: Input) -> list[Input]:
    encoder, decoder = InputEncoder(None), InputDecoder()
    return [decoder.decode(through_a_line(encoder.encode(item))) for item in items]


def a_status(uid: str, seen_at: datetime | None = None, ip: str = "") -> Any:
    return RuntimePodStatus(uid, uid, ips=(ip,) if ip else (), seen_at=seen_at)


@settings(max_examples=30)
@given(INPUTS)
def test_every_input_reads_back(item: Input) -> None:
    assert round_trip(item) == [item]


def test_a_relist_that_brings_nothing_new_is_short() -> None:
    pods = tuple(a_status(f"uid-{n}", ip="10.0.0.1") for n in range(100))
    encoder = InputEncoder(None)
    encoder.encode(Relisted(pods, at(1)))

    again = encoder.encode(Relisted(pods, at(2)))

    assert again == {"is": "Relisted", "startedAt": at(2)}


def test_relists_say_what_changed_and_read_back_as_they_were() -> None:
    one, two = a_status("one", at(0.5), "10.0.0.1"), a_status("two", at(0.5))
    relists = [
        Relisted((), at(0)),
        Relisted((one, two), at(1)),
        Relisted((replace(one, seen_at=at(2.5)), two), at(2)),
        Relisted((two, replace(one, ips=("10.0.0.2",))), at(3)),
        Relisted((two,), at(4)),
        Relisted((), at(5)),
    ]

    assert round_trip(*relists) == relists
    encoder = InputEncoder(None)
    said = []
    for relist in relists:
        encoded = encoder.encode(relist)
        changed = sorted(encoded.get("changed", ()))
        said.append((encoded.get("order"), changed, encoded.get("seen")))
    assert said == [
        ([], [], None),
        (["one", "two"], ["one", "two"], None),
        (None, [], [500_000, None]),
        (["two", "one"], ["one"], None),
        (["two"], [], None),
        ([], [], None),
    ]


def test_a_relist_with_a_pod_that_no_line_describes_is_damaged() -> None:
    relist = {"is": "Relisted", "startedAt": "2026-01-01T00:00:00Z", "order": ["one"]}

    with pytest.raises(DamageError, match=r"^no line before it describes pod one$"):
        InputDecoder().decode(relist)


def test_a_pod_that_did_not_change_is_the_same_object() -> None:
    pod = a_status("one")

    first, second = round_trip(Relisted((pod,), at(1)), Relisted((pod,), at(2)))

    assert isinstance(first, Relisted)
    assert isinstance(second, Relisted)
    assert first.pods[0] is second.pods[0]


def inputs_with(secret: str) -> list[Input]:
    """Return inputs that have a secret wherever they can have one, and other texts."""
    request = HTTPGetAction(80, http_headers=(HTTPHeader("Cookie", secret),))
    app = a_container(
        env=(EnvVar("API_TOKEN", secret), EnvVar("MODE", "plain")),
        liveness_probe=a_probe(handler=request),
        startup_probe=a_probe(handler=ExecAction(("login", f"--with={secret}"))),
        readiness_probe=a_probe(handler=HTTPGetAction(80, f"/?key={secret}")),
        command=("serve", secret),
        args=(secret,),
        post_start=ExecAction(("tell", secret)),
        pre_stop=request,
    )
    pod = a_pod(app, annotations={"db": f"postgres://me:{secret}@db/app", "a": "b"})
    headers = (
        HTTPHeader("set-cookie", secret),
        HTTPHeader("x-echo", f"Bearer {secret}"),
        HTTPHeader("location", f"/x?api_key={secret}"),
        HTTPHeader("server", "nginx"),
    )
    answer = HTTPAnswer(302, headers, redirects=("/login", f"/in?as={secret}"))
    attempt = Attempt(ProbeResult.FAILURE, http=answer)
    return [
        AddPod(pod),
        SetPods((pod, a_pod())),
        SetObjects((ConfigMap("c", data={"a": "b"}),)),
        SetObjects((Secret("s", data={"a": secret.encode(), "b": secret.encode()}),)),
        OperationFinished(1, f"printed {secret}"),
        OperationFinished(2, None),
        ProbeFinished(3, ProbeOutcome((attempt, Attempt(ProbeResult.SUCCESS)), START)),
        PauseProbes(),
    ]


def test_an_input_is_masked_and_otherwise_the_same() -> None:
    mask = Mask(["hunter22"])
    encoder, decoder = InputEncoder(mask), InputDecoder()

    encoded = [
        mask_json(encoder.encode(item), mask) for item in inputs_with("hunter22")
    ]

    assert [decoder.decode(through_a_line(json)) for json in encoded] == inputs_with(
        "***"
    )


def test_only_what_containers_and_servers_say_is_searched_for_secrets() -> None:
    said = {"output": "hunter22", "redirects": ["/", "hunter22"], "port": 22}
    named = {"name": "hunter22", "order": ["hunter22"], "port": 22, "since": at(1)}

    masked = mask_json({**named, "inner": [said, named]}, Mask(["hunter22"]))

    named = {**named, "since": format_timestamp(at(1))}
    said = {"output": "***", "redirects": ["/", "***"], "port": 22}
    assert masked == {**named, "inner": [said, named]}


def test_a_masked_pull_secret_is_for_the_same_images() -> None:
    auths = {"registry.test": {"username": "me", "password": "hunter22"}}
    secret = pull_secret(auths)

    encoded = InputEncoder(Mask()).encode(SetObjects((secret,)))
    item = InputDecoder().decode(through_a_line(encoded))

    assert "hunter22" not in written(encoded)
    assert isinstance(item, SetObjects)
    (read,) = item.objects
    assert isinstance(read, Secret)
    assert len(Keyring([read]).lookup("registry.test/app")) == 1
    assert read.type == secret.type


def test_inputs_are_written_before_what_came_of_them(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    context = RecordContext(START, {})
    recorder = Recorder(RecordWriter.open(path), context)

    recorder.note_input(None, at(1), 0)
    recorder.note_input(PauseProbes(), at(2), 1)
    recorder.consume([NoteEntry(1, at(1), "one"), NoteEntry(2, at(2), "two")])
    outcome = ProbeOutcome((Attempt(ProbeResult.SUCCESS),), at(2))
    recorder.note_input(ProbeFinished(7, outcome), at(3), 2)
    recorder.note_input(None, at(3), 2)
    recorder.end("left", 0, at(4))

    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(record["type"], record["seq"]) for record in records] == [
        ("input", 0),
        ("note", 1),
        ("input", 2),
        ("note", 3),
        ("input", 4),
        ("input", 5),
        ("end", 6),
    ]
    inputs = [record for record in records if record["type"] == "input"]
    assert [(record["n"], record["t"]) for record in inputs] == [
        (1, 1), (2, 2), (3, 3), (4, 3),
    ]  # fmt: skip
    assert [record["input"] for record in inputs] == [
        None,
        {"is": "PauseProbes"},
        through_a_line(InputEncoder(None).encode(ProbeFinished(7, outcome))),
        None,
    ]
