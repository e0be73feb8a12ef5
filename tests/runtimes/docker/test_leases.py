"""Who runs which pods, as every user of a Docker daemon sees it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from probetui.errors import PodInUseError
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.errors import NOT_FOUND, SERVER_ERROR, DockerStatusError
from probetui.runtimes.docker.leases import (
    CLAIMED,
    HELD,
    HOLDER,
    LEASE,
    SESSION,
    VALID,
    DockerLeases,
)
from probetui.runtimes.docker.ownership import DockerOwnership, create_volume
from probetui.runtimes.lease_holder import LeaseHolder
from probetui.runtimes.ownership_ledger import OwnershipLedger
from probetui.runtimes.translation import NONCE
from tests.builders import START, a_pod
from tests.runtimes.docker.bench import DockerBench, bench

__all__ = ["bench"]

WEB, DB = a_pod(name="web"), a_pod(name="db")
ELSEWHERE = replace(
    LeaseHolder.this_process(), host="elsewhere", machine="another", pid_namespace=""
)
ENDED = replace(LeaseHolder.this_process(), born="long ago")


class Daemon:
    """As much of a daemon as has volumes, and a clock that stands still."""

    def __init__(self) -> None:
        self.now = START
        self.found: dict[str, dict[str, Any]] = {}
        self.is_full = False
        self.loses = ""
        """The label of which volumes are made, and an error is answered."""
        self.is_ending = False
        """Its database is closed: what it makes has no labels."""

    async def call(self, work: Callable[[Any], Any], **_options: object) -> Any:
        await asyncio.sleep(0)  # others get their turn
        return work(self)

    async def call_or_none(self, work: Callable[[Any], Any]) -> Any:
        try:
            return await self.call(work)
        except DockerStatusError as error:
            if error.status != NOT_FOUND:
                raise
            return None

    def create_volume(
        self, name: str, _driver: str, _options: object, labels: Mapping[str, str]
    ) -> None:
        if self.is_full:
            raise DockerStatusError("no space left on device", SERVER_ERROR)
        if self.is_ending:
            self.found[name] = {"Name": name, "Labels": None}
            self._check_database(f"create {name}: ")
        self.found.setdefault(
            name,
            {"Name": name, "Labels": labels, "CreatedAt": self.now.isoformat()},
        )
        if json.loads(labels.get(self.loses, "[]")):
            raise DockerStatusError("context deadline exceeded", SERVER_ERROR)

    def create_container_from_config(self, _body: object, _name: str) -> Any:
        """Make the anonymous volume of a container, and the container."""
        volume = "ab" * 32
        self.found[volume] = {"Name": volume, "Labels": None}
        self._check_database(f"create {volume}: ")
        return {"Id": "made"}

    def _check_database(self, what: str = "") -> None:
        if self.is_ending:
            raise DockerStatusError(f"{what}database not open", SERVER_ERROR)

    def inspect_volume(self, name: str) -> dict[str, Any]:
        self._check_database()
        if name not in self.found:
            raise DockerStatusError("no such volume", NOT_FOUND)
        return self.found[name]

    def remove_volume(self, name: str) -> None:
        self._check_database()
        if self.found.pop(name, None) is None:
            raise DockerStatusError("no such volume", NOT_FOUND)

    def volumes(self, *, filters: object) -> Any:
        assert filters == {"label": [f"{LEASE}=me"]}
        return {"Volumes": [*self.found.values()]}

    def info(self) -> Any:
        return {"SystemTime": self.now.isoformat()}

    def leave(
        self,
        holder: LeaseHolder,
        at: datetime = START,
        *,
        name: str = "me_session_s_1",
        session: str = "s_1",
    ) -> None:
        """Have a lease on the pod web that somebody has left."""
        labels = {
            LEASE: "me",
            SESSION: session,
            HOLDER: holder.text,
            HELD: json.dumps([["default", "web"]]),
            CLAIMED: "[]",
        }
        self.found[name] = {
            "Name": name,
            "Labels": labels,
            "CreatedAt": at.isoformat(),
        }


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


def leases_on(daemon: Any, folder: Path) -> DockerLeases:
    return DockerLeases(daemon, "me", OwnershipLedger(folder))


async def test_a_lease_that_the_daemon_refuses_leaves_no_note(
    daemon: Daemon, tmp_path: Path
) -> None:
    """It is renewed four times a minute: each refusal would leave one more."""
    daemon.is_full = True
    lease = await leases_on(daemon, tmp_path).new()

    with pytest.raises(DockerStatusError):
        await lease.add([WEB])

    assert os.listdir(tmp_path) == []  # noqa: PTH208  # of a moment


async def test_of_a_daemon_that_was_ending_no_lease_is_left(
    daemon: Daemon, tmp_path: Path
) -> None:
    """It makes a volume without labels, and cannot remove another."""
    lease = await leases_on(daemon, tmp_path).new()
    await lease.add([WEB])
    daemon.is_ending = True
    with pytest.raises(DockerStatusError):
        await lease.renew()
    assert len(daemon.found) == 2
    daemon.is_ending = False

    await lease.renew()

    assert [volume["Labels"][LEASE] for volume in daemon.found.values()] == ["me"]
    await lease.release()
    assert daemon.found == {}
    assert os.listdir(tmp_path) == []  # noqa: PTH208  # of a moment


async def test_a_lease_that_could_not_be_removed_is_removed_with_the_next(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_name: str) -> None:
        raise DockerStatusError("database not open", SERVER_ERROR)

    lease = await leases_on(daemon, tmp_path).new()
    await lease.add([WEB])
    with monkeypatch.context() as patch:
        patch.setattr(daemon, "remove_volume", refuse)
        with pytest.raises(DockerStatusError):
            await lease.renew()
    assert len(daemon.found) == 2

    await lease.renew()

    assert len(daemon.found) == 1


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({NONCE: "theirs"}, id="of another probetui"),
        pytest.param({"com.docker.compose.project": "shop"}, id="of anything else"),
    ],
)
async def test_a_volume_of_another_whose_name_was_refused_is_left(
    labels: dict[str, str], daemon: Daemon, tmp_path: Path
) -> None:
    daemon.is_full = True
    daemon.found["data"] = {"Name": "data", "Labels": labels}
    ledger = OwnershipLedger(tmp_path)

    with pytest.raises(DockerStatusError, match="no space"):
        await create_volume(cast("Any", daemon), ledger, "data", {}, {}, str)

    assert [*daemon.found] == ["data"]


@pytest.mark.parametrize(
    ("labels", "left"),
    [
        pytest.param(None, ["cd" * 32], id="without labels"),
        pytest.param({"of": "others"}, ["ab" * 32, "cd" * 32], id="unless it has some"),
    ],
)
async def test_the_volume_of_a_container_that_was_not_made_is_removed(
    labels: dict[str, str] | None, left: list[str], daemon: Daemon, tmp_path: Path
) -> None:
    ownership = DockerOwnership(cast("Any", daemon), OwnershipLedger(tmp_path), "")
    daemon.is_ending = True
    with pytest.raises(DockerStatusError, match="database not open"):
        await ownership.create("web", {"Labels": {}})
    daemon.found["ab" * 32]["Labels"] = labels
    daemon.found["cd" * 32] = {"Name": "cd" * 32, "Labels": None}
    daemon.is_ending = False

    await DockerLeases(cast("Any", daemon), "me", ownership._ledger).remove_half_made()

    assert [*daemon.found] == left


async def test_every_session_sees_the_holder_of_a_running_pod(
    daemon: Daemon, tmp_path: Path
) -> None:
    lease = await leases_on(daemon, tmp_path / "mine").new()
    await lease.add([WEB])
    theirs = leases_on(daemon, tmp_path / "theirs")

    during = await theirs.holders()
    await lease.release()

    me = str(LeaseHolder.this_process())
    assert during == {("default", "web"): me, ("", WEB.uid): me}
    assert await theirs.holders() == {}
    assert daemon.found == {}


async def test_a_pod_whose_lease_was_not_written_is_not_held(
    daemon: Daemon, tmp_path: Path
) -> None:
    """The daemon does not answer when it is told that the pod is held."""
    first = await leases_on(daemon, tmp_path / "mine").new()
    second = await leases_on(daemon, tmp_path / "theirs").new()
    daemon.loses = HELD
    with pytest.raises(DockerStatusError):
        await first.add([WEB])
    daemon.loses = ""
    await first.renew()

    await second.add([WEB])

    with pytest.raises(PodInUseError):
        await first.add([WEB])


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(WEB, id="the same"),
        pytest.param(a_pod(name="web", uid="another"), id="of the same name"),
        pytest.param(a_pod(name="other", uid=WEB.uid), id="of the same uid"),
    ],
)
async def test_a_second_session_of_a_pod_gets_the_holder_and_leaves_nothing(
    daemon: Daemon, tmp_path: Path, second: Any
) -> None:
    first = await leases_on(daemon, tmp_path / "mine").new()
    await first.add([WEB])
    another = await leases_on(daemon, tmp_path / "theirs").new()

    with pytest.raises(PodInUseError, match=str(LeaseHolder.this_process())):
        await another.add([DB, second])
    await another.release()

    assert len(daemon.found) == 1
    assert ("default", "db") not in await leases_on(daemon, tmp_path).holders()


async def test_of_sessions_that_begin_at_once_one_gets_the_pod(
    daemon: Daemon, tmp_path: Path
) -> None:
    async def begin(number: int) -> bool:
        lease = await leases_on(daemon, tmp_path / str(number)).new()
        try:
            await lease.add([WEB])
        except PodInUseError:
            await lease.release()
            return False
        return True

    async with asyncio.timeout(60):
        have_it = await asyncio.gather(*map(begin, range(8)))

    assert sum(have_it) == 1
    assert len(daemon.found) == 1


async def test_a_session_can_take_more_pods_and_keeps_those_it_has(
    daemon: Daemon, tmp_path: Path
) -> None:
    leases = leases_on(daemon, tmp_path)
    first, second = await leases.new(), await leases.new()
    await first.add([WEB])
    await second.add([DB])

    with pytest.raises(PodInUseError, match="default/db"):
        await first.add([WEB, DB])
    await second.release()
    await first.add([DB])

    assert {name for _, name in await leases.holders()} >= {"web", "db"}
    await first.release()
    assert daemon.found == {}


async def test_the_lease_of_a_process_that_has_ended_holds_nothing(
    daemon: Daemon, tmp_path: Path
) -> None:
    daemon.leave(ENDED)

    lease = await leases_on(daemon, tmp_path).new()
    await lease.add([WEB])

    assert "me_session_s_1" in daemon.found, "it is not ours to remove"


async def test_what_a_session_of_ours_left_is_removed_by_the_next(
    daemon: Daemon, tmp_path: Path
) -> None:
    leases = leases_on(daemon, tmp_path)
    await (await leases.new()).add([WEB])
    (left,) = daemon.found.values()
    left["Labels"] = {**left["Labels"], HOLDER: ENDED.text}

    await leases.new()

    assert daemon.found == {}


@pytest.mark.parametrize(
    ("age", "holds"),
    [
        pytest.param(timedelta(), True, id="just renewed"),
        pytest.param(VALID - timedelta(seconds=1), True, id="about to be renewed"),
        pytest.param(VALID, False, id="not renewed for too long"),
    ],
)
async def test_a_holder_on_another_machine_holds_for_as_long_as_it_renews(
    daemon: Daemon, tmp_path: Path, age: timedelta, *, holds: bool
) -> None:
    daemon.leave(ELSEWHERE, daemon.now - age)

    holders = await leases_on(daemon, tmp_path).holders()

    assert bool(holders) is holds


async def test_a_session_that_could_not_renew_gets_the_new_holder(
    daemon: Daemon, tmp_path: Path
) -> None:
    lease = await leases_on(daemon, tmp_path).new()
    await lease.add([WEB])
    assert await lease.renew() == {}

    daemon.leave(ELSEWHERE)

    assert await lease.renew() == {("default", "web"): str(ELSEWHERE)}


@pytest.mark.parametrize(
    ("name", "session"),
    [
        pytest.param("mine", "s_1", id="a volume of somebody's with such labels"),
        pytest.param("me_session_s_x", "s_x", id="no number"),
        pytest.param("me_session_s_1", "", id="no session"),
    ],
)
async def test_a_volume_that_only_looks_like_a_lease_is_none(
    daemon: Daemon, tmp_path: Path, name: str, session: str
) -> None:
    daemon.leave(ELSEWHERE, name=name, session=session)

    assert await leases_on(daemon, tmp_path).holders() == {}


@pytest.mark.parametrize(
    "text",
    [
        *("", "7", "[1]", "{}", '{"pid": 1}', "[[1, 2, 3]]", "\0"),
        pytest.param("[" * 100_000, id="deep"),
    ],
)
async def test_a_damaged_lease_stops_nobody(
    daemon: Daemon, tmp_path: Path, text: str
) -> None:
    daemon.leave(ELSEWHERE)
    (left,) = daemon.found.values()
    left["Labels"] |= {HOLDER: text, HELD: text, CLAIMED: text}

    lease = await leases_on(daemon, tmp_path).new()
    await lease.add([WEB])


@pytest.mark.docker
@pytest.mark.slow
class TestOnDocker:
    """On a real daemon, whose volumes these are."""

    @pytest.fixture
    async def two_homes(self, bench: DockerBench) -> list[DockerLeases]:
        client = DockerClient(bench.api)
        owner = bench.options.owner
        return [
            DockerLeases(client, owner, OwnershipLedger(bench.folder / name))
            for name in ("mine", "theirs")
        ]

    async def test_of_many_sessions_at_once_one_gets_the_pod(
        self, bench: DockerBench, two_homes: list[DockerLeases]
    ) -> None:
        taken = [await leases.new() for leases in two_homes * 3]
        outcomes = await asyncio.gather(
            *(lease.add([WEB]) for lease in taken), return_exceptions=True
        )
        holders = await two_homes[1].holders()
        await asyncio.gather(*(lease.release() for lease in taken))

        assert [outcome for outcome in outcomes if outcome is None] == [None]
        assert all(
            isinstance(outcome, PodInUseError) for outcome in outcomes if outcome
        )
        assert holders["default", "web"] == str(LeaseHolder.this_process())
        label = f"{LEASE}={bench.options.owner}"
        assert bench.sdk.volumes.list(filters={"label": label}) == []

    async def test_a_lease_is_as_old_as_the_daemon_says(
        self, two_homes: list[DockerLeases]
    ) -> None:
        lease = await two_homes[0].new()
        await lease.add([WEB])

        (published,) = await two_homes[1].valid()
        await lease.release()

        assert published.renewed_at is not None
        assert replace(published, holder=ELSEWHERE).is_held(published.renewed_at)
        assert not replace(published, holder=ELSEWHERE).is_held(
            published.renewed_at + VALID
        )
