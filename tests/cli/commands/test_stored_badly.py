"""What `fleet` and `why` say of a store that refuses, lacks or invents something."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from probetui.cli.main import run
from tests.cluster.prometheus.server import (
    StoredSeries,
    refusal,
    stored_answer,
    told_prometheus,
)

POD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: app
        livenessProbe: {httpGet: {port: 80}, periodSeconds: 10, failureThreshold: 3}
"""
NAMES = {"namespace": "shop", "pod": "web-7d9f8c6b5-x2x4z", "container": "app"}
FOUND = {**NAMES, "pod_uid": "u"}
TIMES = (35, 65, 95, 125, 155)
OK, HOLES, UNAVAILABLE = 0, 1, 3
COUNTERS, STATES, DURATIONS = "prober_probe_total{pod", "__name__", "duration"
CANDIDATES, PODS = "group by (container", "last_over_time(prober_probe_total"

Values = Sequence[tuple[float, float | str]]
Answer = Callable[[str], bytes | tuple[int, bytes]]


def counter(result: str, *values: tuple[float, float | str]) -> StoredSeries:
    """Return the series of a counter."""
    labels = {**FOUND, "probe_type": "Liveness", "result": result}
    return _series("prober_probe_total", labels, values)


def state(name: str, *values: tuple[float, float | str], **more: str) -> StoredSeries:
    """Return a series of kube-state-metrics."""
    return _series(f"kube_pod_{name}", {**NAMES, "uid": "u", **more}, values)


def _series(name: str, labels: dict[str, str], values: Values) -> StoredSeries:
    return [({"__name__": name, **labels}, [(at, str(value)) for at, value in values])]


KILL = [
    *counter("successful", (30, 3), (60, 3), (90, 3), (120, 6)),
    *counter("failed", (60, 3), (90, 3), (120, 3)),
]
RESTART = [
    *state(
        "container_status_restarts_total", *zip(TIMES, (0, 0, 1, 1, 1), strict=True)
    ),
    *state("container_status_ready", *((at, 1) for at in TIMES)),
]


def ended_at(at: float | str) -> StoredSeries:
    """Return the series of an end that was at an instant, by the node's clock."""
    last = "container_status_last_terminated"
    return [
        *state(f"{last}_timestamp", (95, at), (125, at)),
        *state(f"{last}_exitcode", (95, 137), (125, 137)),
        *state(f"{last}_reason", (95, 1), (125, 1), reason="Error"),
    ]


def refusing(part: str, status: int) -> Answer:
    """Return the answers of a store that refuses the queries with a text in them."""
    answer = stored_answer(FOUND, KILL, [*RESTART, *ended_at(70)])

    def told(query: str) -> bytes | tuple[int, bytes]:
        is_refused = part in query and (part == COUNTERS) <= query.startswith(part)
        return (
            (status, refusal("unavailable", "not now")) if is_refused else answer(query)
        )

    return told


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "web.yaml"
    path.write_text(POD)
    return str(path)


@pytest.fixture(params=["fleet", "why"])
def line(request: pytest.FixtureRequest, manifest: str) -> list[str]:
    """A command that asks about the pod."""
    if request.param == "fleet":
        return ["fleet", "--to", "1970-01-01T00:03:00Z", "-f", manifest]
    pod = f"shop/{NAMES['pod']}"
    return ["why", pod, "--at", "1970-01-01T00:02:30Z", "-f", manifest]


