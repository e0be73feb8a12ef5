"""The subscribers of a session: callbacks on a change."""

from __future__ import annotations

from probetui.drive.session import Subscribers


def test_a_callback_is_called_as_often_as_it_was_added() -> None:
    calls: list[str] = []
    subscribers = Subscribers()
    subscribers.add(lambda: calls.append("one"))
    subscribers.add(lambda: calls.append("two"))

    subscribers.notify()

    assert calls == ["one", "two"]


def test_a_second_unsubscribe_removes_no_other_callback() -> None:
    calls: list[str] = []
    subscribers = Subscribers()

    def callback() -> None:
        calls.append("called")

    end = subscribers.add(callback)
    subscribers.add(callback)
    end()
    end()
    subscribers.notify()

    assert calls == ["called"]


def test_a_callback_that_unsubscribes_when_called_skips_no_other() -> None:
    calls: list[str] = []
    subscribers = Subscribers()

    def leave() -> None:
        end()

    end = subscribers.add(leave)
    subscribers.add(lambda: calls.append("other"))

    subscribers.notify()
    subscribers.notify()

    assert calls == ["other", "other"]
    assert subscribers
