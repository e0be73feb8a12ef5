"""The feed of an API server: broken watches, refusals, counters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.client import PODS as CLIENT_PODS
from probetui.cluster.client import ApiClient
from probetui.cluster.container_logs import ClusterLogs
from probetui.cluster.errors import ClusterError, ForbiddenError
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.observe import feed as feed_module
from probetui.cluster.observe.feed import Feed, ReceivedPods, list_selected
from probetui.cluster.observe.kubelet_counters import CounterSource, ProxyCounters
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.selection import PodSelection, select, selector_of
from probetui.cluster.serving.http_server import HttpRequest, HttpResponse
from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.k8s.api.pod import POD
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import (
    ContainerEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
    NoteEntry,
)
from tests.cluster.api_server.resources import EVENTS, PODS, SERVICES
from tests.cluster.api_server.server import ServerFault, no_fault
from tests.cluster.api_server.store import WritableStore
from tests.cluster.player import Player
from tests.cluster.servers import RunningServer, running_server, write_kubeconfig

_PATIENCE_SECONDS = 20


class Watcher:
    """An observation with its feed; tests wait for conditions of it."""

    def __init__(self, observation: ClusterObservation, feed: Feed) -> None:
        self.observation = observation
        self.entries: list[JournalEntry] = []
        self._feed = feed
        self._has_changed = asyncio.Event()

    @property
    def names(self) -> list[str]:
        return [it.pod.name for it in self.observation.snapshot(_CLOCK.now()).pods]

    @property
    def notes(self) -> str:
        return "\n".join(it.text for it in self.entries if isinstance(it, NoteEntry))

    def changed(self) -> None:
        self.entries += self.observation.take_entries()
        self._has_changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not condition():
                self._has_changed.clear()
                await self._has_changed.wait()


_CLOCK = SystemClock()


@asynccontextmanager
async def _watching(
    url: str,
    folder: Path,
    *,
    token: str = "",
    selection: PodSelection | None = None,
    source: Callable[[ApiClient], CounterSource] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> AsyncIterator[Watcher]:
    """Watch; `meanwhile` is called between the list of the pods and its use."""
    config = write_kubeconfig(folder / "config", url, token=token)
    access = load_access(str(config), environ={})
    observation = ClusterObservation(_CLOCK.now())
    async with ApiClient(access, _CLOCK) as client:
        feed = Feed(
            client,
            observation,
            selection or PodSelection(),
            _CLOCK,
            None if source is None else source(client),
            Random(1),
        )
        listed = None
        if meanwhile is not None:
            objects = await list_selected(client, PodSelection(), CLIENT_PODS)
            assert len([pod async for pod in objects.objects(keeps=True)]) == 2
            listed = ReceivedPods(objects, _CLOCK.now())
            meanwhile()
        await feed.begin(listed)
        watcher = Watcher(observation, feed)
        running = asyncio.create_task(feed.run(watcher.changed))
        try:
            yield watcher
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def _pod(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": labels,
        },
        "spec": {
            "nodeName": "node1",
            "restartPolicy": "Always",
            "containers": [
                {
                    "name": "app",
                    "image": "busybox",
                    "imagePullPolicy": "IfNotPresent",
                    "livenessProbe": {
                        "exec": {"command": ["true"]},
                        "periodSeconds": 1,
                        "timeoutSeconds": 1,
                        "successThreshold": 1,
                        "failureThreshold": 3,
                    },
                }
            ],
        },
        "status": {"phase": "Pending"},
    }


async def test_added_and_removed_pods_are_observed(tmp_path: Path) -> None:
    async with running_server() as server:
        server.store.put(PODS, _pod("one"))
        async with _watching(server.url, tmp_path) as watcher:
            assert watcher.names == ["one"]
            server.store.put(PODS, _pod("two"))
            await watcher.until(lambda: watcher.names == ["one", "two"])
            server.store.remove(PODS, "default", "one")
            await watcher.until(lambda: watcher.names == ["two"])


async def test_a_missing_pod_is_waited_for_with_one_note(
    tmp_path: Path,
) -> None:
    async with running_server() as server:
        server.store.put(PODS, _pod("one"))
        selection = PodSelection("default", names=frozenset({"one", "two", "three"}))
        async with _watching(server.url, tmp_path, selection=selection) as watcher:
            server.store.put(PODS, _pod("two"))
            await watcher.until(lambda: watcher.names == ["one", "two"])

    assert [line for line in watcher.notes.splitlines() if "waited for" in line] == [
        "pod three does not exist in namespace default yet; it is waited for",
        "pod two does not exist in namespace default yet; it is waited for",
    ]


async def test_a_selection_without_pods_is_noted(tmp_path: Path) -> None:
    async with running_server() as server:
        selection = PodSelection("default", label_selector="app=web")
        async with _watching(server.url, tmp_path, selection=selection) as watcher:
            server.store.put(PODS, _pod("one", app="web"))
            await watcher.until(lambda: watcher.names == ["one"])

    assert "no pod matches yet; one that comes is shown" in watcher.notes


async def test_a_broken_watch_continues_from_its_last_version(tmp_path: Path) -> None:
    async with running_server() as server:
        watches = 0

        def fault(info: RequestInfo, _request: HttpRequest) -> ServerFault | None:
            nonlocal watches
            if info.resource is not PODS or info.verb != "watch":
                return None
            watches += 1
            return ServerFault(cut_after_bytes=300 + watches * 97)

        server.api.fault = fault
        async with _watching(server.url, tmp_path) as watcher:
            for number in range(4):
                server.store.put(PODS, _pod(f"pod{number}"))
            await watcher.until(lambda: watches > 2)
            server.api.fault = no_fault
            await watcher.until(lambda: len(watcher.names) == 4)


async def test_a_kill_during_the_start_of_the_watch_is_reported_before_the_exit(
    tmp_path: Path,
) -> None:
    status: dict[str, Any] = {"name": "app", "image": "busybox", "imageID": "busybox"}
    ended = {"containerID": "docker://1", "exitCode": 137, "reason": "Error"}
    first, second = (
        {
            **status,
            "containerID": f"docker://{number + 1}",
            "restartCount": number,
            "ready": True,
            "state": {"running": {"startedAt": f"2026-11-24T01:0{number}:00Z"}},
            "lastState": last,
        }
        for number, last in enumerate(({}, {"terminated": ended}))
    )

    def pod(found: dict[str, Any]) -> dict[str, Any]:
        status = {"phase": "Running", "containerStatuses": [found]}
        return {**_pod("one"), "status": status}

    killing = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "one.1", "namespace": "default", "uid": "event"},
        "involvedObject": {
            "kind": "Pod",
            "namespace": "default",
            "name": "one",
            "uid": "uid-one",
            "fieldPath": "spec.containers{app}",
        },
        "type": "Normal",
        "reason": "Killing",
        "message": "Container app failed liveness probe, will be restarted",
        "lastTimestamp": "2026-11-24T01:00:40Z",
        "count": 1,
    }

    def fault(info: RequestInfo, _request: HttpRequest) -> ServerFault | None:
        is_list = info.resource is EVENTS and info.verb == "list"
        return ServerFault(delay_seconds=0.2) if is_list else None

    async with running_server() as server:
        server.store.put(PODS, pod(first))
        async with _watching(server.url, tmp_path) as watcher:
            server.api.fault = fault
            server.store.put(EVENTS, killing)
            server.store.put(PODS, pod(second))

            def exits() -> list[ContainerEntry]:
                found = (it for it in watcher.entries if isinstance(it, ContainerEntry))
                return [it for it in found if it.what is LifecycleStep.EXITED]

            await watcher.until(lambda: bool(exits()))
            (exit_,) = exits()

    assert exit_.by is ExitCause.LIVENESS


async def test_what_came_since_a_list_is_watched(tmp_path: Path) -> None:
    async with running_server() as server:
        for name in ("old", "gone"):
            server.store.put(PODS, _pod(name))
        ended = _CLOCK.now()

        def change() -> None:
            nonlocal ended
            server.store.remove(PODS, "default", "gone")
            server.store.put(PODS, _pod("new"))
            ended = _CLOCK.now()

        async with _watching(server.url, tmp_path, meanwhile=change) as watcher:
            watcher.changed()
            assert watcher.names == ["gone", "old"]
            assert max(entry.at for entry in watcher.entries) < ended
            await watcher.until(lambda: watcher.names == ["new", "old"])


@pytest.mark.parametrize("is_missed", [True, False])
async def test_what_a_watch_had_missed_tells_nothing_of_a_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_missed: bool
) -> None:
    if not is_missed:
        monkeypatch.setattr(feed_module, "_CATCHING_UP", timedelta())
    has_begun = asyncio.Event()

    def note_watch(info: RequestInfo, _request: HttpRequest) -> None:
        if info.resource is PODS and info.verb == "watch":
            has_begun.set()

    def pod(number: int, life: int) -> dict[str, Any]:
        began = _CLOCK.now() - timedelta(minutes=2 - life)
        state = {"running": {"startedAt": f"{began:%Y-%m-%dT%H:%M:%SZ}"}}
        status = {
            "name": "app",
            "image": "busybox",
            "imageID": "busybox",
            "containerID": f"docker://{number}-{life}",
            "restartCount": life,
            "ready": True,
            "state": state,
            "lastState": {},
        }
        return {
            **_pod(f"pod{number}"),
            "status": {"phase": "Running", "containerStatuses": [status]},
        }

    async with running_server() as server:
        for number in range(4):
            server.store.put(PODS, pod(number, 0))
        server.api.fault = note_watch
        async with _watching(server.url, tmp_path) as watcher:
            if not is_missed:
                await has_begun.wait()
                await asyncio.sleep(0.3)
            for number in range(4):
                server.store.put(PODS, pod(number, 1))

            def restarted() -> int:
                steps = (it for it in watcher.entries if isinstance(it, ContainerEntry))
                return sum(it.restart_count for it in steps)

            await watcher.until(lambda: restarted() == 4)

    assert ("the clock of node" not in watcher.notes) is is_missed


async def test_an_expired_version_is_listed_again(tmp_path: Path) -> None:
    store = WritableStore(_CLOCK.now)
    store.put(PODS, _pod("old"))
    async with running_server(store) as server:
        port = server.address.port
        watching = _watching(server.url, tmp_path)
        watcher = await watching.__aenter__()
    store.remove(PODS, "default", "old")
    store.put(PODS, _pod("new"))
    store.compact()
    assert watcher.names == ["old"]
    async with running_server(store, port=port):
        await watcher.until(lambda: watcher.names == ["new"])
        await watching.__aexit__(None, None, None)


async def test_an_unreachable_server_is_noted_until_it_is_back(tmp_path: Path) -> None:
    store = WritableStore(_CLOCK.now)
    async with running_server(store) as server:
        port = server.address.port
        watching = _watching(server.url, tmp_path)
        watcher = await watching.__aenter__()
    await watcher.until(lambda: watcher.observation.lost_since is not None)
    assert "127.0.0.1" in watcher.observation.lost_reason
    store.put(PODS, _pod("late"))
    async with running_server(store, port=port):
        await watcher.until(lambda: watcher.names == ["late"])
        await watcher.until(lambda: watcher.observation.lost_since is None)
        await watching.__aexit__(None, None, None)


async def test_a_missing_right_to_list_is_an_error_with_its_command(
    tmp_path: Path,
) -> None:
    def authorize(_user: str, info: RequestInfo) -> str | None:
        return "no" if info.resource is PODS else None

    async with running_server(tokens={"t": "me"}, authorize=authorize) as server:
        with pytest.raises(ForbiddenError, match="kubectl auth can-i list pods -A"):
            async with _watching(server.url, tmp_path, token="t"):
                pass


async def test_a_missing_right_to_events_is_a_note(tmp_path: Path) -> None:
    def authorize(_user: str, info: RequestInfo) -> str | None:
        return "no" if info.resource is EVENTS else None

    async with running_server(tokens={"t": "me"}, authorize=authorize) as server:
        server.store.put(PODS, _pod("one"))
        async with _watching(server.url, tmp_path, token="t") as watcher:
            await watcher.until(lambda: "events are not shown" in watcher.notes)
            assert "kubectl auth can-i list events -A" in watcher.notes


async def test_credentials_that_are_not_accepted_are_an_error(tmp_path: Path) -> None:
    async with running_server(tokens={"t": "me"}) as server:
        with pytest.raises(ClusterError, match="does not accept the credentials"):
            async with _watching(server.url, tmp_path, token="wrong"):
                pass


async def test_a_busy_server_is_left_alone_for_its_delay(
    tmp_path: Path,
) -> None:
    async with running_server() as server:
        asked_at: list[datetime] = []

        def fault(info: RequestInfo, _request: HttpRequest) -> ServerFault | None:
            if info.resource is not PODS or info.verb != "watch":
                return None
            asked_at.append(_CLOCK.now())
            if len(asked_at) > 1:
                return None
            return ServerFault(
                failure=ApiFailure(429, "TooManyRequests", "wait", retry_after=2)
            )

        server.api.fault = fault
        async with _watching(server.url, tmp_path) as watcher:
            await watcher.until(lambda: watcher.observation.lost_since is not None)
            server.store.put(PODS, _pod("one"))
            await watcher.until(lambda: watcher.names == ["one"])
        assert asked_at[1] - asked_at[0] >= timedelta(seconds=2)


async def test_a_list_that_waits_for_a_busy_server_is_noted(
    tmp_path: Path,
) -> None:
    busy = ApiFailure(503, "ServiceUnavailable", "starting", retry_after=1)
    faults = [ServerFault(failure=busy)]

    def fault(info: RequestInfo, _request: HttpRequest) -> ServerFault | None:
        is_list = info.resource is EVENTS and info.verb == "list"
        return faults.pop() if faults and is_list else None

    async with running_server() as server:
        server.api.fault = fault
        async with _watching(server.url, tmp_path) as watcher:
            await watcher.until(lambda: "starting" in watcher.observation.lost_reason)
            await watcher.until(lambda: watcher.observation.lost_since is None)


async def test_results_come_through_the_node_proxy(tmp_path: Path) -> None:
    series = 'container="app",namespace="default",pod="one",pod_uid="uid-one"'
    count = 4

    async def metrics(*_: Any) -> HttpResponse:
        nonlocal count
        count += 1
        text = (
            f'prober_probe_total{{{series},probe_type="Liveness",result="successful"}}'
            f" {count}\n"
        )
        return HttpResponse(200, body=text.encode())

    async with running_server(connect={"nodes/proxy": metrics}) as server:
        _put_node(server)
        server.store.put(PODS, _pod("one"))
        async with _watching(server.url, tmp_path, source=ProxyCounters) as watcher:
            await watcher.until(lambda: _successes(watcher) >= 7)

    (pod,) = watcher.observation.snapshot(_CLOCK.now()).pods
    assert pod.containers[0].probes[0].run_doubt == ""


async def test_where_the_proxy_is_forbidden_events_alone_are_left(
    tmp_path: Path,
) -> None:
    def authorize(_user: str, info: RequestInfo) -> str | None:
        return "no" if info.subresource == "proxy" else None

    async def metrics(*_: Any) -> HttpResponse:
        raise AssertionError("it is forbidden")

    async with running_server(
        tokens={"t": "me"}, authorize=authorize, connect={"nodes/proxy": metrics}
    ) as server:
        _put_node(server)
        server.store.put(PODS, _pod("one"))
        async with _watching(
            server.url, tmp_path, token="t", source=ProxyCounters
        ) as watcher:
            await watcher.until(lambda: "from events alone" in watcher.notes)

    command = "kubectl auth can-i get nodes/node1 --subresource=proxy"
    assert command in watcher.notes


def _successes(watcher: Watcher) -> int:
    (pod,) = watcher.observation.snapshot(_CLOCK.now()).pods
    return pod.containers[0].probes[0].successes


def _put_node(server: RunningServer) -> None:
    Player(server.store, timedelta()).node()


async def test_a_service_is_its_pods(tmp_path: Path) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}},
    }
    async with running_server() as server:
        server.store.put(SERVICES, service)
        server.store.put(PODS, _pod("web-1", app="web"))
        server.store.put(PODS, _pod("other", app="db"))
        access = load_access(
            str(write_kubeconfig(tmp_path / "config", server.url)), environ={}
        )
        async with ApiClient(access, _CLOCK) as client:
            selection = await select(client, ["svc/web"], "default", "")
        assert [
            name
            for name in ("web-1", "other")
            if selection.matches(_read(_pod(name, app=name.partition("-")[0])))
        ] == ["web-1"]


def _read(pod: dict[str, Any]) -> Any:
    return POD.read(pod)


def test_a_deployment_is_what_its_selector_matches() -> None:
    spec = {
        "selector": {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "NotIn", "values": ["db"]},
                {"key": "canary", "operator": "DoesNotExist"},
            ],
        }
    }
    selection = PodSelection("default", selectors=(selector_of({"spec": spec}, "web"),))

    matching = [
        labels
        for labels in (
            {"app": "web"},
            {"app": "web", "tier": "db"},
            {"app": "web", "canary": ""},
            {"app": "db"},
        )
        if selection.matches(_read(_pod("x", **labels)))
    ]

    assert matching == [{"app": "web"}]


async def test_a_log_is_that_of_the_instance_that_is_meant(tmp_path: Path) -> None:
    queries: list[dict[str, str]] = []

    async def log(request: HttpRequest, *_: Any) -> HttpResponse:
        queries.append(dict(request.query))
        text = b"2026-11-24T08:00:00.123456789Z \xff one\nno time\n"
        return HttpResponse(200, body=text, content_type="text/plain")

    pod = _pod("one")
    running = {"running": {"startedAt": "2026-11-24T08:00:00Z"}}
    ended = {"terminated": {"exitCode": 1, "containerID": "containerd://before"}}
    pod["status"]["containerStatuses"] = [
        {
            "name": "app",
            "containerID": "containerd://now",
            "state": running,
            "lastState": ended,
            "restartCount": 1,
        }
    ]
    async with running_server(connect={"pods/log": log}) as server:
        server.store.put(PODS, pod)
        config = write_kubeconfig(tmp_path / "config", server.url)
        access = load_access(str(config), environ={})
        async with ApiClient(access, _CLOCK) as client:
            observation = ClusterObservation(_CLOCK.now())
            found = await client.list(CLIENT_PODS)
            async for json in found.objects():
                observation.set_pod(json, _CLOCK.now(), is_news=False)
            logs = ClusterLogs(client, observation.find_container)
            lines = []
            for own_id in ("containerd://now", "containerd://before"):
                lines += [
                    line
                    async for line in logs.follow_logs(
                        ContainerID(own_id), tail=10, follow=True
                    )
                ]
            with pytest.raises(ContainerRuntimeError, match="no longer has its logs"):
                await anext(logs.follow_logs(ContainerID("x://y"), tail=1, follow=True))

    assert [line.text for line in lines[:2]] == ["\udcff one", "no time"]
    assert [line.at is None for line in lines[:2]] == [False, True]
    assert [it["previous"] for it in queries] == ["false", "true"]
    assert [it["follow"] for it in queries] == ["true", "false"]
