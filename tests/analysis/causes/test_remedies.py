"""The field of the manifest that a cause is about."""

from __future__ import annotations

import pytest

from probetui.analysis.causes.cause import Cause, CauseSubject, Evidence, Remedy
from probetui.analysis.causes.kinds import CauseKind as Kind
from probetui.analysis.causes.remedies import remedy_of
from probetui.analysis.container_history import MISSING_PULL_SECRETS
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import HookType
from tests.builders import a_container, a_pod

APP, SEED = a_container("app"), a_container("seed")
POD = a_pod(a_container("first"), APP, init_containers=(SEED,))
OF_APP = CauseSubject("app")
BECAUSE_OF_SEED = Cause(Kind.EXITED, CauseSubject("seed"))


@pytest.mark.parametrize(
    ("cause", "path"),
    [
        pytest.param(
            Cause(
                Kind.MISSING_SECRET,
                OF_APP,
                evidence=Evidence(reason=MISSING_PULL_SECRETS),
            ),
            "spec.imagePullSecrets",
            id="secrets of images",
        ),
        pytest.param(
            Cause(Kind.MISSING_SECRET, OF_APP), "spec.containers[1].env", id="a secret"
        ),
        pytest.param(
            Cause(Kind.KILLED_BY_DEADLINE, OF_APP),
            "spec.activeDeadlineSeconds",
            id="of the pod",
        ),
        pytest.param(
            Cause(Kind.LISTENS_ON_LOOPBACK, CauseSubject("app", ProbeType.READINESS)),
            "spec.containers[1].readinessProbe",
            id="a probe",
        ),
        pytest.param(
            Cause(
                Kind.COMMAND_NOT_FOUND, CauseSubject("app", hook=HookType.POST_START)
            ),
            "spec.containers[1].lifecycle.postStart",
            id="a hook",
        ),
        pytest.param(
            Cause(Kind.IMAGE_PULL_FAILED, OF_APP),
            "spec.containers[1].image",
            id="an image",
        ),
        pytest.param(
            Cause(Kind.IMAGE_NEVER_PULLED, OF_APP),
            "spec.containers[1].imagePullPolicy",
            id="an image that is not pulled",
        ),
        pytest.param(
            Cause(Kind.KILLED_BY_ANOTHER, OF_APP),
            "spec.containers[1]",
            id="no field",
        ),
        pytest.param(
            Cause(Kind.WAITS_FOR_INIT_CONTAINER, OF_APP, because=BECAUSE_OF_SEED),
            "spec.initContainers[0].command",
            id="the root of a chain",
        ),
        pytest.param(
            Cause(Kind.EXITED, CauseSubject("gone")),
            "spec.containers[1].command",
            id="a container that is no more",
        ),
    ],
)
def test_a_cause_is_about_a_field(cause: Cause, path: str) -> None:
    assert remedy_of(POD, APP, cause) == Remedy(path, cause.root.kind)


def test_a_container_of_no_place_in_the_manifest_is_the_pods() -> None:
    other = a_container("other")

    cause = Cause(Kind.EXITED, CauseSubject("other"))

    assert remedy_of(POD, other, cause).path == "spec.command"
