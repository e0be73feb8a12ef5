from __future__ import annotations

from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.results_manager import ResultsManager, ResultUpdate

APP, OTHER = ContainerID("fake://app"), ContainerID("fake://other")


def a_manager() -> ResultsManager:
    return ResultsManager(ProbeType.LIVENESS)


def test_a_container_without_a_result_has_none() -> None:
    assert a_manager().get(APP) is None


def test_the_last_result_is_stored() -> None:
    results = a_manager()

    results.set(APP, Result.SUCCESS, "uid")
    results.set(APP, Result.FAILURE, "uid")
    results.set(OTHER, Result.UNKNOWN, "uid")

    assert (results.get(APP), results.get(OTHER)) == (Result.FAILURE, Result.UNKNOWN)


def test_only_changes_make_updates() -> None:
    results = a_manager()

    results.set(APP, Result.SUCCESS, "uid")
    results.set(APP, Result.SUCCESS, "uid")
    results.set(APP, Result.FAILURE, "uid")

    assert results.take_updates() == (
        ResultUpdate(APP, Result.SUCCESS, "uid"),
        ResultUpdate(APP, Result.FAILURE, "uid"),
    )


def test_updates_are_consumed_once() -> None:
    results = a_manager()
    results.set(APP, Result.SUCCESS, "uid")

    results.take_updates()

    assert results.take_updates() == ()


def test_a_removed_result_makes_no_update_and_is_new_when_set_again() -> None:
    results = a_manager()
    results.set(APP, Result.SUCCESS, "uid")
    results.take_updates()

    results.remove(APP)
    results.remove(OTHER)

    assert results.get(APP) is None
    assert results.take_updates() == ()
    results.set(APP, Result.SUCCESS, "uid")
    assert results.take_updates() == (ResultUpdate(APP, Result.SUCCESS, "uid"),)
