"""The containers that a session attaches to, and its notes about them."""

from __future__ import annotations

import click
import pytest

from probetui.cli.commands.sessions import ClusterPodChoices
from probetui.cli.commands.sessions import attach as attach_command
from probetui.cli.option_values import (
    RuntimeOptions,
    ScreenChoices,
    SessionOptions,
)
from probetui.cli.pods import ManifestOptions
from probetui.cli.printing import NoteLevel, Notes
from probetui.cli.session.attachment import (
    AttachOptions,
    attach,
    confirm_actions,
    without_creation_fields,
)
from probetui.errors import RuntimeUnavailableError, UnsupportedError, UsageError
from probetui.k8s.environment import ConfigMapEnvSource, EnvFrom
from probetui.k8s.pod import (
    EnvVar,
    PullPolicy,
    RestartPolicy,
    SecurityContext,
    VolumeMount,
)
from probetui.k8s.runtime import UNKNOWN_NODE
from probetui.k8s.volume import HostPath, Volume
from probetui.kubelet.kuberuntime.container_config import make_container_config
from probetui.kubelet.kuberuntime.downward_api import PodLocation
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore
from probetui.runtimes.attached.runtime import AttachedRuntime
from tests.builders import a_container, a_pod
from tests.fakes import FakeClock, FakeEngine, FakeRuntime
from tests.runtimes.fake_unmanaged import FakeUnmanaged, RuntimeOfOthers

SHOP = a_pod(a_container("web", image="nginx:1"), a_container("db"), name="shop")
COMPOSED = {"com.docker.compose.service": "web"}


class CollectedNotes:
    """Collects notes."""

    def __init__(self) -> None:
        self.lines: list[tuple[NoteLevel, str]] = []
        self.notes = Notes(
            quiet=False, show=lambda weight, text: self.lines.append((weight, text))
        )


@pytest.fixture
def collected() -> CollectedNotes:
    return CollectedNotes()


async def attached(
    unmanaged: FakeUnmanaged,
    collected: CollectedNotes,
    attachment: AttachOptions | None = None,
) -> AttachedRuntime:
    return await attach(
        RuntimeOfOthers(unmanaged),
        [SHOP],
        attachment or AttachOptions(),
        FakeClock(),
        collected.notes,
    )


async def test_the_matched_containers_are_reported(collected: CollectedNotes) -> None:
    await attached(FakeUnmanaged("web", "db"), collected)

    assert collected.lines == [
        (NoteLevel.NOTE, "shop/web is web (web1)"),
        (NoteLevel.NOTE, "shop/db is db (db1)"),
    ]


async def test_a_container_with_the_name_of_the_pods_is_named_once(
    collected: CollectedNotes,
) -> None:
    found = AttachOptions(words=("web=shop/web", "db=db"))

    await attached(FakeUnmanaged("shop/web", "db"), collected, found)

    assert collected.lines[0] == (NoteLevel.NOTE, "shop/web is container (shop/web1)")


async def test_a_missing_container_is_reported_with_the_existing_ones(
    collected: CollectedNotes,
) -> None:
    await attached(FakeUnmanaged("web", "data"), collected)

    assert collected.lines[1:] == [
        (NoteLevel.WARNING, "shop/db: not found; waiting for it"),
        (NoteLevel.NOTE, "other containers: data"),
    ]


async def test_a_container_that_does_not_run_is_waited_for(
    collected: CollectedNotes,
) -> None:
    unmanaged = FakeUnmanaged("web", "db")
    (_, db) = await unmanaged.list()
    await unmanaged.stop(db.container_id, 0)

    await attached(unmanaged, collected)

    assert (
        collected.lines[1][1]
        == "shop/db is db (db1), which is not running; waiting for it"
    )


async def test_a_container_that_does_not_run_is_an_error_without_waiting(
    collected: CollectedNotes,
) -> None:
    with pytest.raises(RuntimeUnavailableError, match="not running: shop/db"):
        await attached(FakeUnmanaged("web"), collected, AttachOptions(waits=False))


