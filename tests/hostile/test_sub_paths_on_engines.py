"""A container leaves a link where the next one mounts a subPath, on real engines.

The link leads to a directory that represents the machine's root: every test checks
that the container does not get it, and that nothing in it was changed.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.errors import ContainerConfigError, ContainerRuntimeError
from probetui.k8s.pod import Pod, VolumeMount
from probetui.k8s.runtime import ContainerID
from probetui.k8s.volume import EmptyDir, HostPath, Projected, Volume, VolumeFile
from probetui.kubelet.effects import CreateContainer, UnmountVolume
from probetui.runtimes.docker.translate import to_docker_id
from probetui.runtimes.sub_paths import sub_paths_folder
from tests.hostile.arena import facts_of
from tests.requirements import skip_unless_ci
from tests.runtimes.bench import SLOW, Bench
from tests.runtimes.cri.bench import CriBench, bench_alone
from tests.runtimes.docker.bench import DockerBench
from tests.runtimes.own_daemon import OwnDaemon, why_not
from tests.runtimes.volume_contract import a_pod_with, inspect, mount, run

pytestmark = pytest.mark.slow

WHOLE = VolumeMount("data", "/s")
REFUSED = "^failed to (prepare subPath|create subPath directory) for volumeMount"
STARTS = 8

BOUND = pytest.param("docker, bound", id="docker, bound", marks=pytest.mark.docker)
GUARDED = pytest.param(
    "docker, guarded", id="docker, guarded", marks=pytest.mark.docker
)
CONTAINERD = pytest.param("containerd", id="containerd", marks=pytest.mark.cri)
ENGINES = [BOUND, GUARDED, CONTAINERD]


@pytest.fixture(params=ENGINES)
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    """Return every engine; Docker also as an unprivileged user."""
    if request.param == "containerd":
        async with bench_alone() as on_containerd:
            yield on_containerd
        return
    options: dict[str, Any] = {}
    if request.param == "docker, guarded":
        options["mounts_sub_paths"] = False
    made = DockerBench(**options)
    yield made
    await made.close()


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """Return a directory that represents the machine's root."""
    folder = tmp_path / "canary"
    (folder / "etc").mkdir(parents=True)
    (folder / "etc/secret").write_text("of the host\n")
    (folder / "etc").chmod(0o777)
    folder.chmod(0o777)
    return folder


def part(sub_path: str, name: str = "data") -> VolumeMount:
    return VolumeMount(name, "/part", sub_path=sub_path)


async def a_pod_after(
    bench: Bench, script: str, *volumes: Volume, mounts: tuple[VolumeMount, ...] = ()
) -> tuple[Pod, str]:
    """Return a pod in which a container has run a script, and its sandbox."""
    pod = a_pod_with(*(volumes or (Volume("data"),)))
    await mount(bench, pod)
    sandbox_id = await bench.sandbox(pod)
    first = await run(
        bench,
        pod,
        *(mounts or (WHOLE,)),
        sandbox_id=sandbox_id,
        name="first",
        script=script,
    )
    status = await bench.ended(first)
    assert status.exit_code == 0, script
    return pod, sandbox_id


async def start(
    bench: Bench, pod: Pod, sandbox_id: str, sub_path: str, **fields: Any
) -> ContainerID:
    return await run(bench, pod, part(sub_path), sandbox_id=sandbox_id, **fields)


def is_guarded(bench: Bench) -> bool:
    """Return whether the engine resolves subPaths, guarded by probetui."""
    return isinstance(bench, DockerBench) and not bench.options.mounts_sub_paths


def mounts_of(bench: Bench) -> list[str]:
    """Return the mounts on this machine for the subPaths of a bench."""
    assert isinstance(bench, CriBench | DockerBench)
    lines = Path("/proc/self/mountinfo").read_text("utf-8").splitlines()
    return [
        line for line in lines if str(sub_paths_folder(bench.options.folder)) in line
    ]


LINKS = [
    pytest.param("ln -s CANARY /s/sub", "sub", id="absolute"),
    pytest.param(f"ln -s {'../' * 30}CANARY /s/sub", "sub", id="relative"),
    pytest.param("ln -s CANARY /s/a", "a/etc", id="in the middle"),
    pytest.param("ln -s CANARY /s/a", "a/made", id="above what is missing"),
    pytest.param("ln -s CANARY/made /s/sub", "sub", id="to what is missing"),
    pytest.param("ln -s CANARY/etc/secret /s/sub", "sub", id="to a file"),
    pytest.param("ln -s .. /s/sub", "sub", id="above the volume"),
    pytest.param(
        "cd /s; ln -s one sub; ln -s two one; ln -s CANARY two", "sub", id="a chain"
    ),
]


@pytest.mark.parametrize(("script", "sub_path"), LINKS)
async def test_a_link_under_a_sub_path_exposes_nothing_of_the_host(
    bench: Bench, canary: Path, script: str, sub_path: str
) -> None:
    before = facts_of(canary)
    pod, sandbox_id = await a_pod_after(bench, script.replace("CANARY", str(canary)))

    with pytest.raises(ContainerConfigError, match=REFUSED):
        await start(bench, pod, sandbox_id, sub_path)

    assert facts_of(canary) == before


