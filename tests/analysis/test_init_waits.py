"""Init containers that wait for Services of the same manifests."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.analysis.init_waits import init_wait_findings
from probetui.k8s.pod import Container, EnvVar, Pod, RestartPolicy
from probetui.k8s.service import Service
from tests.builders import a_container, a_pod

WEB = Service("web", "default", (("app", "web"),))
DB = Service("db", "default", (("app", "db"),))


def a_waiting_pod(*command: str, name: str = "web", **fields: object) -> Pod:
    """Return a pod with its name as label and an init container."""
    init = Container("wait", "busybox", command=command, **fields)  # type: ignore[arg-type]
    pod = a_pod(a_container(), name=name, init_containers=(init,))
    return labelled(pod)


def labelled(pod: Pod) -> Pod:
    return replace(pod, labels={"app": pod.name}, uid=f"uid-of-{pod.name}")


def found(*pods: Pod, services: tuple[Service, ...] = (WEB, DB)) -> list[str]:
    return [
        f"{pod.name} {finding.path}: {finding.message}"
        for pod, finding in init_wait_findings(pods, services)
    ]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("nc", "-z", "web", "80"), id="nc"),
        pytest.param(("sh", "-c", "until nc -z web 80; do sleep 1; done"), id="until"),
        pytest.param(
            ("sh", "-c", "while ! curl -sf http://web/; do :; done"), id="curl"
        ),
        pytest.param(("wget", "-qO-", "http://web.default.svc:80/"), id="namespace"),
        pytest.param(("curl", "http://web.default.svc.cluster.local"), id="domain"),
        pytest.param(("/bin/wait-for-it.sh", "web:80"), id="wait-for-it"),
        pytest.param(("dockerize", "-wait", "tcp://web:80"), id="dockerize"),
        pytest.param(("pg_isready", "-h", "web"), id="pg_isready"),
        pytest.param(("bash", "-c", "until </dev/tcp/web/80; do :; done"), id="bash"),
        pytest.param(("sh", "-c", "until \\\n nc web 80; do :; done"), id="two lines"),
    ],
)
def test_a_pod_that_waits_for_its_own_service(command: tuple[str, ...]) -> None:
    (finding,) = found(a_waiting_pod(*command))

    assert finding == (
        'web spec.initContainers[0].command: waits for the Service "web", which '
        "selects this pod alone: it is not ready before its init containers have ended"
    )


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("sh", "-c", "nslookup web"), id="a name has its address at once"),
        pytest.param(("sh", "-c", "echo web; sleep 1"), id="nobody connects"),
        pytest.param(("sh", "-c", "if curl http://web; then x; fi"), id="a condition"),
        pytest.param(("sh", "-c", "curl http://web || true"), id="gives up"),
        pytest.param(("nc", "-z", "web-0.web", "80"), id="one pod"),
        pytest.param(("nc", "-z", "webhook", "80"), id="another name"),
        pytest.param(("curl", "http://cdn.example/web/x"), id="a path"),
        pytest.param(("curl", "http://web.other.svc/"), id="another namespace"),
        pytest.param(("nc", "-z", "nowhere", "80"), id="no service"),
    ],
)
def test_other_commands_wait_for_nothing(command: tuple[str, ...]) -> None:
    assert found(a_waiting_pod(*command)) == []


def test_a_headless_service_has_no_name_without_endpoints() -> None:
    headless = Service("web", "default", (("app", "web"),), is_headless=True)
    published = Service("web", "default", (("app", "web"),), True, True)  # noqa: FBT003
    pod = a_waiting_pod("sh", "-c", "until nslookup web; do sleep 2; done")

    assert len(found(pod, services=(headless,))) == 1
    assert found(pod, services=(published,)) == []


@pytest.mark.parametrize("name", ["$HOST", "${HOST}", "$(HOST)"])
def test_a_variable_is_read(name: str) -> None:
    script = f"until nc -z {name} 80; do :; done"
    pod = a_waiting_pod("sh", "-c", script, env=(EnvVar("HOST", "web"),))

    assert len(found(pod)) == 1
    assert found(a_waiting_pod("sh", "-c", script)) == []


@pytest.mark.parametrize("args", [("service", "web"), ("web",), ("web:80", "x")])
def test_an_image_that_is_named_after_what_it_does(args: tuple[str, ...]) -> None:
    init = Container("wait", "groundnuty/k8s-wait-for:v2", args=args)
    pod = labelled(a_pod(a_container(), name="web", init_containers=(init,)))

    assert [line.partition(":")[0] for line in found(pod)] == [
        "web spec.initContainers[0].args"
    ]


def test_pods_that_wait_for_one_another() -> None:
    web = a_waiting_pod("nc", "-z", "db", "5432")
    db = a_waiting_pod("nc", "-z", "web", "80", name="db")

    assert [line.partition(" wait")[0] for line in found(web, db)] == [
        "web spec.initContainers[0].command:",
        "db spec.initContainers[0].command:",
    ]


def test_a_pod_that_waits_for_another_one_is_right() -> None:
    web = a_waiting_pod("nc", "-z", "db", "5432")
    db = labelled(a_pod(a_container(), name="db"))

    assert found(web, db) == []


def test_a_service_with_another_pod_that_can_be_ready() -> None:
    web = a_waiting_pod("nc", "-z", "db", "5432")
    db = a_waiting_pod("nc", "-z", "db", "5432", name="db")
    both = Service("db", "default", ())

    assert found(web, labelled(a_pod(a_container(), name="x")), services=(both,)) == []
    assert len(found(web, db, services=(both,))) == 2


def test_those_that_wait_for_one_another_are_named() -> None:
    web = a_waiting_pod("nc", "-z", "db", "5432")
    db = a_waiting_pod("nc", "-z", "web", "80", name="db")

    assert found(web, db)[0] == (
        'web spec.initContainers[0].command: waits for the Service "db", whose pods '
        '("db") cannot be ready before: they wait in init containers as well, for one '
        "another"
    )


def test_it_is_the_second_init_container_that_waits() -> None:
    sidecar = a_container(
        "proxy", restart_policy=RestartPolicy.ALWAYS, command=("nc", "-z", "web", "1")
    )
    first = Container("first", "busybox", command=("true",))
    waits = Container("wait", "busybox", args=("nc", "-z", "web", "80"))
    pod = a_pod(a_container(), name="web", init_containers=(sidecar, first, waits))

    (line,) = found(labelled(pod))

    assert line.startswith("web spec.initContainers[2].args: waits for")


def test_a_service_of_another_namespace_is_another() -> None:
    pod = replace(a_waiting_pod("nc", "-z", "web", "80"), namespace="shop")

    assert found(pod) == []