async def test_another_image_than_in_the_manifest_is_a_warning(
    collected: CollectedNotes,
) -> None:
    unmanaged = FakeUnmanaged("db")
    unmanaged.run("web", image="nginx:2\x1b[2J")

    await attached(unmanaged, collected)

    assert collected.lines[1] == (
        NoteLevel.WARNING,
        "shop/web: its image is nginx:2\\x1b[2J, the manifest says nginx:1",
    )


async def test_an_ambiguous_container_is_an_error(collected: CollectedNotes) -> None:
    unmanaged = FakeUnmanaged("shop-web-1", "shop-web-2")
    unmanaged.labels = dict.fromkeys(unmanaged.containers, COMPOSED)

    with pytest.raises(UsageError, match=r"shop/web matches .* web=ID"):
        await attached(unmanaged, collected)


async def test_a_runtime_without_unmanaged_containers_is_refused(
    collected: CollectedNotes,
) -> None:
    with pytest.raises(UnsupportedError, match="no containers to attach to"):
        await attach(
            FakeRuntime(FakeEngine(FakeClock())),
            [SHOP],
            AttachOptions(),
            FakeClock(),
            collected.notes,
        )


async def test_watching_needs_no_permission(collected: CollectedNotes) -> None:
    runtime = await attached(FakeUnmanaged("web", "db"), collected)

    assert await confirm_actions(runtime, AttachOptions(asks=True), collected.notes)


@pytest.mark.parametrize("answer", [True, False], ids=["yes", "no"])
async def test_a_user_has_to_confirm_before_anything_can_be_killed(
    collected: CollectedNotes, monkeypatch: pytest.MonkeyPatch, *, answer: bool
) -> None:
    asked: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        asked.append(text)
        return answer

    monkeypatch.setattr(click, "confirm", confirm)
    acting = AttachOptions(acts=True, asks=True)
    runtime = await attached(FakeUnmanaged("web"), collected, acting)

    allowed = await confirm_actions(runtime, acting, collected.notes)

    (question,) = asked
    assert allowed is answer
    assert question == (
        "Probes may stop and restart web (web1), any container that matches shop/db. "
        "Keys can also freeze them or cut their network. Continue?"
    )


async def test_no_confirmation_is_requested_without_a_screen(
    collected: CollectedNotes,
) -> None:
    acting = AttachOptions(acts=True)
    runtime = await attached(
        FakeUnmanaged("web", "db", can_start=False), collected, acting
    )

    assert await confirm_actions(runtime, acting, collected.notes)
    assert collected.lines[-1] == (
        NoteLevel.WARNING,
        "--act: probes may stop web (web1), db (db1)",
    )


async def test_aborting_the_confirmation_interrupts_the_session(
    collected: CollectedNotes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def abort(text: str, **_: object) -> bool:
        raise click.Abort

    monkeypatch.setattr(click, "confirm", abort)
    acting = AttachOptions(acts=True, asks=True)
    runtime = await attached(FakeUnmanaged("web", "db"), collected, acting)

    with pytest.raises(KeyboardInterrupt):
        await confirm_actions(runtime, acting, collected.notes)


def test_every_option_of_attach_is_used() -> None:
    known = {
        name
        for kind in (
            ManifestOptions,
            RuntimeOptions,
            SessionOptions,
            ScreenChoices,
            ClusterPodChoices,
        )
        for name in kind.field_names()
    }

    names = {str(parameter.name) for parameter in attach_command.params}

    assert names - known == {"words", "no_wait"}
    assert not names & {"keep", "pull", "watch", "image_gc"}


def test_options_for_creating_containers_are_left_out() -> None:
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

    made = without_creation_fields(pod)

    assert [all_container.name for all_container in made.all_containers()] == [
        "log",
        "web",
    ]
    assert made.volumes == ()
    config = make_container_config(
        made, made.containers[0], ObjectStore(), PodLocation(UNKNOWN_NODE)
    )
    assert not isinstance(config, ConfigRefusal)
    assert [var.value for var in config.env] == ["1", ""]
    assert made.containers[0].image_pull_policy is PullPolicy.IF_NOT_PRESENT