@pytest.mark.parametrize(
    ("part", "status"),
    [
        *((COUNTERS, status) for status in (400, 422, 429, 503, 504)),
        *((STATES, status) for status in (0, 422, 503)),
        *((DURATIONS, status) for status in (0, 422, 503)),
    ],
)
def test_what_is_refused_is_named_and_the_rest_is_answered(
    line: list[str], part: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with told_prometheus(refusing(part, status)) as url:
        assert run([*line, "--prometheus", url]) == OK
        told = capsys.readouterr()
        assert run([*line, "--prometheus", url, "--strict"]) == HOLES

    assert NAMES["pod"] in told.out
    holes = [text for text in told.err.splitlines() if url in text]
    assert len(holes) == 1
    assert ("cannot be asked" if not status else f"(HTTP {status}): not now") in holes[
        0
    ]


@pytest.mark.parametrize("status", [0, 422, 503])
def test_where_no_candidate_can_be_found_nothing_is_called_well(
    manifest: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with told_prometheus(refusing(CANDIDATES, status)) as url:
        assert run(["fleet", "--prometheus", url, "-f", manifest, "--strict"]) == HOLES

    told = capsys.readouterr()
    assert told.out == ""
    assert "none failed" not in told.err


@pytest.mark.parametrize("status", [0, 422, 503])
def test_a_pod_that_cannot_be_looked_for_is_not_called_absent(
    manifest: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with told_prometheus(refusing(CANDIDATES, status)) as url:
        status = run(["why", NAMES["pod"], "--prometheus", url, "-f", manifest])

    told = capsys.readouterr()
    assert (status, told.out) == (UNAVAILABLE, "")
    assert "has nothing of" not in told.err
    assert url in told.err


def test_a_store_that_is_gone_is_not_asked_for_the_rest(
    manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, asked = refusing(COUNTERS, 0), []

    def count(query: str) -> bytes | tuple[int, bytes]:
        asked.append(query)
        return answer(query)

    with told_prometheus(count) as url:
        options = ["--prometheus", url, "-f", manifest]
        assert run(["fleet", *options, "--since", "30d", "--strict"]) == HOLES

    assert sum(query.startswith(COUNTERS) for query in asked) == 1
    assert not any(STATES in query for query in asked)
    assert "cannot be asked" in capsys.readouterr().err


def test_a_limit_of_a_time_is_kept_by_asking_for_parts(
    manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = stored_answer(FOUND, KILL, RESTART)

    def limited(query: str) -> bytes | tuple[int, bytes]:
        length = int(query.partition("[")[2].partition("ms]")[0] or 0)
        if length > 2 * 3600 * 1000:
            return 422, refusal("bad_data", "the query time range exceeds the limit")
        return answer(query)

    with told_prometheus(limited) as url:
        line = ["fleet", "--prometheus", url, "-f", manifest, "--since", "9h"]
        assert run([*line, "-o", "json", "--strict"]) == HOLES

    told = capsys.readouterr()
    assert [row["probe_kills"] for row in json.loads(told.out)] == [[1, 1]]
    (hole,) = [text for text in told.err.splitlines() if "exceeds the limit" in text]
    assert DURATIONS in hole


@pytest.mark.parametrize(
    "at",
    [
        pytest.param(700, id="ahead"),
        pytest.param(1e12, id="far ahead"),
    ],
)
def test_an_end_that_cannot_be_is_of_a_clock_that_is_off(
    line: list[str], at: float, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = stored_answer(FOUND, KILL, [*RESTART, *ended_at(at)])

    with told_prometheus(answer) as url:
        assert run([*line, "--prometheus", url]) == OK

    told = capsys.readouterr()
    assert "clock is off" in told.err
    if line[0] == "why":
        assert "was killed between 00:00:30.0 and 00:01:02.0" in told.out


@pytest.mark.parametrize(
    ("counters", "states"),
    [
        pytest.param(KILL, ended_at("1e300"), id="an end"),
        pytest.param(KILL, state("created", (35, "1e300")), id="a creation"),
        pytest.param(KILL, state("created", (35, "-1e12")), id="an early creation"),
        pytest.param(
            KILL,
            state("container_state_started", (35, "1e300"), (95, "-1e13")),
            id="a start",
        ),
        pytest.param(KILL, state("deletion_timestamp", (95, "1e300")), id="a deletion"),
        pytest.param(KILL, ended_at("NaN"), id="no number"),
        pytest.param(
            [*KILL, *counter("unknown", (1e300, 3), (1e12, 4), (-5, 1))], [], id="times"
        ),
        pytest.param(
            [
                *counter("failed", (30, 3), (1e13, 6)),
                *counter("successful", (1e300, 1)),
            ],
            [],
            id="times of counters",
        ),
        pytest.param(
            counter("failed", (120, 3), (30, 1e300), (60, -4), (60, "1.5"), (60, "x")),
            [],
            id="counts",
        ),
        pytest.param(
            counter("failed", (30, 1), (60, -4), (90, 1e12), (120, 2)), [], id="jumps"
        ),
        pytest.param(
            [*counter("failed", (30, 1), (60, 2)), *counter("successful", (60, -1))],
            [],
            id="less than none",
        ),
        pytest.param(
            KILL,
            state("container_status_restarts_total", (165, "1.5"), (195, "2.5")),
            id="half a restart",
        ),
        pytest.param(
            [], state("container_status_restarts_total", (35, "-3")), id="less"
        ),
        pytest.param(
            KILL,
            [
                *RESTART,
                ({"__name__": "kube_pod_owner", **NAMES, "uid": "u"}, []),
                ({"__name__": "kube_pod_created", **NAMES, "uid": "u"}, []),
            ],
            id="series without samples",
        ),
    ],
)
def test_samples_that_cannot_be_are_left_out(
    line: list[str],
    counters: StoredSeries,
    states: StoredSeries,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = stored_answer(FOUND, counters, [*RESTART, *states])

    with told_prometheus(answer) as url:
        assert run([*line, "--prometheus", url]) == OK

    told = capsys.readouterr()
    assert NAMES["pod"] in told.out
    assert max(map(len, told.out.splitlines())) < 250


def test_a_native_histogram_is_no_sample(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = stored_answer(FOUND, KILL, RESTART)
    labels = {**FOUND, "__name__": "prober_probe_total", "probe_type": "Liveness"}
    count = {"count": "3", "sum": "1", "buckets": []}
    result = {"metric": {**labels, "result": "failed"}, "histograms": [[60, count]]}
    body = {
        "status": "success",
        "data": {"resultType": "matrix", "result": [result]},
    }

    def told(query: str) -> bytes:
        is_asked = query.startswith(COUNTERS)
        return json.dumps(body).encode() if is_asked else answer(query)

    with told_prometheus(told) as url:
        assert run([*line, "--prometheus", url]) == OK

    told_text = capsys.readouterr()
    assert NAMES["pod"] in told_text.out
    assert "samples of prober_probe_total are no numbers" in told_text.err


@pytest.mark.parametrize(
    ("date", "way"),
    [
        pytest.param("Wed, 01 Jan 2098 00:00:00 GMT", "behind", id="behind"),
        pytest.param("Thu, 01 Jan 1998 00:00:00 GMT", "ahead of", id="ahead"),
    ],
)
def test_a_clock_that_is_not_the_stores_is_told(
    line: list[str], date: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = stored_answer(FOUND, KILL, RESTART)

    with told_prometheus(answer, date) as url:
        assert run([*line, "--prometheus", url]) == OK

    err = " ".join(capsys.readouterr().err.split())
    assert "this machine's clock is" in err
    assert f"{way} the store's" in err


@pytest.mark.parametrize("date", ["", "soon", "Thu, 99 Jan 1998 99:00:00 GMT"])
def test_a_clock_that_is_right_or_no_clock_is_not_told(
    line: list[str], date: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = stored_answer(FOUND, KILL, RESTART)

    with told_prometheus(answer, date) as url:
        assert run([*line, "--prometheus", url]) == OK

    assert "clock" not in capsys.readouterr().err


def test_what_a_store_says_beside_its_answers_is_told(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = stored_answer(FOUND, KILL, RESTART)

    def told(query: str) -> bytes:
        return json.dumps(
            {**json.loads(answer(query)), "warnings": ["a store did not answer"]}
        ).encode()

    with told_prometheus(told) as url:
        assert run([*line, "--prometheus", url]) == OK

    assert capsys.readouterr().err.count("a store did not answer") == 1


# -- anything

_ODD = ("NaN", "+Inf", "0", "-1", "1e300", "1.5", "", "x", "9e18", "-62135596801", "3")
_ODD_TIMES = (0.0, 30.0, 90.0, 180.0, 1e12, -5.0, 1e300)
_STATE_NAMES = (
    *("container_status_restarts_total", "container_status_ready", "created"),
    *("container_status_last_terminated_timestamp", "deletion_timestamp"),
    *("container_status_last_terminated_exitcode", "container_state_started"),
    "container_status_last_terminated_reason",
)


def odd_values(chance: Random) -> list[tuple[float, float | str]]:
    """Return samples of which some cannot be."""
    values: list[tuple[float, float | str]] = []
    count = 0
    for place in range(6):
        at = chance.choice(_ODD_TIMES) if chance.random() < 0.15 else 30.0 * place
        count += chance.randrange(4)
        values.append((at, chance.choice(_ODD) if chance.random() < 0.3 else count))
    if chance.random() < 0.2:
        chance.shuffle(values)
    return values


@pytest.mark.parametrize("seed", range(5))
def test_no_sample_whatsoever_is_a_crash(
    seed: int, line: list[str], manifest: str, tmp_path: Path
) -> None:
    chance = Random(seed)
    counters = [
        each
        for result in ("successful", "failed")
        for each in counter(result, *odd_values(chance))
    ]
    states = [
        each
        for name in _STATE_NAMES
        if chance.random() < 0.7
        for each in state(name, *odd_values(chance), reason="Error")
    ]
    new = tmp_path / "new.yaml"
    new.write_text(POD.replace("failureThreshold: 3", "failureThreshold: 5"))
    until = ["--to", "1970-01-01T00:03:20Z", "--since", "1d"]
    others = (
        [
            ["fit", "deploy/web", "-f", manifest, *until],
            ["diff", manifest, str(new), *until],
        ]
        if line[0] == "fleet"
        else []
    )
    with told_prometheus(stored_answer(FOUND, counters, states)) as url:
        for words in (line, *others):
            assert run([*words, "--prometheus", url]) in {OK, HOLES, UNAVAILABLE}
