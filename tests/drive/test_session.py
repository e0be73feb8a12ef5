"""What front ends follow: the callbacks of a session."""

from __future__ import annotations

from probetui.drive.session import Subscribers


def test_each_is_told_as_often_as_it_was_added() -> None:
    told: list[str] = []
    subscribers = Subscribers()
    subscribers.add(lambda: told.append("one"))
    subscribers.add(lambda: told.append("two"))

    subscribers.notify()

    assert told == ["one", "two"]


def test_an_end_that_is_asked_for_again_ends_nobody_else() -> None:
    told: list[str] = []
    subscribers = Subscribers()

    def tell() -> None:
        told.append("told")

    end = subscribers.add(tell)
    subscribers.add(tell)
    end()
    end()
    subscribers.notify()

    assert told == ["told"]


def test_one_that_leaves_when_it_is_told_keeps_nobody_from_being_told() -> None:
    told: list[str] = []
    subscribers = Subscribers()

    def leave() -> None:
        end()

    end = subscribers.add(leave)
    subscribers.add(lambda: told.append("other"))

    subscribers.notify()
    subscribers.notify()

    assert told == ["other", "other"]
    assert subscribers