async def test_a_restart_checks_again(bench: Bench, canary: Path) -> None:
    before = facts_of(canary)
    pod, sandbox_id = await a_pod_after(bench, "mkdir /s/sub; echo 1 > /s/sub/file")
    first = await start(bench, pod, sandbox_id, "sub")
    assert await inspect(bench, first, "cat /part/file") == "1\n"
    attacker = await run(
        bench,
        pod,
        WHOLE,
        sandbox_id=sandbox_id,
        name="attacker",
        script=f"mv /s/sub /s/was; ln -s {canary} /s/sub",
    )
    await bench.ended(attacker)

    with pytest.raises(ContainerConfigError, match=REFUSED):
        await start(bench, pod, sandbox_id, "sub", attempt=1)

    assert await inspect(bench, first, "cat /part/file") == "1\n"
    assert facts_of(canary) == before


async def test_a_link_that_appears_and_disappears_exposes_nothing_of_the_host(
    bench: Bench, canary: Path
) -> None:
    before = facts_of(canary)
    script = "mkdir -p /s/v1/etc; ln -s v1 /s/sub"
    pod, sandbox_id = await a_pod_after(bench, script)
    swap = "ln -s {} new; mv -fT new sub"
    both = f"{swap.format('v1')}; {swap.format(canary)}"
    swapping = f"cd /s; while :; do {both}; done"
    await run(bench, pod, WHOLE, sandbox_id=sandbox_id, name="swapper", script=swapping)
    found = []

    for attempt in range(STARTS):
        try:
            container_id = await start(
                bench, pod, sandbox_id, "sub/etc", name="victim", attempt=attempt
            )
        except ContainerRuntimeError as refusal:
            found.append(str(refusal))
            continue
        found.append(await inspect(bench, container_id, "ls /part; touch /part/mine"))

    assert not [text for text in found if "secret" in text]
    assert len(found) == STARTS
    assert facts_of(canary) == before


async def test_the_checked_directory_is_the_mounted_one(
    bench: Bench, canary: Path
) -> None:
    """A link replaces it between the creation of a container and its start."""
    before = facts_of(canary)
    pod, sandbox_id = await a_pod_after(bench, "mkdir /s/sub; echo mine > /s/sub/file")
    container = bench.container(SLOW, "victim", volume_mounts=(part("sub"),))
    pod = replace(pod, containers=(container,))
    image_id = await bench.runtime.image_status(bench.image) or ""
    created = await bench.runtime.create_container(
        CreateContainer(pod, container, sandbox_id, 0, image_id)
    )
    attacker = await run(
        bench,
        pod,
        WHOLE,
        sandbox_id=sandbox_id,
        name="attacker",
        script=f"mv /s/sub /s/was; ln -s {canary} /s/sub",
    )
    await bench.ended(attacker)

    try:
        await bench.runtime.start_container(created)
    except ContainerConfigError:
        assert is_guarded(bench)
    else:
        assert await inspect(bench, created, "cat /part/file") == "mine\n"

    assert facts_of(canary) == before


async def test_other_containers_continue_after_a_start(bench: Bench) -> None:
    pod, sandbox_id = await a_pod_after(bench, "mkdir /s/sub")
    writer = await run(bench, pod, WHOLE, sandbox_id=sandbox_id, name="writer")

    await start(bench, pod, sandbox_id, "sub", name="reader")

    assert await inspect(bench, writer, "touch /s/sub/file; ls /s/sub") == "file\n"


@pytest.mark.docker
async def test_writers_of_a_volume_are_paused_while_the_engine_resolves() -> None:
    bench = DockerBench(mounts_sub_paths=False)
    try:
        pod, sandbox_id = await a_pod_after(bench, "mkdir /s/sub")
        reading = replace(WHOLE, read_only=True)
        writer = await run(bench, pod, WHOLE, sandbox_id=sandbox_id, name="writer")
        reader = await run(bench, pod, reading, sandbox_id=sandbox_id, name="reader")
        since = bench.clock.now()

        await start(bench, pod, sandbox_id, "sub", name="third")

        assert paused(bench, writer, since) == ["pause", "unpause"]
        assert paused(bench, reader, since) == []
    finally:
        await bench.close()


@pytest.mark.docker
async def test_a_volume_with_unmanaged_writers_has_no_guarded_sub_paths() -> None:
    bench = DockerBench(mounts_sub_paths=False)
    try:
        pod, sandbox_id = await a_pod_after(bench, "mkdir /s/sub")
        # The other one is the sandbox's own, without a name.
        (volume,) = [named for named in bench.volumes() if len(named.name) != 64]
        stranger = bench.run_unmanaged(volumes={volume.name: {"bind": "/s"}})

        with pytest.raises(ContainerConfigError, match=REFUSED):
            await start(bench, pod, sandbox_id, "sub")

        stranger.reload()
        assert stranger.status == "running"
    finally:
        await bench.close()


