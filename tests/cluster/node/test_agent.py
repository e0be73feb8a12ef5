"""A session as a node, against an API server of ours, on a fake clock."""

from __future__ import annotations

import json
from typing import Any

import pytest

from probetui.cluster.api_server.failure import ApiFailure
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.effects import RegistryCredentials
from tests.builders import a_pod
from tests.cluster.api_server.resources import CONFIG_MAPS, PODS, SECRETS
from tests.cluster.api_server.store import DeleteOptions
from tests.cluster.node.bench import NODE, NodeBench, running
from tests.cluster.recorded import recorded
from tests.fakes import FAILING, Answer, Run

LIVENESS = {
    "livenessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 5},
}


Shape = dict[str, Any]


def _shape(patch: dict[str, Any]) -> Shape:
    """Return what a patch changes, without what is another one on each run.

    Times of conditions are among that: with whole seconds they may stay the same.
    """
    status = {key: value for key, value in patch["status"].items() if key[0] != "$"}
    shape: Shape = dict.fromkeys(status)
    shape["conditions"] = {
        condition["type"]: {
            key: value
            for key, value in condition.items()
            if key != "lastTransitionTime"
        }
        for condition in status.get("conditions", ())
    }
    shape["containers"] = [
        {key: next(iter(one[key]), None) for key in ("state", "lastState")}
        | {
            key: one[key]
            for key in ("ready", "started", "restartCount", "resources")
            if key in one
        }
        for one in status.get("containerStatuses", ())
    ]
    shape["phase"] = status.get("phase")
    return shape


def _recorded_shapes(name: str) -> list[Shape]:
    return [
        _shape(line["patch"])
        for line in recorded("status-patches")
        if line["name"] == name
    ]


def _shapes(bench: NodeBench) -> list[Shape]:
    return [
        _shape(patch) for patch in bench.cluster.writes("PATCH", "/pods/web/status")
    ]


