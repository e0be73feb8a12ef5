"""What a runtime answers that supports none of the optional calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

import pytest

from probetui.errors import ContainerRuntimeError, UnsupportedError
from probetui.k8s.runtime import UNKNOWN_NODE, ContainerID, RuntimePodStatus
from probetui.k8s.volume import EmptyDir, Volume
from probetui.kubelet.effects import MountVolume, UnmountVolume
from probetui.ports import (
    CommandStreams,
    Containers,
    Runtime,
    UnmanagedContainers,
    UnmanagedSource,
    UnownedPod,
)
from tests.builders import START, a_pod
from tests.fakes import FakeClock, FakeEngine, FakeRuntime
from tests.runtimes.fake_unmanaged import FakeUnmanaged

ID = ContainerID("fake://1")
POD = a_pod()
GONE = RuntimePodStatus("uid", "web", "default")
NO_STREAMS = cast("CommandStreams", None)


class BareRuntime(FakeRuntime):
    """A runtime that does what every runtime has to, and nothing else."""

    name = "bare"
    conditions = Runtime.conditions


class BareContainers(FakeUnmanaged):
    """Containers of others that can only be looked at."""

    name = "bare"
    start = UnmanagedContainers.start


DEFAULTS: dict[str, tuple[tuple[Any, ...], object]] = {
    "dial_address": (("10.0.0.1", 80), ("10.0.0.1", 80)),
    "node": ((), UNKNOWN_NODE),
    "on_clock_offset": ((lambda _offset: None,), None),
    "list_volumes": ((), ()),
    "list_leftover_files": ((), ()),
    "remove_leftover_files": ((GONE,), None),
    "sandbox_labels": ((), {}),
    "unowned_pods": ((), ()),
    "kubelet_pods": ((), ()),
    "lease_holders": (({("default", "web")},), {}),
    "undo_leftover_faults": ((), []),
    "image_user": (("a:1",), None),
}
"""The optional calls that have an answer without support, with it."""

STREAMS = {"has_stdin": False, "tty": False}

UNSUPPORTED: dict[str, Callable[[Runtime], Any]] = {
    "listeners": lambda it: it.listeners(ID),
    "watch_execs": lambda it: it.watch_execs(),
    "unmanaged": lambda it: it.unmanaged(),
    "conditions": lambda it: it.conditions(),
    "network_namespace": lambda it: it.network_namespace(ID),
    "exec_streams": lambda it: it.exec_streams(ID, ("ls",), NO_STREAMS, **STREAMS),
    "attach_streams": lambda it: it.attach_streams(ID, NO_STREAMS, **STREAMS),
    "mount_volume": lambda it: it.mount_volume(
        MountVolume(POD, Volume("scratch", EmptyDir()), (), START)
    ),
    "unmount_volume": lambda it: it.unmount_volume(UnmountVolume("uid", "scratch")),
    "take_over": lambda it: it.take_over(UnownedPod(GONE)),
    "lease": lambda it: it.lease(),
    "image_store_id": lambda it: it.image_store_id(),
    "list_images": lambda it: it.list_images(),
    "image_copy": lambda it: it.image_copy("sha256:1"),
    "remove_image": lambda it: it.remove_image("sha256:1"),
    "image_filesystem": lambda it: it.image_filesystem(),
}
"""The optional calls that are refused without support."""


def a_bare_runtime() -> Runtime:
    return BareRuntime(FakeEngine(FakeClock()))


async def answer_of(call: Any) -> object:
    """Return the answer of a call, asynchronous or not."""
    return await call if inspect.isawaitable(call) else call


@pytest.mark.parametrize("name", DEFAULTS)
async def test_a_call_that_has_a_default_returns_it(name: str) -> None:
    arguments, expected = DEFAULTS[name]
    runtime = a_bare_runtime()

    assert await answer_of(getattr(runtime, name)(*arguments)) == expected
    assert not runtime.supports(getattr(Runtime, name))


@pytest.mark.parametrize("name", UNSUPPORTED)
async def test_a_call_without_a_default_names_the_runtime_that_refuses(
    name: str,
) -> None:
    runtime = a_bare_runtime()

    with pytest.raises(UnsupportedError, match=r"^bare [a-z]") as refused:
        await answer_of(UNSUPPORTED[name](runtime))

    # One arm of a caller serves for both, and the command line was wrong.
    assert isinstance(refused.value, ContainerRuntimeError)
    assert refused.value.exit_status == 2
    assert not runtime.supports(getattr(Runtime, name))


def test_every_optional_call_has_an_answer_above() -> None:
    optional = {
        name
        for port in (Containers, UnmanagedSource, Runtime)
        for name, call in vars(port).items()
        if inspect.isfunction(call) and not getattr(call, "__isabstractmethod__", False)
    }

    assert optional == {*DEFAULTS, *UNSUPPORTED, "supports"}


async def test_containers_of_others_refuse_what_they_do_not_support() -> None:
    containers = BareContainers("web")

    with pytest.raises(UnsupportedError, match=r"^bare cannot start docker://web1"):
        await containers.start(ContainerID("docker://web1"))

    assert not containers.supports(Containers.watch_execs)


def test_a_call_that_is_implemented_is_supported() -> None:
    runtime = FakeRuntime(FakeEngine(FakeClock()))

    assert runtime.supports(Runtime.conditions)
