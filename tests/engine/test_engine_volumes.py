"""Mounting and unmounting the volumes of pods."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from probetui.drive.scenario.behavior import CallBehavior, InstanceBehavior
from probetui.drive.scenario.world import World
from probetui.engine.inputs import AddPod, DeletePod, SetObjects
from probetui.k8s.pod import Pod, RestartPolicy, VolumeMount
from probetui.k8s.volume import ConfigMap, ConfigMapFiles, Projected, Volume, VolumeFile
from probetui.kubelet.effects import MountVolume, Operation, Relist, UnmountVolume
from tests.builders import a_container, a_pod
from tests.drive.engine_bench import EngineBench

DATA = Volume("data")
CONFIG = Volume("config", Projected((ConfigMapFiles("config"),)))
POLITE = {"app": (InstanceBehavior(stops_after=timedelta(seconds=1)),)}
UID = "uid-of-web"


def a_pod_with(volume: Volume, **fields: Any) -> Pod:
    mount = VolumeMount(volume.name, "/mnt")
    app = a_container(volume_mounts=(mount,))
    return a_pod(app, volumes=(volume,), **fields)


def world_with_calls(kind: type[Operation], behavior: CallBehavior) -> World:
    def call_behavior(call: Operation | Relist) -> CallBehavior:
        return behavior if isinstance(call, kind) else CallBehavior()

    return World(POLITE, dealing=call_behavior)


def test_containers_start_when_their_volumes_are_there() -> None:
    slow = world_with_calls(MountVolume, CallBehavior(timedelta(seconds=3)))
    bench = EngineBench(a_pod_with(DATA), world=slow)

    bench.run_until(10)

    assert bench.times("Started") == [3.0]
    assert list(bench.world.volumes) == [(UID, "data")]


def test_no_volume_is_left_of_a_pod_that_is_over() -> None:
    bench = EngineBench(a_pod_with(DATA), lives=POLITE)
    bench.run_until(5)

    bench.send(DeletePod(UID))
    bench.run_until(20)

    assert bench.world.volumes == {}
    assert bench.engine.pod_uids() == ()


def test_a_completed_pod_unmounts_its_volumes() -> None:
    once = InstanceBehavior(lasts=timedelta(seconds=2))
    pod = a_pod_with(DATA, restart_policy=RestartPolicy.NEVER)
    bench = EngineBench(pod, world=World({"app": (once,)}))

    bench.run_until(20)

    assert bench.world.volumes == {}


def test_a_pod_whose_volumes_cannot_be_mounted_starts_nothing() -> None:
    bench = EngineBench(a_pod_with(CONFIG))

    bench.run_until(3)

    assert bench.times("FailedMount") == [0.0, 0.5, 1.5]
    assert bench.times("Started") == []


def test_a_pod_starts_on_its_own_once_its_volumes_are_mounted() -> None:
    bench = EngineBench(a_pod_with(CONFIG))
    bench.run_until(1)

    bench.send(SetObjects((ConfigMap("config", data={"a": "1"}),)))
    bench.run_until(5)

    assert bench.times("Started") == [1.5]
    assert bench.world.volumes[UID, "config"].files == (VolumeFile("a", b"1"),)


def test_a_pod_that_waits_for_volumes_can_be_deleted_at_once() -> None:
    bench = EngineBench(a_pod_with(CONFIG))
    bench.run_until(1)

    bench.send(DeletePod(UID))
    bench.run_until(10)

    assert bench.engine.pod_uids() == ()


def test_the_end_of_a_pod_waits_for_its_volumes() -> None:
    slow = world_with_calls(UnmountVolume, CallBehavior(timedelta(seconds=5)))
    bench = EngineBench(a_pod_with(DATA), world=slow)
    bench.run_until(5)

    bench.send(DeletePod(UID))
    bench.run_until(10)
    before = bench.engine.pod_uids()
    bench.run_until(20)

    assert before == (UID,)
    assert bench.engine.pod_uids() == ()


def test_changed_objects_reach_the_files_at_the_next_sync() -> None:
    bench = EngineBench()
    bench.send(SetObjects((ConfigMap("config", data={"a": "1"}),)))
    bench.send(AddPod(a_pod_with(CONFIG)))
    bench.run_until(5)

    bench.send(SetObjects((ConfigMap("config", data={"a": "2"}),)))
    bench.run_until(120)

    assert bench.world.volumes[UID, "config"].files == (VolumeFile("a", b"2"),)
    assert bench.times("Started") == [0.0]