def paused(bench: DockerBench, container_id: ContainerID, since: datetime) -> list[str]:
    """Return the pause and unpause events of a container."""
    events = bench.sdk.api.events(
        since=int(since.timestamp()),
        until=int(bench.clock.now().timestamp()) + 1,
        filters={
            "container": to_docker_id(container_id),
            "event": ["pause", "unpause"],
        },
        decode=True,
    )
    return [event["Action"] for event in events]


async def test_a_path_of_the_host_has_no_links_out_of_it_either(
    bench: Bench, canary: Path, tmp_path: Path
) -> None:
    before = facts_of(canary)
    folder = tmp_path / "of the host"
    folder.mkdir()
    (folder / "sub").symlink_to(canary)
    pod = a_pod_with(Volume("data", HostPath(str(folder))))
    await mount(bench, pod)
    sandbox_id = await bench.sandbox(pod)

    for sub_path in ("sub", "sub/etc", "sub/made"):
        with pytest.raises(ContainerConfigError, match=REFUSED):
            await start(bench, pod, sandbox_id, sub_path)

    assert facts_of(canary) == before
    assert [path.name for path in folder.iterdir()] == ["sub"]


@pytest.mark.parametrize(
    ("script", "sub_path", "expected"),
    [
        pytest.param(
            "mkdir /s/v1; ln -s v1 /s/now; echo x > /s/v1/f", "now", "f\n", id="a link"
        ),
        pytest.param(
            "mkdir -p /s/a/b; ln -s ../v1 /s/a/c; mkdir /s/v1; touch /s/v1/f",
            "a/c",
            "f\n",
            id="one that climbs",
        ),
        pytest.param("echo x > /s/f", "f", "/part\n", id="a file"),
        pytest.param("mkdir /s/a:b; touch /s/a:b/f", "a:b", "f\n", id="with a colon"),
        pytest.param("true", "a/b", "", id="made"),
    ],
)
async def test_a_sub_path_within_the_volume_is_mounted(
    bench: Bench, script: str, sub_path: str, expected: str
) -> None:
    pod, sandbox_id = await a_pod_after(bench, script)

    found = await start(bench, pod, sandbox_id, sub_path)

    assert await inspect(bench, found, "ls /part") == expected


async def test_a_volume_in_memory_has_sub_paths_too(bench: Bench, canary: Path) -> None:
    before = facts_of(canary)
    script = f"mkdir /s/sub; touch /s/sub/f; ln -s {canary} /s/link"
    volume = Volume("data", EmptyDir("Memory"))
    pod, sandbox_id = await a_pod_after(bench, script, volume)

    found = await start(bench, pod, sandbox_id, "sub")
    with pytest.raises(ContainerConfigError, match=REFUSED):
        await start(bench, pod, sandbox_id, "link", name="victim")

    assert await inspect(bench, found, "ls /part") == "f\n"
    assert facts_of(canary) == before


async def test_a_file_of_a_config_map_is_mounted_as_a_file(bench: Bench) -> None:
    pod = a_pod_with(Volume("data", Projected()))
    await mount(bench, pod, VolumeFile("app.conf", b"key: value\n"))
    sandbox_id = await bench.sandbox(pod)

    found = await start(bench, pod, sandbox_id, "app.conf")

    assert await inspect(bench, found, "cat /part") == "key: value\n"


async def test_nothing_stays_mounted_after_a_pod_is_removed(bench: Bench) -> None:
    pod, sandbox_id = await a_pod_after(bench, "mkdir /s/sub")
    found = await start(bench, pod, sandbox_id, "sub")
    assert len(mounts_of(bench)) == (0 if is_guarded(bench) else 1)
    await bench.runtime.stop_container(found, 0)
    # Like the next session, which knows only the leftovers.
    last = bench.another()
    (left,) = await last.list_volumes()

    await bench.runtime.remove_container(found)
    await bench.runtime.remove_pod_sandbox(sandbox_id)
    for name in left.volumes:
        await last.unmount_volume(UnmountVolume(left.pod_uid, name))

    assert await last.list_volumes() == ()
    assert mounts_of(bench) == []
    await last.close()


@pytest.mark.docker
async def test_a_daemon_without_access_to_our_mounts_mounts_no_empty_folder(
    canary: Path,
) -> None:
    before = facts_of(canary)
    if reason := why_not():
        skip_unless_ci(reason)
    daemon = OwnDaemon(
        Path(tempfile.mkdtemp(prefix="dockerd-")),  # a short name
        "--mount",
        "--propagation=private",
    )
    try:
        daemon.start()
        daemon.load("busybox:1.36")
        bench = DockerBench(daemon.url, sandbox_image="busybox:1.36")
        script = f"mkdir /s/sub; touch /s/sub/f; ln -s {canary} /s/link"
        pod, sandbox_id = await a_pod_after(bench, script)

        found = await start(bench, pod, sandbox_id, "sub")
        with pytest.raises(ContainerConfigError, match=REFUSED):
            await start(bench, pod, sandbox_id, "link", name="victim")

        assert await inspect(bench, found, "ls /part") == "f\n"
        assert mounts_of(bench) == []
        assert facts_of(canary) == before
        await bench.close()
    finally:
        daemon.clean_up()
