"""What a session attaches to, and what is said of it (UX-63)."""

from __future__ import annotations

from dataclasses import fields

import click
import pytest

from probetui.cli.attach import command
from probetui.cli.attachment import Attachment, attach, attachable, is_allowed
from probetui.cli.notes import Notes, Weight
from probetui.cli.pods import ManifestOptions
from probetui.cli.session_options import (
    RuntimeOptions,
    ScreenChoices,
    SessionOptions,
)
from probetui.errors import RuntimeUnavailableError, UsageError
from probetui.k8s.environment import ConfigMapEnvSource, EnvFrom
from probetui.k8s.node import NOWHERE
from probetui.k8s.pod import EnvVar, PullPolicy, RestartPolicy, VolumeMount
from probetui.k8s.security import SecurityContext
from probetui.k8s.volume import HostPath, Volume
from probetui.kubelet.container_config import make_container_config
from probetui.kubelet.downward_api import Whereabouts
from probetui.kubelet.objects import Objects, Refusal
from probetui.runtimes.attached.runtime import AttachedRuntime
from tests.builders import a_container, a_pod
from tests.fakes import FakeClock, FakeEngine, FakeRuntime
from tests.runtimes.fake_foreign import FakeForeign, RuntimeOfOthers

SHOP = a_pod(a_container("web", image="nginx:1"), a_container("db"), name="shop")
COMPOSED = {"com.docker.compose.service": "web"}


class Told:
    """Notes that are kept."""

    def __init__(self) -> None:
        self.lines: list[tuple[Weight, str]] = []
        self.notes = Notes(
            quiet=False, tell=lambda weight, text: self.lines.append((weight, text))
        )


@pytest.fixture
def told() -> Told:
    return Told()


async def attached(
    foreign: FakeForeign, told: Told, attachment: Attachment | None = None
) -> AttachedRuntime:
    return await attach(
        RuntimeOfOthers(foreign),
        [SHOP],
        attachment or Attachment(),
        FakeClock(),
        told.notes,
    )


async def test_what_stands_for_what_is_told(told: Told) -> None:
    await attached(FakeForeign("web", "db"), told)

    assert told.lines == [
        (Weight.NOTE, "shop/web is web (web1)"),
        (Weight.NOTE, "shop/db is db (db1)"),
    ]


async def test_what_is_not_found_is_told_with_what_there_is(told: Told) -> None:
    await attached(FakeForeign("web", "data"), told)

    assert told.lines[1:] == [
        (Weight.WARNING, "shop/db: not found; waiting for it"),
        (Weight.NOTE, "there are also: data"),
    ]


async def test_what_does_not_run_is_waited_for(told: Told) -> None:
    foreign = FakeForeign("web", "db")
    (_, db) = await foreign.list()
    await foreign.stop(db.container_id, 0)

    await attached(foreign, told)

    assert told.lines[1][1] == "shop/db is db (db1), which does not run; waiting for it"


async def test_who_does_not_wait_is_told_what_does_not_run(told: Told) -> None:
    with pytest.raises(RuntimeUnavailableError, match="not running: shop/db"):
        await attached(FakeForeign("web"), told, Attachment(waits=False))


async def test_another_image_than_the_manifest_has_is_worth_a_warning(
    told: Told,
) -> None:
    foreign = FakeForeign("db")
    foreign.run("web", image="nginx:2\x1b[2J")

    await attached(foreign, told)

    assert told.lines[1] == (
        Weight.WARNING,
        "shop/web: its image is nginx:2\\x1b[2J, the manifest says nginx:1",
    )


async def test_several_that_may_be_meant_are_an_error(told: Told) -> None:
    foreign = FakeForeign("shop-web-1", "shop-web-2")
    foreign.labels = dict.fromkeys(foreign.containers, COMPOSED)

    with pytest.raises(UsageError, match=r"shop/web may be any of .* web=ID"):
        await attached(foreign, told)


async def test_a_runtime_without_containers_of_others_is_refused(told: Told) -> None:
    with pytest.raises(UsageError, match="no containers to attach to"):
        await attach(
            FakeRuntime(FakeEngine(FakeClock())),
            [SHOP],
            Attachment(),
            FakeClock(),
            told.notes,
        )


async def test_watching_needs_no_permission(told: Told) -> None:
    runtime = await attached(FakeForeign("web", "db"), told)

    assert await is_allowed(runtime, Attachment(asks=True), told.notes)


@pytest.mark.parametrize("answer", [True, False], ids=["yes", "no"])
async def test_a_person_is_asked_before_anything_may_be_killed(
    told: Told, monkeypatch: pytest.MonkeyPatch, *, answer: bool
) -> None:
    asked: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        asked.append(text)
        return answer

    monkeypatch.setattr(click, "confirm", confirm)
    acting = Attachment(acts=True, asks=True)
    runtime = await attached(FakeForeign("web"), told, acting)

    allowed = await is_allowed(runtime, acting, told.notes)

    (question,) = asked
    assert allowed is answer
    assert question == (
        "As its probes demand, this will be stopped and started again: web (web1), "
        "whatever becomes shop/db. By hand it may also be frozen and cut off the "
        "network, while the session lasts. Go on?"
    )


async def test_nobody_is_asked_where_there_is_no_screen(told: Told) -> None:
    acting = Attachment(acts=True)
    runtime = await attached(FakeForeign("web", "db", can_start=False), told, acting)

    assert await is_allowed(runtime, acting, told.notes)
    assert told.lines[-1] == (
        Weight.WARNING,
        "--act: as its probes demand, this will be stopped: web (web1), db (db1)",
    )


async def test_who_walks_away_from_the_question_has_interrupted(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    def walk_away(text: str, **_: object) -> bool:
        raise click.Abort

    monkeypatch.setattr(click, "confirm", walk_away)
    acting = Attachment(acts=True, asks=True)
    runtime = await attached(FakeForeign("web", "db"), told, acting)

    with pytest.raises(KeyboardInterrupt):
        await is_allowed(runtime, acting, told.notes)


def test_every_option_of_attach_means_something_to_somebody() -> None:
    known = {
        field.name
        for kind in (ManifestOptions, RuntimeOptions, SessionOptions, ScreenChoices)
        for field in fields(kind)
    }

    names = {str(each.name) for each in command.params}

    assert names - known == {"words", "no_wait", "config"}
    assert not names & {"keep", "pull", "watch", "image_gc"}


def test_what_matters_only_for_creating_is_left_out() -> None:
    container = a_container(
        "web",
        image_pull_policy=PullPolicy.ALWAYS,
        env=(EnvVar("A", "1"), EnvVar("B", has_value_from=True)),
        env_from=(EnvFrom(ConfigMapEnvSource("none")),),
        volume_mounts=(VolumeMount("data", "/data"),),
        security_context=SecurityContext(run_as_non_root=True),
    )
    sidecar = a_container("log", restart_policy=RestartPolicy.ALWAYS)
    pod = a_pod(
        container,
        init_containers=(a_container("first"), sidecar),
        volumes=(Volume("data", HostPath("/none")),),
    )

    made = attachable(pod)

    assert [each.name for each in made.all_containers()] == ["log", "web"]
    assert made.volumes == ()
    config = make_container_config(
        made, made.containers[0], Objects(), Whereabouts(NOWHERE)
    )
    assert not isinstance(config, Refusal)
    assert [each.value for each in config.env] == ["1", ""]
    assert made.containers[0].image_pull_policy is PullPolicy.IF_NOT_PRESENT
