from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.k8s.runtime import RuntimePodStatus, RuntimeState
from probetui.kubelet.pleg.pleg import (
    CachedStatus,
    LifecycleChange,
    Pleg,
    PodCache,
    PodLifecycleEvent,
)
from tests.builders import a_runtime_status, a_sandbox, an_instance, at

CREATED, RUNNING, EXITED, UNKNOWN = RuntimeState
STARTED, DIED, REMOVED = LifecycleChange
UID = "uid-of-web"
APP = "fake://app-0"


def with_app(state: RuntimeState | None) -> RuntimePodStatus:
    """A pod with one container in that state, or without any."""
    return a_runtime_status(*([] if state is None else [an_instance(state=state)]))


def changes(events: tuple[PodLifecycleEvent, ...]) -> list[tuple[str, str]]:
    return [(event.change, event.container_id) for event in events]


class TestEvents:
    @pytest.mark.parametrize(
        ("before", "after", "expected"),
        [
            pytest.param(None, RUNNING, [STARTED], id="started"),
            pytest.param(None, EXITED, [DIED], id="started-and-died-between"),
            pytest.param(None, CREATED, [], id="created"),
            pytest.param(CREATED, RUNNING, [STARTED], id="created-then-started"),
            pytest.param(RUNNING, EXITED, [DIED], id="died"),
            pytest.param(RUNNING, UNKNOWN, [], id="lost-sight-of"),
            pytest.param(RUNNING, None, [DIED, REMOVED], id="gone-while-running"),
            pytest.param(EXITED, None, [REMOVED], id="removed"),
            pytest.param(RUNNING, RUNNING, [], id="unchanged"),
        ],
    )
    def test_events_are_the_changes_between_two_relists(
        self,
        before: RuntimeState | None,
        after: RuntimeState | None,
        expected: list[LifecycleChange],
    ) -> None:
        pleg = Pleg(PodCache())
        pleg.relist([with_app(before)], at(0))

        events = pleg.relist([with_app(after)], at(1))

        assert changes(events) == [(change, APP) for change in expected]

    def test_what_never_ran_dies_when_it_is_removed(self) -> None:
        """Quirk: what was only created counts as being in an unknown state."""
        pleg = Pleg(PodCache())
        pleg.relist([with_app(CREATED)], at(0))

        events = pleg.relist([with_app(None)], at(1))

        assert changes(events) == [(DIED, APP), (REMOVED, APP)]

    def test_sandboxes_have_events_too(self) -> None:
        pleg = Pleg(PodCache())
        pleg.relist([a_runtime_status()], at(0))

        dead = a_runtime_status(sandboxes=(a_sandbox(is_ready=False),))
        events = pleg.relist([dead], at(1))

        assert events == (PodLifecycleEvent(UID, DIED, "sandbox"),)

    def test_known_containers_come_before_new_ones(self) -> None:
        pleg = Pleg(PodCache())
        pleg.relist([with_app(RUNNING)], at(0))
        both = a_runtime_status(an_instance(number=1), an_instance(state=EXITED))

        events = pleg.relist([both], at(1))

        assert changes(events) == [(DIED, APP), (STARTED, "fake://app-1")]

    def test_all_containers_of_a_vanished_pod_are_removed(self) -> None:
        cache = PodCache()
        pleg = Pleg(cache)
        pleg.relist([with_app(RUNNING)], at(0))

        events = pleg.relist([], at(1))

        assert changes(events) == [
            (DIED, APP),
            (REMOVED, APP),
            (DIED, "sandbox"),
            (REMOVED, "sandbox"),
        ]
        assert cache.get(UID) == RuntimePodStatus(UID)
        assert pleg.relist([], at(2)) == ()


class TestErrors:
    def test_events_are_held_back_until_the_pod_can_be_read(self) -> None:
        pleg = Pleg(PodCache())
        pod = with_app(EXITED)

        first = pleg.relist([pod], at(0), errors={UID: "no answer"})
        second = pleg.relist([pod], at(1))

        assert first == ()
        assert changes(second) == [(DIED, APP), (STARTED, "sandbox")]

    def test_a_status_request_returns_the_error(self) -> None:
        cache = PodCache()
        pleg = Pleg(cache)
        pleg.relist([with_app(RUNNING)], at(0))

        pleg.relist([with_app(EXITED)], at(1), errors={UID: "no answer"})

        cached = cache.get_newer_than(UID, at(0))
        assert cached is not None
        assert cached.error == "no answer"

    def test_a_pod_is_read_again_even_if_it_changed_back(self) -> None:
        cache = PodCache()
        pleg = Pleg(cache)
        pleg.relist([with_app(RUNNING)], at(0))
        pleg.relist([with_app(EXITED)], at(1), errors={UID: "no answer"})

        events = pleg.relist([with_app(RUNNING)], at(2))

        assert events == ()
        assert cache.get(UID) == with_app(RUNNING)


class TestStatus:
    def test_it_is_read_when_something_changed(self) -> None:
        cache = PodCache()
        pleg = Pleg(cache)
        unchanged = a_runtime_status(an_instance(message="later"))

        pleg.relist([with_app(RUNNING)], at(0))
        pleg.relist([unchanged], at(1))

        assert cache.get(UID) == with_app(RUNNING)

    def test_addresses_outlive_the_sandbox(self) -> None:
        cache = PodCache()
        pleg = Pleg(cache)
        pleg.relist([with_app(RUNNING)], at(0))

        dead = a_runtime_status(ips=(), sandboxes=(a_sandbox(is_ready=False),))
        pleg.relist([dead], at(1))

        assert cache.get(UID).ips == ("10.0.0.2",)

    def test_a_new_sandbox_has_none_of_the_old_addresses(self) -> None:
        cache = PodCache()
        pleg = Pleg(cache)
        pleg.relist([a_runtime_status()], at(0))

        pleg.relist([a_runtime_status(an_instance(), ips=())], at(1))

        assert cache.get(UID).ips == ()

    def test_a_status_is_as_old_as_its_reading(self) -> None:
        cache = PodCache()
        pod = replace(with_app(RUNNING), seen_at=at(0.5))

        Pleg(cache).relist([pod], at(0))

        cached = cache.get_newer_than(UID, at(0.4))
        assert cached is not None
        assert cached.read_at == at(0.5)


class TestPodCache:
    def test_a_status_read_later_is_newer(self) -> None:
        cache = PodCache()
        cached = CachedStatus(with_app(RUNNING), None, at(5))
        cache.set(cached)

        assert cache.get_newer_than(UID, at(4)) is cached
        assert cache.get_newer_than(UID, at(5)) is None

    def test_a_later_relist_confirms_an_older_status(self) -> None:
        cache = PodCache()
        cached = CachedStatus(with_app(RUNNING), None, at(5))
        cache.set(cached)

        cache.update_time(at(10))

        assert cache.get_newer_than(UID, at(9)) is cached
        assert cache.get_newer_than(UID, at(10)) is None

    def test_a_later_status_also_shows_what_is_missing(self) -> None:
        cache = PodCache()
        before = cache.get_newer_than("other", at(0))

        cache.update_time(at(10))

        empty = CachedStatus(RuntimePodStatus("other"), None, at(10))
        assert before is None
        assert cache.get_newer_than("other", at(9)) == empty
        assert cache.get_newer_than("other", at(10)) is None

    def test_a_forgotten_pod_has_an_empty_status(self) -> None:
        cache = PodCache()
        cache.set(CachedStatus(with_app(RUNNING), None, at(5)))

        cache.delete(UID)
        cache.delete(UID)

        assert cache.get(UID) == RuntimePodStatus(UID)
