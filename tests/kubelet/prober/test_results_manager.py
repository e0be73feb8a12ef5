from __future__ import annotations

from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.results_manager import ResultsManager, ResultUpdate

APP, OTHER = ContainerID("fake://app"), ContainerID("fake://other")


def a_manager() -> ResultsManager:
    return ResultsManager(ProbeType.LIVENESS)


def test_nothing_is_believed_of_a_container_nobody_spoke_of() -> None:
    assert a_manager().get(APP) is None


def test_the_last_word_is_believed() -> None:
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


def test_updates_are_taken_once() -> None:
    results = a_manager()
    results.set(APP, Result.SUCCESS, "uid")

    results.take_updates()

    assert results.take_updates() == ()


def test_what_is_forgotten_makes_no_update_but_is_new_when_it_comes_again() -> None:
    results = a_manager()
    results.set(APP, Result.SUCCESS, "uid")
    results.take_updates()

    results.remove(APP)
    results.remove(OTHER)

    assert results.get(APP) is None
    assert results.take_updates() == ()
    results.set(APP, Result.SUCCESS, "uid")
    assert results.take_updates() == (ResultUpdate(APP, Result.SUCCESS, "uid"),)
