from __future__ import annotations

from probetui.kubelet.kuberuntime.reason_cache import ReasonCache, StartFailure

FAILURE = StartFailure("CrashLoopBackOff", "back-off 10s")


def test_a_start_failure_is_remembered_until_the_container_starts() -> None:
    reasons = ReasonCache()

    reasons.set("uid", "app", FAILURE)
    remembered = reasons.get("uid", "app")
    reasons.remove("uid", "app")

    assert remembered == FAILURE
    assert reasons.get("uid", "app") is None


def test_a_container_of_another_pod_is_another_one() -> None:
    reasons = ReasonCache()

    reasons.set("uid", "app", FAILURE)

    assert reasons.get("another", "app") is None


def test_the_oldest_reason_goes_when_there_are_too_many() -> None:
    reasons = ReasonCache(limit=1)

    reasons.set("uid", "app", FAILURE)
    reasons.set("uid", "other", FAILURE)

    assert reasons.get("uid", "app") is None
    assert reasons.get("uid", "other") == FAILURE
