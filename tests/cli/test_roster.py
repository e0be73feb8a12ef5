"""Who hears of pods and objects, and when."""

from __future__ import annotations

from probetui.cli.roster import Roster, Wanted
from probetui.k8s.config import ConfigMap
from tests.builders import a_pod

WEB, DB = a_pod(name="web"), a_pod(name="db")
CONFIG = ConfigMap("config")


def test_whoever_asks_hears_of_what_there_is_and_of_every_change() -> None:
    roster = Roster(Wanted((WEB,)))
    heard: list[list[str]] = []

    roster.tell(lambda pods: heard.append([each.name for each in pods]))
    roster.change(Wanted((DB,)))

    assert heard == [["web"], ["db"]]


def test_objects_are_told_of_before_the_pods_that_need_them() -> None:
    roster = Roster(Wanted())
    heard: list[str] = []
    roster.tell(lambda pods: heard.extend(each.name for each in pods))
    roster.tell_objects(lambda objects: heard.extend(each.name for each in objects))

    roster.change(Wanted((WEB,), (CONFIG,)))

    assert heard == ["config", "web"]


def test_places_change_with_the_pods_and_before_anybody_hears() -> None:
    roster = Roster(Wanted((WEB,), places={"web a": "web.yaml:1:1"}))
    heard: list[dict[str, str]] = []

    roster.tell(lambda _pods: heard.append(dict(roster.places)))
    roster.change(Wanted((DB,), places={"db a": "db.yaml:2:1"}))

    assert heard == [{"web a": "web.yaml:1:1"}, {"db a": "db.yaml:2:1"}]


def test_pods_that_were_there_once_are_remembered() -> None:
    roster = Roster(Wanted((WEB,)))

    roster.change(Wanted((DB,)))

    assert roster.pods == (DB,)
    assert roster.all_seen == (WEB, DB)