async def test_a_pod_is_started_restarted_and_deleted_in_the_patches_of_a_kubelet(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.cluster.create_pod(app={"name": "liveness", **LIVENESS})
        await bench.settle()
        uid = bench.cluster.pod()["metadata"]["uid"]
        key = ProbeKey(uid, "liveness", ProbeType.LIVENESS)
        bench.prober.script(key, *[FAILING] * 3, Answer())
        await bench.pass_time(30)
        bench.cluster.store.delete(PODS, "default", "web")
        await bench.pass_time(10)

    patches = bench.cluster.writes("PATCH", "/pods/web/status")
    assert {patch["metadata"]["uid"] for patch in patches} == {uid}
    *until_restart, deletion, end = _shapes(bench)
    assert until_restart == _recorded_shapes("exec-liveness")[:4]
    assert deletion in _recorded_shapes("oneshot-delete")
    assert [_uncounted(end)] == [
        shape
        for shape in map(_uncounted, _recorded_shapes("exec-missing-binary"))
        if shape["phase"] == "Failed"
    ]


def _uncounted(shape: Shape) -> Shape:
    """Return a shape as of a container that has not been restarted."""
    first = {"restartCount": 0, "lastState": None}
    containers = [{**one, **first} for one in shape["containers"]]
    return {**shape, "containers": containers}


async def test_a_restart_is_counted_and_its_events_are_there(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.cluster.create_pod(app=LIVENESS)
        await bench.settle()
        uid = bench.cluster.pod()["metadata"]["uid"]
        bench.prober.script(
            ProbeKey(uid, "app", ProbeType.LIVENESS), *[FAILING] * 3, Answer()
        )
        await bench.pass_time(40)

        status = bench.cluster.pod()["status"]["containerStatuses"][0]
    assert status["restartCount"] == 1
    assert "terminated" in status["lastState"]
    events = dict(bench.cluster.events())
    assert events["Unhealthy"] == 3
    assert (events["Killing"], events["Started"]) == (1, 2)


async def test_an_event_refers_to_the_version_in_which_its_pod_came(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.cluster.create_pod()
        first = bench.cluster.pod()["metadata"]["resourceVersion"]
        await bench.pass_time(3)
        bench.cluster.store.delete(PODS, "default", "web")
        await bench.pass_time(10)

    involved = [
        body["involvedObject"]["resourceVersion"]
        for body in bench.cluster.writes("POST", "/default/events")
        if body["involvedObject"]["name"] == "web"
    ]
    assert involved == [first] * 4  # Pulled, Created, Started, Killing


async def test_a_deletion_that_came_before_the_node_is_confirmed(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.cluster.create_pod()
    bench.cluster.store.delete(PODS, "default", "web")
    async with running(bench, monkeypatch):
        await bench.pass_time(10)

        assert bench.cluster.pod() is None


async def test_a_pod_that_takes_the_name_of_one_removed_by_force_runs_beside_it(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.world.runs = lambda _operation: Run(on_sigterm=None)
    async with running(bench, monkeypatch):
        bench.cluster.create_pod(terminationGracePeriodSeconds=30)
        await bench.pass_time(3)
        bench.cluster.store.delete(PODS, "default", "web", DeleteOptions(0))
        bench.cluster.create_pod()
        await bench.pass_time(5)

        both_run = sum(one.runs() for one in bench.world.containers.values())
        status = bench.cluster.pod()["status"]
        bench.cluster.store.delete(PODS, "default", "web")
        await bench.pass_time(40)

        assert (both_run, status["phase"]) == (2, "Running")
        assert bench.cluster.pod() is None


async def test_a_deletion_is_confirmed_after_the_grace_period(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.cluster.create_pod()
        await bench.pass_time(3)
        uid = bench.cluster.pod()["metadata"]["uid"]
        bench.cluster.store.delete(PODS, "default", "web")
        await bench.pass_time(10)

    assert bench.cluster.pod() is None
    (body,) = bench.cluster.writes("DELETE", "/pods/web")
    assert body["gracePeriodSeconds"] == 0
    assert body["preconditions"] == {"uid": uid}
    last = bench.cluster.writes("PATCH", "/pods/web/status")[-1]["status"]
    assert last["phase"] in {"Succeeded", "Failed"}
    assert "terminated" in last["containerStatuses"][0]["state"]


async def test_during_an_outage_nothing_is_killed_and_statuses_follow_later(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.cluster.create_pod(app=LIVENESS)
        await bench.pass_time(3)
        uid = bench.cluster.pod()["metadata"]["uid"]
        bench.cluster.transport.disconnect()
        bench.prober.script(
            ProbeKey(uid, "app", ProbeType.LIVENESS), *[FAILING] * 3, Answer()
        )
        await bench.pass_time(60)
        running_meanwhile = bench.world.container("app").runs()
        bench.cluster.transport.restore()
        await bench.pass_time(12)  # the lease is renewed meanwhile

        status = bench.cluster.pod()["status"]["containerStatuses"][0]
    assert running_meanwhile
    assert status["restartCount"] == 1
    assert dict(bench.cluster.events())["Killing"] == 1
    assert [text for text in bench.messages if "answers again" in text]
    assert len([text for text in bench.messages if "keep running" in text]) == 1


async def test_after_a_watch_has_expired_the_pods_are_listed_again(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        await bench.pass_time(1)
        bench.cluster.transport.disconnect()
        await bench.pass_time(2)
        bench.cluster.create_pod("late")
        bench.cluster.store.compact()
        bench.cluster.transport.restore()
        await bench.pass_time(40)

        assert bench.cluster.pod("late")["status"]["phase"] == "Running"


async def test_requests_to_a_server_with_expired_versions_have_pauses(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = 0
    has_expired = False

    def refuse(method: str, path: str) -> ApiFailure | None:
        nonlocal lists
        if not has_expired or method != "GET" or not path.endswith("/pods"):
            return None
        lists += 1
        return ApiFailure(410, "Expired", "too old")

    bench.cluster.fail(refuse)
    async with running(bench, monkeypatch):
        await bench.pass_time(1)
        has_expired = True
        bench.cluster.transport.disconnect()
        await bench.pass_time(2)
        bench.cluster.transport.restore()
        await bench.pass_time(10)
        has_expired = False
        await bench.pass_time(30)
        bench.cluster.create_pod("late")
        await bench.pass_time(5)

        assert bench.cluster.pod("late")["status"]["phase"] == "Running"
    assert 1 < lists < 20


async def test_a_patch_with_a_conflict_is_repeated(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    patches = 0

    def refuse(method: str, path: str) -> ApiFailure | None:
        nonlocal patches
        patches += method == "PATCH" and path.endswith("/pods/web/status")
        is_refused = method == "PATCH" and patches % 2 == 1
        return ApiFailure(409, "Conflict", "changed") if is_refused else None

    bench.cluster.fail(refuse)
    async with running(bench, monkeypatch):
        bench.cluster.create_pod()
        await bench.pass_time(20)

        assert bench.cluster.pod()["status"]["phase"] == "Running"
    assert patches >= 2


async def test_a_request_to_a_busy_server_is_repeated_after_its_delay(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_at = []

    def refuse(method: str, path: str) -> ApiFailure | None:
        if method != "PATCH" or not path.endswith("/pods/web/status"):
            return None
        asked_at.append(bench.clock.now())
        if len(asked_at) > 1:
            return None
        return ApiFailure(429, "TooManyRequests", "slow down", retry_after=7)

    bench.cluster.fail(refuse)
    async with running(bench, monkeypatch):
        bench.cluster.create_pod()
        await bench.pass_time(15)

        assert bench.cluster.pod()["status"]["phase"] == "Running"
    assert (asked_at[1] - asked_at[0]).total_seconds() == 7


async def test_credentials_that_expire_stop_nothing(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        await bench.pass_time(1)
        bench.cluster.fail(
            lambda _method, _path: ApiFailure(401, "Unauthorized", "Unauthorized")
        )
        bench.cluster.create_pod()
        await bench.pass_time(30)
        bench.cluster.fail(lambda _method, _path: None)
        await bench.pass_time(40)

        assert bench.cluster.pod()["status"]["phase"] == "Running"
    assert any("credentials" in text for text in bench.messages)


async def test_a_pod_that_has_ended_before_is_not_run_again(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.cluster.create_pod("done")
    completed = bench.cluster.pod("done")
    ended = {"metadata": completed["metadata"], "status": {"phase": "Succeeded"}}
    bench.cluster.store.put(PODS, {**completed, **ended})
    async with running(bench, monkeypatch):
        await bench.pass_time(5)

    assert bench.session.snapshot.pods == ()
    assert bench.cluster.writes("PATCH", "/pods/done/status") == []


async def test_a_status_changed_by_another_client_is_restored(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.cluster.create_pod()
        await bench.pass_time(5)
        pod = bench.cluster.pod()
        status = {**pod["status"], "phase": "Pending"}
        bench.cluster.store.put(PODS, {**pod, "status": status})
        await bench.pass_time(5)

        assert bench.cluster.pod()["status"]["phase"] == "Running"


async def test_a_pod_gets_config_maps_of_the_cluster(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.cluster.store.create(
        CONFIG_MAPS, "default", {"metadata": {"name": "c"}, "data": {"KEY": "value"}}
    )
    env_from = [{"configMapRef": {"name": "c"}}]
    async with running(bench, monkeypatch):
        bench.cluster.create_pod(app={"envFrom": env_from})
        await bench.pass_time(5)

        assert bench.cluster.pod()["status"]["phase"] == "Running"


async def test_an_ephemeral_container_is_refused_by_an_event_of_the_pod(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    debuggers = [{"name": name, "image": "busybox"} for name in ("debug-1", "debug-2")]
    async with running(bench, monkeypatch):
        bench.cluster.create_pod()
        await bench.pass_time(3)
        for count in (1, 2):
            pod = bench.cluster.pod()
            spec = {**pod["spec"], "ephemeralContainers": debuggers[:count]}
            bench.cluster.store.put(PODS, {**pod, "spec": spec})
            await bench.pass_time(3)

    refusals = [
        body
        for body in bench.cluster.writes("POST", "/default/events")
        if body["reason"] == "EphemeralContainerRefused"
    ]
    assert [one["type"] for one in refusals] == ["Warning", "Warning"]
    assert [one["involvedObject"]["fieldPath"] for one in refusals] == [
        "spec.ephemeralContainers{debug-1}",
        "spec.ephemeralContainers{debug-2}",
    ]
    assert "debug-1 is not started; kubectl exec" in refusals[0]["message"]
    assert len([it for it in bench.messages if "ephemeral container" in it]) == 2
    assert "ephemeralContainerStatuses" not in bench.cluster.pod()["status"]
    assert bench.cluster.pod()["status"]["phase"] == "Running"


async def test_the_stand_in_of_a_token_is_reported_once_of_the_node(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = {"serviceAccountToken": {"path": "token"}}
    spec: dict[str, Any] = {
        "serviceAccountName": "default",
        "volumes": [{"name": "token", "projected": {"sources": [token]}}],
        "app": {"volumeMounts": [{"name": "token", "mountPath": "/token"}]},
    }
    async with running(bench, monkeypatch):
        for name in ("web", "other"):
            bench.cluster.create_pod(name, **spec)
            await bench.pass_time(3)
    (message,) = [it for it in bench.messages if "stand-in" in it]
    assert message == (
        "a cluster has it, here is a stand-in: a service account token that no API "
        "server accepts; pod default/web is the first with it"
    )
    assert ("StandIn", 1) in bench.cluster.events(NODE)
    assert "StandIn" not in dict(bench.cluster.events("other"))


def _refuse_secrets(method: str, path: str) -> ApiFailure | None:
    if method == "GET" and "/secrets/" in path:
        return ApiFailure(403, "Forbidden", "secrets are forbidden")
    return None


async def test_only_the_pod_that_needs_a_refused_secret_waits_for_it(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.cluster.fail(_refuse_secrets)
    refers = {"envFrom": [{"secretRef": {"name": "password", "optional": True}}]}
    async with running(bench, monkeypatch):
        bench.cluster.create_pod("needy", app=refers)
        bench.cluster.create_pod("web")
        await bench.pass_time(3)
        needy = bench.cluster.pod("needy")["status"]
        web = bench.cluster.pod("web")["status"]
        assert web["phase"] == "Running"
        assert needy["phase"] == "Pending"
        assert needy["containerStatuses"][0]["state"]["waiting"] == {
            "reason": "CreateContainerConfigError",
            "message": "failed to sync secret cache: timed out waiting for the "
            "condition",
        }
        bench.cluster.fail(lambda *_: None)
        secret = {"metadata": {"name": "password"}, "data": {}}
        bench.cluster.store.create(SECRETS, "default", secret)
        await bench.pass_time(120)
        assert bench.cluster.pod("needy")["status"]["phase"] == "Running"
    assert "secrets are forbidden" in " ".join(bench.messages)


async def test_an_image_is_pulled_with_the_secrets_that_its_pod_names(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    auths = {"registry.test": {"username": "me", "password": "hunter22"}}
    secret = {
        "metadata": {"name": "regcred"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": json.dumps({"auths": auths})},
    }
    names = [{"name": "regcred"}, {"name": "absent"}]
    app = {"image": "registry.test/app:1", "imagePullPolicy": "Always"}
    async with running(bench, monkeypatch):
        bench.cluster.store.create(SECRETS, "default", secret)
        bench.cluster.create_pod("web", imagePullSecrets=names, app=app)
        await bench.pass_time(3)
        assert bench.cluster.pod()["status"]["phase"] == "Running"

    credentials = [pull.credentials for pull in bench.world.pulls]
    assert credentials == [RegistryCredentials("me", "hunter22")]
    (event,) = [
        body
        for body in bench.cluster.writes("POST", "/default/events")
        if body["reason"] == "FailedToRetrieveImagePullSecret"
    ]
    assert event["message"] == (
        "Unable to retrieve some image pull secrets (absent); attempting to pull the "
        "image may not succeed."
    )
    assert event["type"] == "Warning"


async def test_a_drained_node_leaves_nothing_behind(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.cluster.create_pod()
        await bench.pass_time(3)
        async with bench.clock.jumping():
            await bench.agent.drain()
            bench.agent.detach()
            await bench.agent.withdraw(keeps_node=False)

    assert bench.cluster.pod() is None
    assert bench.cluster.node() is None
    assert bench.cluster.lease() is None


@pytest.mark.parametrize("grace", [3600, 2**63 - 1])
async def test_a_drain_ends_soon_after_the_pods_when_the_server_keeps_them(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch, grace: int
) -> None:
    async with running(bench, monkeypatch):
        bench.cluster.create_pod(
            finalizers=["example.com/kept"], terminationGracePeriodSeconds=grace
        )
        await bench.pass_time(3)
        began_at = bench.clock.now()
        async with bench.clock.jumping():
            await bench.agent.drain()
        lasted = (bench.clock.now() - began_at).total_seconds()

    assert lasted <= 10  # the process itself ends at once
    assert bench.messages[-1] == (
        "pods of the node are left in the cluster; nothing of them runs here any more: "
        "default/web"
    )


async def test_a_drain_does_not_wait_for_deletions_that_do_not_arrive(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.cluster.create_pod(terminationGracePeriodSeconds=3600)
        await bench.pass_time(3)
        bench.cluster.transport.loses_deletions = True
        began_at = bench.clock.now()
        async with bench.clock.jumping():
            await bench.agent.drain()
        lasted = (bench.clock.now() - began_at).total_seconds()

    assert lasted <= 10
    assert bench.messages[-1] == (
        "pods of the node have not ended in the cluster; they are stopped without it: "
        "default/web"
    )


async def test_a_pod_of_a_daemon_set_runs_with_one_message_that_explains_it(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.cluster.create_pod("proxy-1", daemon_set="proxy")
        await bench.pass_time(3)
        bench.cluster.create_pod("proxy-2", daemon_set="proxy")
        bench.cluster.create_pod("web")
        await bench.pass_time(3)

        assert bench.cluster.pod("proxy-1")["status"]["phase"] == "Running"
    (message,) = bench.messages
    assert message == (
        "pod default/proxy-1 runs here: its DaemonSet proxy tolerates the taint of "
        "this node, as one that tolerates every taint does"
    )


async def test_pods_of_a_daemon_set_do_not_delay_the_end_of_a_drained_node(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = bench.cluster.store
    async with running(bench, monkeypatch):
        bench.cluster.create_pod("proxy-0", daemon_set="proxy")
        await bench.pass_time(3)

        def replace() -> None:
            if not any(it["spec"]["nodeName"] == NODE for it in store.list(PODS).items):
                bench.cluster.create_pod(f"proxy-{store.version}", daemon_set="proxy")

        store.listen(replace)
        began_at = bench.clock.now()
        async with bench.clock.jumping():
            await bench.agent.drain()
        lasted = (bench.clock.now() - began_at).total_seconds()
        bench.agent.detach()
        await bench.agent.withdraw(keeps_node=False)

    assert lasted < 5
    assert bench.cluster.pod("proxy-0") is None
    assert bench.cluster.node() is None


@pytest.mark.sweep
async def test_a_node_rejects_the_pods_that_it_has_no_room_for(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 110
    async with running(bench, monkeypatch):
        bench.run_static(a_pod(uid="static"))
        for number in range(most + 20):
            bench.cluster.create_pod(f"web-{number:03d}")
        await bench.pass_time(20)
        pods = bench.cluster.store.list(PODS, "default").items
        bench.cluster.store.delete(PODS, "default", "web-000")
        await bench.pass_time(10)
        bench.cluster.create_pod("late")
        await bench.pass_time(10)
        late = bench.cluster.pod("late")

        bench.cluster.store.delete(PODS, "default", "web-129")
        await bench.pass_time(10)
        names = {
            pod["metadata"]["name"]
            for pod in bench.cluster.store.list(PODS, "default").items
        }

    phases = [pod["status"]["phase"] for pod in pods if "web-" in str(pod["metadata"])]
    assert (phases.count("Running"), phases.count("Failed")) == (109, 21)
    rejected = next(pod for pod in pods if pod["metadata"]["name"] == "web-129")
    message = (
        "Node didn't have enough resource: pods, requested: 1, used: 110, capacity: 110"
    )
    status = rejected["status"]
    assert (status["reason"], status["message"]) == (
        "OutOfpods",
        f"Pod was rejected: {message}",
    )
    assert "containerStatuses" not in status
    assert bench.cluster.events("web-129") == [("OutOfpods", 1)]
    assert late["status"]["phase"] == "Running"
    assert "web-129" not in names
    assert [text for text in bench.messages if "rejected" in text] == [
        f"pod default/web-109 is rejected: {message}"
    ]


async def test_a_node_that_ends_leaves_new_pods_aside(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    env_from = [{"secretRef": {"name": "token", "optional": True}}]
    requests: list[str] = []

    def count(_method: str, path: str) -> None:
        requests.append(path)

    async with running(bench, monkeypatch):
        bench.cluster.create_pod()
        await bench.pass_time(3)
        bench.cluster.fail(count)
        bench.agent.refuse_new()
        for number in range(200):
            bench.cluster.create_pod(f"late-{number}", app={"envFrom": env_from})
        await bench.pass_time(3)

        assert bench.cluster.pod()["status"]["phase"] == "Running"
        assert bench.cluster.pod("late-0")["status"]["phase"] == "Pending"
    assert not [path for path in requests if "token" in path or "late" in path]
    assert bench.cluster.events("late-199") == []
    assert bench.messages == []


@pytest.mark.sweep
async def test_the_objects_of_a_rejected_pod_are_read_once(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    env_from = [{"secretRef": {"name": "token", "optional": True}}]
    requests: list[str] = []

    def count(_method: str, path: str) -> None:
        requests.append(path)

    bench.cluster.fail(count)
    async with running(bench, monkeypatch):
        for number in range(110):
            bench.cluster.create_pod(f"web-{number:03d}")
        await bench.pass_time(10)
        bench.cluster.create_pod("rejected", app={"envFrom": env_from})
        await bench.pass_time(3)
        for number in range(5):
            bench.cluster.create_pod(f"more-{number}")
            await bench.pass_time(1)

        assert bench.cluster.pod("rejected")["status"]["phase"] == "Failed"
    assert len([path for path in requests if path.endswith("/token")]) == 1


async def test_a_detached_node_does_not_hear_the_server_any_more(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    env_from = [{"secretRef": {"name": "token", "optional": True}}]
    requests: list[str] = []

    def count(_method: str, path: str) -> None:
        requests.append(path)

    async with running(bench, monkeypatch) as agent:
        bench.cluster.create_pod()
        await bench.pass_time(3)
        bench.agent.detach()
        await bench.settle()
        bench.cluster.fail(count)
        bench.cluster.create_pod("late", app={"envFrom": env_from})
        await bench.pass_time(90)

        assert not agent.done()
    assert not [path for path in requests if "pods" in path or "token" in path]
    assert any("leases" in path for path in requests)
