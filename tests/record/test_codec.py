"""Records of journal entries, and their way back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import (
    ContainerID,
    Listeners,
    ListenerScope,
    LogLine,
    SocketAddress,
)
from probetui.k8s.status import ContainerStatus, PodStatus
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    FindingEntry,
    Gate,
    HookEntry,
    HookType,
    JournalEntry,
    LastOutputEntry,
    LifecycleStep,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StateField,
    StatusEntry,
    TickAction,
    TickEntry,
    UnfinishedTickEntry,
    UserEntry,
)
from probetui.kubelet.outcome import Attempt, HTTPAnswer, ProbeResult, Result
from probetui.record.codec import (
    LineHead,
    SessionHeader,
    decode_head,
    decode_line,
    encode_end,
    encode_entry,
    encode_line,
    encode_session,
)
from probetui.record.format import AnyRecord, RecordContext
from probetui.record.masking import Mask
from probetui.record.values import DamageError, decode_value
from probetui.values import Instant
from tests.record.decoding import decode_entries
from tests.record.strategies import LEAVES, instants, texts, values_of, whole_seconds
from tests.ticks import a_tick, changed_tick

START = datetime(2026, 11, 20, 8, 18, 0, 100_000, tzinfo=UTC)
FAILED_AT = START + timedelta(minutes=3, seconds=5, microseconds=2_345)

POD = Pod(uid="7f3e", name="demo", namespace="shop")
CONTEXT = RecordContext(started_at=START, pods={POD.uid: POD})
SEEN_ID = ContainerID("docker://d71cb34f")
FAILED_TICK = a_tick(
    sequence=41,
    at=FAILED_AT,
    key=ProbeKey(POD.uid, "liveness", ProbeType.LIVENESS),
    n=9,
    started_at=FAILED_AT - timedelta(milliseconds=34),
    duration=timedelta(milliseconds=34),
    container_id=ContainerID("docker://d71cb34f"),
    gates=(Gate("on hold", "no", passed=True),),
    attempts=(
        Attempt(
            ProbeResult.FAILURE,
            output="cat: can't open '/tmp/healthy'",
            duration=timedelta(milliseconds=31, microseconds=7),
            detail="exit 1",
        ),
    ),
    result=Result.FAILURE,
    run=3,
    threshold=3,
    stored_before=Result.SUCCESS,
    stored_after=Result.FAILURE,
    hold_after=True,
    action=TickAction.KILL,
)


def through_json(record: Mapping[str, object]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(encode_line(dict(record)))
    return read


def read_back(entry: JournalEntry) -> AnyRecord:
    """Return the record of an entry as a reader of its line has it."""
    record = decode_line(encode_line(encode_entry(entry, CONTEXT)))
    assert record is not None
    return record


def test_a_tick_has_the_field_names_that_scripts_rely_on() -> None:
    record = through_json(encode_entry(FAILED_TICK, CONTEXT))

    assert record == {
        "v": 1,
        "seq": 41,
        "ts": "2026-11-20T08:21:05.102345Z",
        "t": 185.002345,
        "type": "tick",
        "pod": "demo",
        "namespace": "shop",
        "podUID": "7f3e",
        "container": "liveness",
        "containerID": "docker://d71cb34f",
        "newContainer": False,
        "probe": "liveness",
        "n": 9,
        "trigger": "periodic",
        "startedAt": "2026-11-20T08:21:05.068345Z",
        "ms": 34.0,
        "gates": [{"name": "on hold", "value": "no", "passed": True}],
        "skipped": None,
        "exit": None,
        "attempts": [
            {
                "result": "failure",
                "ms": 31.007,
                "detail": "exit 1",
                "output": "cat: can't open '/tmp/healthy'",
                "error": None,
            }
        ],
        "result": "Failure",
        "injected": False,
        "run": {"result": "Failure", "count": 3, "threshold": 3},
        "stored": {"before": "Success", "after": "Failure"},
        "hold": {"before": False, "after": True},
        "action": "kill",
        "muted": False,
    }


def test_a_tick_has_its_delays_of_request_and_answer() -> None:
    late = changed_tick(
        FAILED_TICK, delay=timedelta(seconds=1.5), held=timedelta(seconds=2)
    )

    record = encode_entry(late, CONTEXT)

    assert (record["delayMs"], record["heldMs"]) == (1500, 2000)


def test_a_tick_has_its_period_except_in_old_records() -> None:
    edited = changed_tick(FAILED_TICK, period_seconds=7)

    assert encode_entry(edited, CONTEXT)["periodSeconds"] == 7
    assert "periodSeconds" not in encode_entry(FAILED_TICK, CONTEXT)


@pytest.mark.parametrize(
    ("cut_bytes", "fields"),
    [
        pytest.param(0, {}, id="whole"),
        pytest.param(4_800_000, {"cut": 4_800_000}, id="cut"),
    ],
)
def test_an_answer_has_the_size_of_its_dropped_part(
    cut_bytes: int, fields: dict[str, int]
) -> None:
    answer = HTTPAnswer(200, cut_bytes=cut_bytes)
    attempt = Attempt(ProbeResult.SUCCESS, http=answer)
    tick = changed_tick(FAILED_TICK, attempts=(attempt,))

    record = through_json(encode_entry(tick, CONTEXT))

    whole = {"status": 200, "headers": [], "body": "", "redirects": []}
    assert record["attempts"][0]["http"] == {**whole, **fields}


def test_an_event_names_the_tick_that_caused_it_and_the_object_it_is_about() -> None:
    event = Event(
        type=EventType.WARNING,
        reason="Unhealthy",
        message="Liveness probe failed: no",
        pod_uid=POD.uid,
        field_path="spec.containers{liveness}",
        at=FAILED_AT,
        container_name="liveness",
    )

    record = encode_entry(EventEntry(42, FAILED_AT, event, FAILED_TICK), CONTEXT)

    assert record["eventType"] == "Warning"
    assert record["cause"] == 41
    assert record["object"] == {
        "kind": "Pod",
        "namespace": "shop",
        "name": "demo",
        "uid": "7f3e",
        "fieldPath": "spec.containers{liveness}",
    }


def test_a_container_and_its_back_off_say_lengths_in_seconds() -> None:
    exited = ContainerEntry(
        sequence=50,
        at=FAILED_AT,
        pod_uid=POD.uid,
        container_name="liveness",
        container_id=ContainerID("docker://d71cb34f"),
        restart_count=2,
        what=LifecycleStep.EXITED,
        exit_code=137,
        signal=9,
        grace_period_seconds=30,
        grace_source="pod",
        by=ExitCause.LIVENESS,
        reason="Error",
    )
    backoff = BackoffEntry(
        sequence=51,
        at=FAILED_AT,
        pod_uid=POD.uid,
        container_name="liveness",
        window=timedelta(seconds=10),
        since=START,
        waits=False,
        until=None,
        next_window=timedelta(seconds=20),
    )

    container_record = encode_entry(exited, CONTEXT)
    backoff_record = encode_entry(backoff, CONTEXT)

    assert container_record["grace"] == 30
    assert container_record["by"] == "liveness"
    assert container_record["oom"] is False
    assert backoff_record["window"] == 10.0
    assert backoff_record["since"] == "2026-11-20T08:18:00.100000Z"
    assert backoff_record["sinceWhat"] == "previous-exit"
    assert backoff_record["nextWindow"] == 20.0


def test_a_status_is_the_object_that_the_api_prints() -> None:
    status = PodStatus(pod_ip="10.0.0.7")

    record = encode_entry(StatusEntry(60, FAILED_AT, POD.uid, status), CONTEXT)

    assert record["status"] == POD_STATUS.write(status)
    assert record["pod"] == "demo"


def test_a_change_of_state_has_before_after_and_its_tick() -> None:
    entry = StateEntry(
        sequence=43,
        at=FAILED_AT,
        pod_uid=POD.uid,
        container_name="liveness",
        subject="Liveness",
        what=StateField.RESULT,
        before="Success",
        after="Failure",
        cause=41,
    )

    record = encode_entry(entry, CONTEXT)

    assert (record["type"], record["what"]) == ("state", "result")
    assert (record["from"], record["to"]) == ("Success", "Failure")
    assert record["cause"] == 41


def test_commands_of_the_user_and_notes_are_recorded() -> None:
    user = encode_entry(UserEntry(44, FAILED_AT, "restart", "demo/liveness"), CONTEXT)
    note = encode_entry(
        NoteEntry(45, FAILED_AT, "Docker is gone", is_fault=True), CONTEXT
    )

    assert (user["command"], user["target"]) == ("restart", "demo/liveness")
    assert (note["text"], note["fault"]) == ("Docker is gone", True)


def test_a_warning_about_a_pod_is_recorded_and_read_with_it() -> None:
    note = NoteEntry(45, FAILED_AT, "warning: no probe", pod_uid="uid-web")

    record = encode_entry(note, CONTEXT)

    assert record["podUID"] == "uid-web"
    assert decode_entries([read_back(note)]) == (note,)
    # Lines of older versions have none.
    del record["podUID"]
    old = decode_line(encode_line(record))
    assert old is not None
    assert decode_entries([old]) == (replace(note, pod_uid=""),)


def test_a_session_begins_with_what_it_takes_to_run_it_again() -> None:
    header = SessionHeader(
        probetui="0.1.0",
        runtime="docker 20.10",
        kubelet="v1.32",
        options={"pull": "never"},
        manifests=[("pod.yaml", "kind: Pod\n")],
        seed=7,
        config=KubeletConfig(seed=9),
        observed=True,
    )

    record = through_json(encode_session(header, 4, CONTEXT))

    assert (record["v"], record["seq"], record["type"]) == (1, 4, "session")
    assert (record["probetui"], record["runtime"], record["kubelet"]) == (
        "0.1.0",
        "docker 20.10",
        "v1.32",
    )
    assert decode_value(KubeletConfig, record["config"]) == header.config
    assert record["observed"]
    assert record["t"] == 0.0
    assert record["options"] == {"pull": "never"}
    assert record["manifests"] == [{"name": "pod.yaml", "text": "kind: Pod\n"}]
    assert record["seed"] == 7


def test_a_session_ends_with_the_exit_status() -> None:
    record = encode_end("until", 0, 99, FAILED_AT, CONTEXT)

    assert (record["type"], record["seq"]) == ("end", 99)
    assert (record["reason"], record["exit"]) == ("until", 0)


def test_a_pod_that_is_not_known_is_recorded_by_its_uid() -> None:
    record = encode_entry(PodGoneEntry(9, FAILED_AT, "dead-beef"), CONTEXT)

    assert record["type"] == "gone"
    assert record["pod"] == record["podUID"] == "dead-beef"


def test_secrets_are_masked_only_in_the_output_of_containers() -> None:
    context = replace(CONTEXT, mask=Mask(["liveness", "hunter22"]))
    tick = changed_tick(
        FAILED_TICK,
        attempts=(
            Attempt(
                ProbeResult.FAILURE,
                output="bad hunter22",
                error="hunter22?",
                detail="-",
            ),
        ),
    )

    record = through_json(encode_entry(tick, context))

    assert record["attempts"][0]["output"] == "bad ***"
    assert record["attempts"][0]["error"] == "***?"
    assert record["container"] == "liveness"
    assert record["probe"] == "liveness"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("bytes: \udcff\udc80", id="bytes that are not UTF-8"),
        pytest.param("\x1b[2J\x9b2J\x7f", id="terminal escapes of 7 and 8 bits"),
        pytest.param("a\nb\rc\x85d\u2028e\u2029f", id="every kind of line break"),
        pytest.param(
            'quote " backslash \\ é 漢 😀', id="what JSON escapes or need not"
        ),
    ],
)
def test_any_text_makes_one_harmless_line_and_reads_back_unchanged(text: str) -> None:
    line = encode_line({"text": text})

    decoded = line.decode("utf-8")
    assert decoded.splitlines(keepends=True) == [decoded]
    assert all(character.isprintable() for character in decoded.removesuffix("\n"))
    assert json.loads(line) == {"text": text}


def test_where_a_container_listens_is_recorded_beside_what_was_refused() -> None:
    listeners = Listeners((SocketAddress("127.0.0.1", 8080),), ListenerScope.CONTAINER)
    refused_at = SocketAddress("10.1.2.3", 8080)
    entry = ListenersEntry(
        42, FAILED_AT, FAILED_TICK.key, FAILED_TICK.container_id, refused_at, listeners,
        cause=41,
    )  # fmt: skip

    record = encode_entry(entry, CONTEXT)

    assert record["type"] == "listeners"
    assert record["refused"] == {"address": "10.1.2.3", "port": 8080}
    assert record["listeners"] == [{"address": "127.0.0.1", "port": 8080}]
    assert (record["extent"], record["cause"]) == ("container", 41)


def test_what_a_container_printed_last_is_recorded_without_secrets() -> None:
    lines = (
        LogLine(None, "old"),
        LogLine(START, "password is hunter22", is_stderr=True),
    )
    entry = LastOutputEntry(
        9, FAILED_AT, POD.uid, "app", SEEN_ID, 2, lines, "hunter22 refused"
    )
    mask = Mask()
    mask.learn(["hunter22"])

    record = encode_entry(entry, replace(CONTEXT, mask=mask))

    assert (record["type"], record["restartCount"]) == ("output", 2)
    assert record["lines"][0] == {"at": None, "text": "old"}
    assert record["lines"][1]["stderr"] is True
    assert "hunter22" not in json.dumps(record)


def test_a_hook_is_recorded_without_secrets() -> None:
    entry = HookEntry(
        9,
        FAILED_AT,
        POD.uid,
        "app",
        SEEN_ID,
        HookType.PRE_STOP,
        FAILED_AT,
        FAILED_AT + timedelta(seconds=2),
        "command 'x' exited with 3: hunter22",
        "hunter22",
    )
    mask = Mask()
    mask.learn(["hunter22"])

    record = encode_entry(entry, replace(CONTEXT, mask=mask))

    assert (record["type"], record["hook"]) == ("hook", "preStop")
    assert record["error"].startswith("command 'x' exited with 3: ")
    assert "hunter22" not in json.dumps(record)


@pytest.mark.parametrize(
    ("what", "written"),
    [(StateField.EXEC, "sh -c ***"), (StateField.RESULT, "sh -c hunter2")],
)
def test_of_states_a_command_of_somebody_else_is_recorded_without_secrets(
    what: StateField, written: str
) -> None:
    entry = StateEntry(9, FAILED_AT, POD.uid, "app", "", what, "", "sh -c hunter2")

    record = encode_entry(entry, replace(CONTEXT, mask=Mask(["hunter2"])))

    assert (record["what"], record["from"]) == (what, "")
    assert record["to"] == written


def test_a_pod_that_is_not_known_has_its_uid_for_a_name_and_no_namespace() -> None:
    record = encode_entry(FAILED_TICK, replace(CONTEXT, pods={}))

    assert (record["pod"], record["namespace"]) == ("7f3e", "")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("\x7f", rb"\u007f", id="DEL"),
        pytest.param("\x1b[2J", rb"\u001b[2J", id="ESC"),
        pytest.param("\x9b2J", rb"\u009b2J", id="CSI in one byte"),
        pytest.param("a\nb", rb"a\nb", id="line feed"),
        pytest.param("a\u2028b", rb"a\u2028b", id="line separator"),
        pytest.param("\udcff", rb"\udcff", id="no UTF-8"),
    ],
)
def test_what_a_terminal_or_a_reader_of_lines_would_obey_is_escaped(
    text: str, written: bytes
) -> None:
    assert encode_line({"text": text}) == b'{"text":"%s"}\n' % written


def test_text_that_is_not_ascii_stays_readable() -> None:
    assert "é 漢 😀".encode() in encode_line({"text": "é 漢 😀"})


COUNTS = {**LEAVES, int: st.integers(0, 10**10)}
JOURNALS = st.lists(
    st.one_of(
        *(
            values_of(entry_class, COUNTS)
            for entry_class in (
                TickEntry,
                StateEntry,
                ContainerEntry,
                BackoffEntry,
                UserEntry,
                NoteEntry,
                ListenersEntry,
                FindingEntry,
                LastOutputEntry,
                HookEntry,
                UnfinishedTickEntry,
                PodGoneEntry,
            )
        )
    ),
    max_size=4,
)


@given(JOURNALS)
def test_what_is_written_reads_back_as_it_was(journal: list[JournalEntry]) -> None:
    records = [read_back(entry) for entry in journal]

    assert list(decode_entries(records)) == journal


# What JSON of the API cannot say: fractions of seconds, null lists, empty strings.
API_LEAVES = {
    **LEAVES,
    datetime: whole_seconds,
    Instant: whole_seconds,
    str | None: st.none() | texts.filter(bool),
}
API_LEAVES[tuple[ContainerStatus, ...] | None] = values_of(
    tuple[ContainerStatus, ...], API_LEAVES
)


@pytest.mark.slow
@given(values_of(StatusEntry, {**COUNTS, PodStatus: values_of(PodStatus, API_LEAVES)}))
def test_a_status_reads_back_from_the_form_of_the_api(entry: StatusEntry) -> None:
    assert decode_entries([read_back(entry)]) == (entry,)


@given(values_of(Event, COUNTS), instants)
def test_an_event_reads_back_with_its_tick_even_when_that_comes_later(
    event: Event, at: datetime
) -> None:
    journal: list[JournalEntry] = [EventEntry(40, at, event, FAILED_TICK), FAILED_TICK]

    records = [read_back(entry) for entry in journal]

    assert list(decode_entries(records)) == journal


@pytest.mark.parametrize("text", ["plain", "\\udcff"], ids=["text", "bytes"])
def test_a_line_of_a_later_type_is_passed_over(text: str) -> None:
    line = f'{{"v":1,"type":"from the future","text":"{text}"}}\n'

    assert decode_line(line.encode()) is None


def test_a_number_that_json_does_not_have_is_damage() -> None:
    line = b'{"v":1,"type":"note","text":"\\udcff","t":NaN}\n'

    with pytest.raises(DamageError, match="NaN is no number of JSON"):
        decode_line(line)


@pytest.mark.parametrize(
    "text", [r"\udcff", r"\uD8FF", "plain"], ids=["lower", "upper", "none"]
)
def test_the_head_of_a_line_is_read_whatever_its_texts_are(text: str) -> None:
    line = f'{{"v":7,"type":"later","text":"{text}"}}\n'.encode()

    assert decode_head(line) == LineHead(7, "later")


def test_a_damaged_line_says_what_is_wrong_with_it() -> None:
    with pytest.raises(DamageError, match=r"^Expected `object`, got `array`$"):
        decode_line(b"[1]\n")
