"""What keeps a container from being created: the kubelet's messages, read."""

from __future__ import annotations

import pytest

from probetui.analysis.causes.answer import explain
from probetui.analysis.causes.cause import WhyAnswer
from probetui.analysis.causes.kinds import CauseKind as Kind
from probetui.analysis.container_history import MISSING_PULL_SECRETS, SessionHistory
from probetui.k8s.event import Event, EventType
from probetui.k8s.status import Waiting
from probetui.kubelet.journal import EventEntry, JournalEntry, StatusEntry
from probetui.kubelet_rules import PORTED_RULES
from tests.builders import a_container, a_container_status, a_pod, a_status, at


def answer(waiting: Waiting, *entries: JournalEntry) -> WhyAnswer:
    """Return why a container waits that was never created."""
    pod = a_pod(container := a_container())
    own = a_container_status(container_id="", state=waiting, started=False)
    journal = [*entries, StatusEntry(0, at(5), pod.uid, a_status(own))]
    past = SessionHistory(journal)
    past.add_entries(journal, 0)
    return explain(pod, container, past, at(9), PORTED_RULES)


def an_event(reason: str, message: str) -> EventEntry:
    event = Event(EventType.WARNING, reason, message, a_pod().uid, "", at(1))
    return EventEntry(0, at(1), event)


@pytest.mark.parametrize(
    ("message", "kind", "name"),
    [
        ('configmap "a" not found', Kind.MISSING_CONFIG_MAP, "a"),
        ('secret "a" not found', Kind.MISSING_SECRET, "a"),
        ("couldn't find key a in Secret shop/b", Kind.MISSING_KEY, "a"),
        ("references non-existent secret key: a", Kind.MISSING_KEY, ""),
        ('PersistentVolumeClaim "a" not found', Kind.MISSING_CLAIM, "a"),
        ('serviceaccount "a" not found', Kind.MISSING_TOKEN, "a"),
        ("failed to fetch token: timeout", Kind.MISSING_TOKEN, ""),
        ("something else", Kind.CONFIG_REFUSED, ""),
    ],
)
def test_a_message_names_the_object_that_is_missing(
    message: str, kind: Kind, name: str
) -> None:
    now = answer(Waiting("CreateContainerConfigError", message)).now

    assert (now.kind, now.subject.name) == (kind, name)
    assert (now.evidence.reason, now.evidence.message) == (
        "CreateContainerConfigError",
        message,
    )


@pytest.mark.parametrize(
    ("reason", "message", "kind"),
    [
        ("ErrImagePull", "no route", Kind.IMAGE_PULL_FAILED),
        ("ImagePullBackOff", "", Kind.IMAGE_PULL_FAILED),
        ("ErrImageNeverPull", "", Kind.IMAGE_NEVER_PULLED),
        ("InvalidImageName", "", Kind.IMAGE_NAME_INVALID),
        ("ImageInspectError", "", Kind.IMAGE_NOT_INSPECTED),
        ("CreateContainerError", 'secret "a" not found', Kind.RUNTIME_REFUSED),
        ("RunContainerError", "", Kind.START_ERROR),
    ],
)
def test_a_reason_is_about_the_image_or_the_runtime(
    reason: str, message: str, kind: Kind
) -> None:
    now = answer(Waiting(reason, message)).now

    is_image = kind.startswith("image-")
    assert (now.kind, now.subject.name) == (
        kind,
        a_container().image if is_image else "",
    )
    assert now.because is None


_SECRETS = "Unable to retrieve some image pull secrets (a, b); attempting to pull"


@pytest.mark.parametrize(
    ("message", "told", "name"),
    [
        pytest.param("401 Unauthorized", _SECRETS, "a, b", id="refused"),
        pytest.param("pull access denied", _SECRETS, "a, b", id="denied"),
        pytest.param("403 Forbidden", _SECRETS, "a, b", id="forbidden"),
        pytest.param("no route to host", _SECRETS, None, id="not-refused"),
        pytest.param("401 Unauthorized", "in other words", None, id="not-named"),
        pytest.param("401 Unauthorized", None, None, id="none-is-missing"),
    ],
)
def test_a_registry_may_refuse_for_want_of_a_secret(
    message: str, told: str | None, name: str | None
) -> None:
    events = [] if told is None else [an_event(MISSING_PULL_SECRETS, told)]

    reply = answer(Waiting("ErrImagePull", message), *events)

    because = reply.now.because
    assert (because is None) is (name is None)
    if because is not None:
        assert (because.kind, because.subject.name) == (Kind.MISSING_SECRET, name)
        assert because.since == at(1)
        assert because.evidence.reason == MISSING_PULL_SECRETS
        assert reply.remedy is not None
        assert reply.remedy.path == "spec.imagePullSecrets"
