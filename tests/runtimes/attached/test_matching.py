"""Which of somebody else's containers stands for which of a pod's."""

from __future__ import annotations

import pytest

from probetui.errors import UsageError
from probetui.k8s.runtime import ContainerID
from probetui.ports import UnmanagedContainer
from probetui.runtimes.attached.matching import (
    AttachTarget,
    choose_candidate,
    find_candidates,
    make_targets,
)
from tests.builders import a_container, a_pod, at

COMPOSED = {
    "com.docker.compose.project": "shop",
    "com.docker.compose.service": "web",
}
OF_A_POD = {
    "io.kubernetes.pod.namespace": "default",
    "io.kubernetes.pod.name": "shop",
    "io.kubernetes.container.name": "web",
}
POD = a_pod(a_container("web"), a_container("db"), name="shop")
WEB = AttachTarget(POD, a_container("web"))
LONG_ID = "4f7a" + 60 * "0"


def unmanaged(
    name: str = "other",
    number: str = "",
    *,
    labels: dict[str, str] | None = None,
    is_running: bool = True,
    created: int = 0,
    is_named: bool = True,
) -> UnmanagedContainer:
    return UnmanagedContainer(
        ContainerID(f"docker://{number or name}"),
        (name,),
        is_running,
        labels or {},
        created_at=at(created),
        is_named=is_named,
    )


OTHER = unmanaged("other", labels={"app": "else"})


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param("shop-web-1", unmanaged("shop-web-1"), id="name"),
        pytest.param(LONG_ID, unmanaged(number=LONG_ID), id="whole id"),
        pytest.param("4f7a0", unmanaged(number=LONG_ID), id="beginning of an id"),
        pytest.param("shop", unmanaged(labels=OF_A_POD), id="pod"),
        pytest.param("default/shop", unmanaged(labels=OF_A_POD), id="namespace/pod"),
        pytest.param("shop/web", unmanaged(labels=OF_A_POD), id="pod/container"),
        pytest.param(
            "default/shop/web", unmanaged(labels=OF_A_POD), id="all three of a pod"
        ),
        pytest.param(
            f"docker://{LONG_ID}", unmanaged(number=LONG_ID), id="id of an API"
        ),
        pytest.param("4711", unmanaged("nginx", "4711"), id="number of a process"),
        pytest.param("app=web", unmanaged(labels={"app": "web"}), id="label"),
        pytest.param("web", unmanaged(labels=COMPOSED), id="service"),
        pytest.param("shop/web", unmanaged(labels=COMPOSED), id="service of a project"),
        pytest.param(
            "web",
            unmanaged(labels={"io.podman.compose.service": "web"}),
            id="service of podman-compose",
        ),
    ],
)
def test_a_container_is_found_by_its_match(
    wanted: str, found: UnmanagedContainer
) -> None:
    target = AttachTarget(POD, a_container("web"), wanted)

    assert find_candidates(target, [OTHER, found]) == (found,)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(unmanaged(labels=OF_A_POD), id="labels of a kubelet"),
        pytest.param(unmanaged("web"), id="name of the container"),
        pytest.param(unmanaged(labels=COMPOSED), id="service"),
        pytest.param(unmanaged("shop-web"), id="pod and container"),
        pytest.param(unmanaged("shop_web"), id="pod_container"),
    ],
)
def test_by_default_containers_match_by_name_and_labels(
    found: UnmanagedContainer,
) -> None:
    assert find_candidates(WEB, [OTHER, found]) == (found,)


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        pytest.param("47", unmanaged("nginx", "4711"), id="part of a process number"),
        pytest.param("4f7", unmanaged(number=LONG_ID), id="too short a beginning"),
        pytest.param("", unmanaged("web", is_named=False), id="program called so"),
        pytest.param(
            "shop",
            unmanaged(labels={**OF_A_POD, "io.kubernetes.container.name": "db"}),
            id="another container of the pod",
        ),
        pytest.param("prod/shop", unmanaged(labels=OF_A_POD), id="another namespace"),
        pytest.param(
            "",
            unmanaged(labels={**OF_A_POD, "io.kubernetes.pod.namespace": "prod"}),
            id="pod of another namespace",
        ),
    ],
)
def test_what_is_only_like_it_is_not_meant(
    wanted: str, there: UnmanagedContainer
) -> None:
    target = AttachTarget(POD, a_container("web"), wanted)

    assert find_candidates(target, [OTHER, there]) == ()


def test_labels_of_a_kubelet_count_more_than_a_name() -> None:
    by_label, by_name = unmanaged("k8s_web", labels=OF_A_POD), unmanaged("web")

    assert find_candidates(WEB, [by_name, by_label]) == (by_label,)


def test_what_runs_comes_first_then_what_is_newer() -> None:
    old = unmanaged("a", "1", labels=COMPOSED, created=1)
    new = unmanaged("b", "2", labels=COMPOSED, created=2)
    dead = unmanaged("c", "3", labels=COMPOSED, created=3, is_running=False)

    assert find_candidates(WEB, [old, dead, new]) == (new, old, dead)


def test_what_is_watched_stays_watched_while_it_runs() -> None:
    old, new = unmanaged("a", "1"), unmanaged("b", "2")

    assert choose_candidate([new, old], old.container_id) == old


def test_what_has_ended_gives_way_to_what_runs() -> None:
    dead, new = unmanaged("a", "1", is_running=False), unmanaged("b", "2")

    assert choose_candidate([new, dead], dead.container_id) == new


def test_of_several_that_have_ended_the_one_that_was_watched_stays() -> None:
    first, second = (unmanaged(letter, is_running=False) for letter in "ab")

    assert choose_candidate([first, second], second.container_id) == second
    assert choose_candidate([], second.container_id) is None


def test_every_container_of_the_pods_is_a_target() -> None:
    web, db = make_targets([POD], ["web=shop-web-1"])

    assert (web.label, web.wanted) == ("shop/web", "shop-web-1")
    assert (db.label, db.wanted) == ("shop/db", "")


def test_a_pod_may_be_named_where_containers_are_called_alike() -> None:
    other = a_pod(a_container("web"), name="blog")

    targets = make_targets([POD, other], ["blog/web=x"])

    assert {target.label: target.wanted for target in targets} == {
        "shop/web": "",
        "shop/db": "",
        "blog/web": "x",
    }


@pytest.mark.parametrize(
    ("word", "message"),
    [
        pytest.param("web", "is not CONTAINER=NAME_OR_ID", id="no equals sign"),
        pytest.param("web=", "is not CONTAINER=NAME_OR_ID", id="nothing behind it"),
        pytest.param("wep=x", r'"wep" \(has: web, db\)', id="no such container"),
    ],
)
def test_an_invalid_match_is_an_error(word: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_targets([POD], [word])


def test_a_name_that_several_pods_have_is_an_error() -> None:
    other = a_pod(a_container("web"), name="blog")

    with pytest.raises(UsageError, match="use one of shop/web, shop/db, blog/web"):
        make_targets([POD, other], ["web=x"])
