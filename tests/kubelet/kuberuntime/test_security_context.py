from __future__ import annotations

import pytest

from probetui.k8s.pod import PodSecurityContext, SecurityContext
from probetui.kubelet.kuberuntime.security_context import (
    ImageUser,
    effective_security_context,
    needs_image_user,
    parse_image_user,
    verify_run_as_non_root,
    with_image_user,
)
from probetui.kubelet.object_store import ConfigRefusal
from tests.builders import a_container, a_pod

OF_POD = PodSecurityContext(
    run_as_user=1, run_as_group=2, run_as_non_root=True, seccomp_profile="Unconfined"
)


def test_the_security_context_of_the_pod_applies_where_the_container_has_none() -> None:
    app = a_container(security_context=SecurityContext(privileged=True))

    found = effective_security_context(a_pod(app, security_context=OF_POD), app)

    assert found == SecurityContext(
        run_as_user=1,
        run_as_group=2,
        run_as_non_root=True,
        privileged=True,
        seccomp_profile="Unconfined",
    )


def test_the_security_context_of_a_container_takes_precedence_even_if_false() -> None:
    own = SecurityContext(
        run_as_user=0,
        run_as_group=0,
        run_as_non_root=False,
        seccomp_profile="Localhost",
    )
    app = a_container(security_context=own)

    assert effective_security_context(a_pod(app, security_context=OF_POD), app) == own


@pytest.mark.parametrize(
    ("text", "user"),
    [
        pytest.param("", ImageUser(0), id="nobody is root"),
        pytest.param("1000", ImageUser(1000), id="number"),
        pytest.param("1000:2000", ImageUser(1000), id="number and group"),
        pytest.param("nginx", ImageUser(None, "nginx"), id="name"),
        pytest.param("nginx:www", ImageUser(None, "nginx"), id="name and group"),
        pytest.param("²", ImageUser(None, "²"), id="no number"),
    ],
)
def test_the_user_of_an_image(text: str, user: ImageUser) -> None:
    assert parse_image_user(text) == user


@pytest.mark.parametrize(
    ("context", "needs"),
    [
        pytest.param(SecurityContext(), False, id="nothing"),
        pytest.param(SecurityContext(run_as_non_root=False), False, id="may be root"),
        pytest.param(SecurityContext(run_as_non_root=True), True, id="not root"),
        pytest.param(SecurityContext(run_as_group=0), True, id="group"),
        pytest.param(
            SecurityContext(run_as_user=1, run_as_group=0, run_as_non_root=True),
            False,
            id="user is known",
        ),
    ],
)
def test_the_user_of_an_image_applies_without_another_setting(
    context: SecurityContext, *, needs: bool
) -> None:
    app = a_container(security_context=context)

    assert needs_image_user(a_pod(app), app) is needs


def refused(context: SecurityContext, user: ImageUser | None) -> ConfigRefusal | None:
    app = a_container(security_context=context)
    return verify_run_as_non_root(a_pod(app), app, context, user)


@pytest.mark.parametrize(
    ("context", "user"),
    [
        pytest.param(SecurityContext(), ImageUser(0), id="may be root"),
        pytest.param(
            SecurityContext(run_as_non_root=False), ImageUser(0), id="may be root too"
        ),
        pytest.param(
            SecurityContext(run_as_non_root=True, run_as_user=5),
            ImageUser(0),
            id="another user",
        ),
        pytest.param(
            SecurityContext(run_as_non_root=True), ImageUser(5), id="another's image"
        ),
        pytest.param(SecurityContext(run_as_non_root=True), None, id="not known"),
    ],
)
def test_a_container_may_run(context: SecurityContext, user: ImageUser | None) -> None:
    assert refused(context, user) is None


@pytest.mark.parametrize(
    ("context", "user", "message"),
    [
        pytest.param(
            SecurityContext(run_as_non_root=True, run_as_user=0),
            None,
            "container's runAsUser breaks non-root policy",
            id="it wants to",
        ),
        pytest.param(
            SecurityContext(run_as_non_root=True),
            ImageUser(0),
            "container has runAsNonRoot and image will run as root",
            id="its image does",
        ),
        pytest.param(
            SecurityContext(run_as_non_root=True),
            ImageUser(None, "nginx"),
            "container has runAsNonRoot and image has non-numeric user (nginx), cannot"
            " verify user is non-root",
            id="nobody knows",
        ),
    ],
)
def test_a_container_that_would_be_root_may_not_run(
    context: SecurityContext, user: ImageUser | None, message: str
) -> None:
    where = '(pod: "web_default(uid-of-web)", container: app)'

    assert refused(context, user) == ConfigRefusal(f"{message} {where}")


def test_a_container_without_a_user_runs_as_the_user_of_its_image() -> None:
    own, user = SecurityContext(run_as_user=1), ImageUser(None, "nginx")

    assert with_image_user(own, user) is own
    assert with_image_user(SecurityContext(), None) == SecurityContext()
    assert with_image_user(SecurityContext(), user) == SecurityContext(
        run_as_user_name="nginx"
    )
    assert with_image_user(SecurityContext(), ImageUser(7)) == SecurityContext(
        run_as_user=7
    )
