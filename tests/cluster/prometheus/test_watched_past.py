"""`watch --prometheus`: the last hour by samples, then what is watched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.observe.inputs import PastEnded
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.prometheus.client import StoreAccess, StoreClient
from probetui.cluster.prometheus.fleet import ContainerName, FleetQuery, FleetStore
from probetui.cluster.prometheus.past import (
    StoredPod,
    TimedInput,
    feed,
    known_ids,
    past_inputs,
)
from probetui.cluster.serving.http_server import HttpRequest, HttpResponse
from probetui.drive.clocks import SystemClock
from probetui.k8s.api.pod import POD
from probetui.k8s.api.status import POD_STATUS
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    ContainerEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
)
from probetui.kubelet_rules import DEFAULT_VERSION
from tests.cluster import recording
from tests.cluster.api_server.resources import PODS
from tests.cluster.player import put_state_at, steps
from tests.cluster.prometheus.openmetrics import openmetrics, scraped, start
from tests.cluster.prometheus.server import real_prometheus
from tests.cluster.prometheus.test_fleet import recorded_kills
from tests.cluster.prometheus.test_services import typed
from tests.cluster.servers import running_server, write_kubeconfig

_SINCE = 200.0
"""The second of the recording that is now."""

GRACE = 10.0
"""As long as any of the recorded pods."""

_TIMES = re.compile(r"kube_pod_created|_timestamp\{|state_started\{")


class Then(SystemClock):
    """A clock that stands still at the second of the recording."""

    def __init__(self) -> None:
        super().__init__()
        self._at = super().now()

    def now(self) -> datetime:
        return self._at


def recent(clock: Then) -> str:
    """Return the samples of the recording until then."""
    shift = (clock.now() - recording.at(_SINCE)).total_seconds()
    points = {
        name: [
            (at, value + shift if _TIMES.search(name) else value)
            for at, value in values
            if at < _SINCE
        ]
        for name, values in scraped(5.0).items()
    }
    begin = (clock.now() - timedelta(seconds=_SINCE)).timestamp()
    return openmetrics({name: found for name, found in points.items() if found}, begin)


async def watched(
    folder: Path, then: Then, url: str, *words: str, counters: bool = True
) -> tuple[int, str, str]:
    """Watch a pod of the recording for some seconds, with a past."""

    async def metrics(*_: Any) -> HttpResponse:
        return HttpResponse(200, body=player.metrics)

    async with running_server(connect={"nodes/proxy": metrics}) as server:
        player = put_state_at(server.store, then, _SINCE)
        config = write_kubeconfig(folder / "config", server.url)
        how = "--via-node-proxy" if counters else "--no-counters"
        return await typed(
            *("watch", "exec-liveness", "--kubeconfig", str(config), "--plain"),
            *("--prometheus", url, how, *words),
        )


@pytest.mark.prometheus
async def test_a_session_begins_with_the_past_and_is_replayed_as_it_was(
    tmp_path: Path,
) -> None:
    record = tmp_path / "watch.jsonl.gz"
    then = Then()
    with real_prometheus(tmp_path, recent(then)) as url:
        status, output, errors = await watched(
            tmp_path, then, url, "--record", str(record), "--timeout", "4s"
        )
    replayed = await typed("replay", str(record), "--plain")
    why = await typed("why", str(record))

    assert status == 4, errors
    assert "until now, 1 pod by the samples of http" in errors
    lines = output.splitlines()
    starts = re.findall(r" started restart=(\d)", output)
    assert starts == [str(count) for count in range(len(starts))]
    assert len(starts) > 3
    assert "liveness #8 failure - run 3/3 kill grace=3s" in output
    assert replayed[1].splitlines()[: len(lines)] == lines
    assert "differs" not in replayed[2]
    assert "was killed between" in why[1]
    assert "3 of 3 times in a row (exit 137, SIGKILL)" in why[1]
    assert "something else sent it" not in why[1]


@pytest.mark.prometheus
async def test_until_is_about_what_is_watched(tmp_path: Path) -> None:
    then = Then()
    with real_prometheus(tmp_path, recent(then)) as url:
        killed = await watched(
            tmp_path, then, url, "--until", "killed", "--timeout", "3s"
        )
        started = await watched(
            tmp_path,
            then,
            url,
            "--until",
            "started",
            "--timeout",
            "30s",
            counters=False,
        )

    assert killed[0] == 4, killed[2]
    assert started[0] == 0, started[2]


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ("http://127.0.0.1:1", "the past is not shown: http://127.0.0.1:1/ cannot be"),
        ("auto", "the past is not shown: --prometheus auto: no Service in any names"),
    ],
)
async def test_without_a_store_the_present_is_watched(
    tmp_path: Path, store: str, message: str
) -> None:
    status, output, errors = await watched(
        tmp_path,
        Then(),
        store,
        "--until",
        "started",
        "--timeout",
        "30s",
        counters=False,
    )

    assert status == 0, errors
    assert message in errors
    assert "exec-liveness/liveness" in output


@pytest.mark.parametrize("words", [("exec-liveness",), ("-A",)])
async def test_pods_are_listed_once(tmp_path: Path, words: tuple[str, ...]) -> None:
    lists = 0

    def count(info: RequestInfo, _: HttpRequest) -> None:
        nonlocal lists
        lists += info.resource is PODS and info.verb == "list"

    async with running_server() as server:
        put_state_at(server.store, Then(), _SINCE)
        server.api.fault = count
        config = write_kubeconfig(tmp_path / "config", server.url)
        status, _, errors = await typed(
            *("watch", *words, "--kubeconfig", str(config), "--plain", "--no-counters"),
            *("--prometheus", "http://127.0.0.1:1", "--until", "killed"),
            *("--timeout", "1s"),
        )

    assert status == 4, errors
    assert lists == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--since", "2h"], "--since: --prometheus names the store"),
        (["--since", "2d", "--prometheus", "http://x"], "begins with a day at most"),
        (["--since", "soon", "--prometheus", "http://x"], "is no length of time"),
        (["--prometheus", "ftp://x"], "it is no http:// or https:// URL"),
    ],
)
async def test_what_cannot_be_asked_is_refused(words: list[str], message: str) -> None:
    status, _, errors = await typed("watch", *words)

    assert status == 2
    assert message in errors


# -- from samples to what is watched


def state_at(second: float) -> dict[str, Any]:
    """Return the recorded pods of an instant by their UIDs."""
    pods: dict[str, Any] = {}
    for step in steps():
        if step.kind == "pods" and step.at <= second:
            json = step.value["object"]
            pods[json["metadata"]["uid"]] = json
            if step.value["type"] == "DELETED":
                del pods[json["metadata"]["uid"]]
    return pods


async def past_at(
    second: float, url: str, pods: Mapping[str, Any], *, has_states: bool
) -> list[TimedInput]:
    """Return the past of pods until an instant of the recording."""
    of_pods = {
        uid: (POD.read(json), POD_STATUS.read(json["status"]))
        for uid, json in pods.items()
    }
    names = [
        ContainerName(pod.namespace, pod.name, uid, container.name)
        for uid, (pod, _) in of_pods.items()
        for container in pod.all_containers()
    ]
    async with StoreClient(StoreAccess(url)) as client:
        store = FleetStore(client, FleetQuery(start() - 20, start() + second))
        stored = await store.read(names)
    if not has_states:
        stored = [
            replace(
                each,
                samples=replace(each.samples, restarts=(), ready=()),
                ends=(),
                starts=(),
            )
            for each in stored
        ]
    inputs = []
    for uid, (pod, status) in of_pods.items():
        containers = {
            each.name.container: each
            for each in stored
            if each.name.uid == uid and (each.samples.probes or each.samples.restarts)
        }
        if containers:
            ids = known_ids(uid, status)
            inputs += past_inputs(StoredPod(pod, DEFAULT_VERSION, containers, ids=ids))
    return sorted(inputs, key=lambda timed: timed.at)


def go_on(observation: ClusterObservation, second: float) -> Iterator[JournalEntry]:
    """Watch the rest of the recording, and yield what is journaled."""
    for json in state_at(second).values():
        observation.set_pod(json, recording.at(second), is_news=False)
    for step in steps():
        now = recording.at(step.at)
        if second < step.at <= recording.END:
            observation.check(now)
            if step.kind == "metrics":
                observation.record_counters("node1", step.value, now, now)
            elif step.kind == "events":
                observation.record_event(step.value["object"], now)
            elif step.value["type"] == "DELETED":
                uid = step.value["object"]["metadata"]["uid"]
                observation.remove_pod(uid, now)
            else:
                observation.set_pod(step.value["object"], now)
            yield from observation.take_entries()


@pytest.mark.prometheus
@pytest.mark.parametrize("has_states", [True, False], ids=["all", "counters alone"])
async def test_nothing_is_invented_between_the_samples_and_what_is_watched(
    tmp_path: Path,
    has_states: bool,  # noqa: FBT001  # a column of the table
) -> None:
    kills = recorded_kills()
    with real_prometheus(tmp_path, openmetrics(scraped(5.0), start())) as url:
        pasts = {
            second: await past_at(second, url, state_at(second), has_states=has_states)
            for second in (43.0, 78.5, 111.0, 146.5, 182.0)
        }
    for second, inputs in pasts.items():
        begin, now = inputs[0].at, recording.at(second)
        observation = ClusterObservation(begin)
        for _ in feed(observation, inputs, begin, now):
            pass
        observation.submit(PastEnded(), now)
        entries = [*observation.take_entries(), *go_on(observation, second)]

        found = [each for each in entries if isinstance(each, ContainerEntry)]
        names = {
            metadata["uid"]: metadata["name"]
            for step in steps()
            if step.kind == "pods"
            for metadata in [step.value["object"]["metadata"]]
        }
        for what in (LifecycleStep.STARTED, LifecycleStep.EXITED):
            ids = [each.container_id for each in found if each.what is what]
            twice = [each for each, count in Counter(ids).items() if count > 1]
            assert twice == [], (second, what)
        for each in found:
            name = names.get(each.pod_uid, ""), each.container_name
            at_second = each.at.timestamp() - start()
            truth = kills.get(name, [])
            is_early = abs(at_second - second) < GRACE
            if each.by is ExitCause.ITSELF and not is_early:
                assert not any(
                    at_second - GRACE <= kill <= at_second for kill in truth
                ), (
                    second,
                    each,
                )
            if each.what is LifecycleStep.STOPPING and each.by in PROBE_CAUSES:
                early = (
                    at_second
                    if each.not_before is None
                    else (each.not_before.timestamp() - start())
                )
                late = (
                    at_second
                    if each.not_after is None
                    else (each.not_after.timestamp() - start())
                )
                assert any(early - 2 <= kill <= late + 2 for kill in truth), (
                    second,
                    each,
                )
