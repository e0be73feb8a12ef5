from __future__ import annotations

from tests.builders import a_container, a_pod

from probetui.k8s.security import PodSecurityContext, SecurityContext
from probetui.kubelet.security_context import effective_security_context

OF_POD = PodSecurityContext(
    run_as_user=1, run_as_group=2, run_as_non_root=True, seccomp_profile="Unconfined"
)


def test_the_pods_context_holds_where_the_container_says_nothing() -> None:
    app = a_container(security_context=SecurityContext(privileged=True))

    found = effective_security_context(a_pod(app, security_context=OF_POD), app)

    assert found == SecurityContext(
        run_as_user=1,
        run_as_group=2,
        run_as_non_root=True,
        privileged=True,
        seccomp_profile="Unconfined",
    )


def test_what_a_container_says_counts_even_if_it_is_nothing_much() -> None:
    own = SecurityContext(
        run_as_user=0,
        run_as_group=0,
        run_as_non_root=False,
        seccomp_profile="Localhost",
    )
    app = a_container(security_context=own)

    assert effective_security_context(a_pod(app, security_context=OF_POD), app) == own
