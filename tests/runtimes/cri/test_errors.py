"""A CRI runtime that goes away, hangs, refuses, or has much that is not ours."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import grpc
import pytest

from probetui.drive.clocks import SystemClock
from probetui.errors import (
    ContainerRuntimeError,
    ExecTimeoutError,
    ImageNotFoundError,
    RuntimeUnavailableError,
)
from probetui.k8s.runtime import ContainerID, RuntimeState, StoredImage
from probetui.kubelet.effects import PullImage, RegistryCredentials, RunPodSandbox
from probetui.kubelet_rules import rules_of
from probetui.ports import ExecResult
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import GET_CONTAINER_EVENTS, VERSION, CriClient
from probetui.runtimes.cri.connection import connect
from probetui.runtimes.cri.runtime import CriOptions, CriRuntime, CriVersion
from probetui.runtimes.ownership_ledger import OwnershipLedger
from probetui.runtimes.translation import OWNER
from tests.builders import a_pod
from tests.runtimes.cri.server import IMAGE, IMAGE_ID, CriServer

ME = {OWNER: "me"}
SOON = timedelta(milliseconds=200)


def a_client_of(server: CriServer, folder: Path, **options: timedelta) -> CriRuntime:
    return CriRuntime(
        CriClient(server.socket),
        CriVersion("fake", "0"),
        SystemClock(),
        CriOptions(folder, owner="me", **options),
    )


@pytest.fixture
async def runtime(server: CriServer, tmp_path: Path) -> AsyncIterator[CriRuntime]:
    server.ownership = OwnershipLedger(tmp_path / "owned")
    made = a_client_of(server, tmp_path, exec_patience=SOON)
    yield made
    await made.close()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again, for as long as a busy machine may need."""
    async with asyncio.timeout(20):
        while not await holds():  # noqa: ASYNC110  # a server decides when it is so
            await asyncio.sleep(0.01)


def container_id(cri_id: str) -> ContainerID:
    return ContainerID(f"fake://{cri_id}")


class TestLoss:
    """The runtime, or its socket, is gone."""

    async def test_all_calls_fail_during_an_outage_and_work_again_afterwards(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        app = container_id(server.add_container(ME))
        before = await runtime.relist()

        await server.stop()

        for call in (
            runtime.relist(),
            runtime.version(),
            runtime.exec_sync(app, ("true",), 1),
            runtime.stop_container(app, 1),
            runtime.image_status(IMAGE),
        ):
            with pytest.raises(ContainerRuntimeError) as caught:
                await call
            assert caught.value.unreachable, call

        await server.start()

        async def is_back() -> bool:
            with contextlib.suppress(ContainerRuntimeError):
                return await runtime.relist() == before
            return False

        await until(is_back)

    async def test_a_runtime_that_is_too_busy_to_greet_at_once_is_waited_for(
        self, server: CriServer
    ) -> None:
        async def pass_on(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            with contextlib.suppress(OSError):  # either end may go first
                while data := await reader.read(1 << 16):
                    writer.write(data)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

        greeted: list[asyncio.Task[None]] = []

        async def greet_late(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            if (task := asyncio.current_task()) is not None:
                greeted.append(task)
            await asyncio.sleep(SOON.total_seconds())
            behind = await asyncio.open_unix_connection(server.socket)
            await asyncio.gather(pass_on(reader, behind[1]), pass_on(behind[0], writer))

        path = f"{server.socket}.busy"
        async with await asyncio.start_unix_server(greet_late, path):
            client = CriClient(path)
            answer = await client.call(VERSION, cri.VersionRequest())
            await client.close()
            await asyncio.gather(*greeted)

        assert answer.runtime_name

    async def test_waiting_calls_fail_when_the_runtime_is_lost(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        app = container_id(server.add_container(ME))
        server.hanging = {"ExecSync": asyncio.Event(), "StopContainer": asyncio.Event()}

        async def watch() -> None:
            async for _ in runtime.watch():
                pass

        calls = (
            runtime.exec_sync(app, ("sleep", "60"), 60),
            runtime.stop_container(app, 300),
            watch(),
        )
        waiting = [asyncio.ensure_future(call) for call in calls]

        async def all_are_under_way() -> bool:
            names = ("ExecSync", "StopContainer", "GetContainerEvents")
            return all(server.call_counts[name] for name in names)

        await until(all_are_under_way)

        await server.stop()

        done, _ = await asyncio.wait(waiting, timeout=10)
        assert done == set(waiting)
        errors = [task.exception() for task in waiting]
        assert all(
            isinstance(error, ContainerRuntimeError) and error.unreachable
            for error in errors
        )

    async def test_without_the_socket_existing_connections_work_and_new_ones_fail(
        self, server: CriServer, runtime: CriRuntime, tmp_path: Path
    ) -> None:
        server.add_container(ME)
        await runtime.relist()

        Path(server.socket).unlink()  # noqa: ASYNC240  # at once

        assert len(await runtime.relist()) == 1
        with pytest.raises(RuntimeUnavailableError, match="no such socket"):
            await connect(
                SystemClock(),
                CriOptions(tmp_path),
                endpoint=f"unix://{server.socket}",
                environ={},
            )

    async def test_a_closed_client_refuses(
        self, server: CriServer, tmp_path: Path
    ) -> None:
        runtime = a_client_of(server, tmp_path)
        await runtime.close()

        with pytest.raises(ContainerRuntimeError, match="closed"):
            await runtime.relist()

    async def test_a_runtime_that_does_not_answer_is_unreachable(
        self, server: CriServer
    ) -> None:
        server.hanging["Version"] = asyncio.Event()
        client = CriClient(server.socket)

        with pytest.raises(ContainerRuntimeError, match="did not answer") as caught:
            await client.call(VERSION, cri.VersionRequest(), limit=SOON)

        assert caught.value.unreachable
        await client.close()


class TestExecs:
    """Commands in containers."""

    async def test_a_command_that_timed_out_was_killed_if_the_runtime_reports_it(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        app = container_id(server.add_container(ME))
        server.refusing["ExecSync"] = grpc.StatusCode.DEADLINE_EXCEEDED

        with pytest.raises(ExecTimeoutError) as caught:
            await runtime.exec_sync(app, ("sleep", "60"), 1)

        assert caught.value.killed
        assert str(caught.value) == 'command "sleep 60" timed out'

    async def test_one_that_hangs_in_the_runtime_is_left_after_a_while(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        app = container_id(server.add_container(ME))
        server.hanging["ExecSync"] = asyncio.Event()
        started_at = asyncio.get_running_loop().time()

        with pytest.raises(ExecTimeoutError) as caught:
            await runtime.exec_sync(app, ("sleep", "60"), 1)

        took = asyncio.get_running_loop().time() - started_at
        assert not caught.value.killed
        assert took >= 1 + SOON.total_seconds()

    async def test_others_go_on_while_one_hangs(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        app = container_id(server.add_container(ME))
        server.hanging["ExecSync"] = asyncio.Event()
        hanging = asyncio.ensure_future(runtime.exec_sync(app, ("sleep", "60"), 0))

        assert len(await runtime.relist()) == 1
        assert not hanging.done()

        server.hanging["ExecSync"].set()
        assert await hanging == ExecResult(0, b"out", b"err")

    async def test_a_cancelled_command_is_cancelled_in_the_runtime(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        app = container_id(server.add_container(ME))
        server.hanging["ExecSync"] = asyncio.Event()
        call = asyncio.ensure_future(runtime.exec_sync(app, ("sleep", "60"), 0))

        async def is_under_way() -> bool:
            return server.call_counts["ExecSync"] == 1

        async def is_cancelled() -> bool:
            return server.cancelled_counts["ExecSync"] == 1

        await until(is_under_way)
        call.cancel()

        await until(is_cancelled)
        with pytest.raises(asyncio.CancelledError):
            await call

    async def test_one_that_is_refused_is_an_error(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        app = container_id(server.add_container(ME))
        server.refusing["ExecSync"] = grpc.StatusCode.UNKNOWN

        with pytest.raises(ContainerRuntimeError) as caught:
            await runtime.exec_sync(app, ("no-such-command",), 1)

        text = "rpc error: code = Unknown desc = ExecSync is refused"
        assert (str(caught.value), caught.value.unreachable) == (text, False)

    async def test_bytes_that_are_no_text_cannot_be_a_command(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        app = container_id(server.add_container(ME))

        with pytest.raises(ContainerRuntimeError, match="not UTF-8"):
            await runtime.exec_sync(app, ("\udcff",), 1)

    async def test_of_long_output_the_beginning_is_kept(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        app = container_id(server.add_container(ME))
        server.exec_answer = cri.ExecSyncResponse(stdout=b"x" * 10_000_000, exit_code=3)

        result = await runtime.exec_sync(app, ("yes",), 1)

        assert result == ExecResult(3, b"x" * 65536, b"")


class TestImages:
    """Images that come slowly, or not at all."""

    async def test_a_slow_pull_holds_up_nothing_else(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        server.hanging["PullImage"] = asyncio.Event()
        operation = PullImage(a_pod(), "big:1")
        pull = asyncio.ensure_future(runtime.pull_image(operation, lambda _text: None))
        server.add_container(ME)

        assert len(await runtime.relist()) == 1
        assert await runtime.image_status("big:1") is None
        server.hanging["PullImage"].set()
        pulled = await pull

        assert pulled.size_bytes == 7
        assert await runtime.image_status("big:1") == pulled.image_id

    async def test_credentials_of_a_pull_secret_go_with_the_pull(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        credentials = RegistryCredentials("me", "secret")
        operation = PullImage(a_pod(), "private:1", credentials=credentials)
        await runtime.pull_image(operation, lambda _text: None)
        (asked,) = server.pulls
        assert asked.auth == cri.AuthConfig(username="me", password="secret")

    async def test_a_cancelled_pull_is_cancelled_in_the_runtime(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        server.hanging["PullImage"] = asyncio.Event()
        operation = PullImage(a_pod(), "big:1")
        pull = asyncio.ensure_future(runtime.pull_image(operation, lambda _text: None))

        async def is_under_way() -> bool:
            return server.call_counts["PullImage"] == 1

        async def is_cancelled() -> bool:
            return server.cancelled_counts["PullImage"] == 1

        await until(is_under_way)
        pull.cancel()

        await until(is_cancelled)

    async def test_an_image_unknown_to_the_registry_is_not_found(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        server.refusing["PullImage"] = grpc.StatusCode.NOT_FOUND

        with pytest.raises(ImageNotFoundError) as caught:
            await runtime.pull_image(PullImage(a_pod(), "none:1"), lambda _text: None)

        text = "rpc error: code = NotFound desc = PullImage is refused"
        assert str(caught.value) == text

    @pytest.mark.parametrize(
        ("version", "text"),
        [
            pytest.param(
                *("1.20", "rpc error: code = Unknown desc = PullImage is refused"),
                id="before 1.28",
            ),
            pytest.param("1.28", "PullImage is refused", id="since 1.28"),
        ],
    )
    async def test_the_code_unknown_says_nothing_of_a_pull(
        self, server: CriServer, runtime: CriRuntime, version: str, text: str
    ) -> None:
        server.refusing["PullImage"] = grpc.StatusCode.UNKNOWN
        operation = PullImage(a_pod(), "none:1", rules_of(version))

        with pytest.raises(ContainerRuntimeError) as caught:
            await runtime.pull_image(operation, lambda _text: None)

        assert str(caught.value) == text

    async def test_a_sandbox_that_is_refused_is_an_error_with_its_code(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        server.refusing["RunPodSandbox"] = grpc.StatusCode.FAILED_PRECONDITION

        with pytest.raises(ContainerRuntimeError) as caught:
            await runtime.run_pod_sandbox(RunPodSandbox(a_pod(), 0))

        text = "rpc error: code = FailedPrecondition desc = RunPodSandbox is refused"
        assert str(caught.value) == text

    @pytest.mark.parametrize(
        ("image", "user"),
        [
            pytest.param(cri.Image(id="i"), "", id="no user"),
            pytest.param(
                cri.Image(id="i", uid=cri.Int64Value(value=0)), "0", id="root"
            ),
            pytest.param(cri.Image(id="i", username="app"), "app", id="name"),
        ],
    )
    async def test_an_image_has_its_user(
        self, server: CriServer, runtime: CriRuntime, image: cri.Image, user: str
    ) -> None:
        server.images["i"] = image

        assert await runtime.image_user("i") == user

    async def test_the_user_of_an_image_that_is_gone_is_refused(
        self, runtime: CriRuntime
    ) -> None:
        with pytest.raises(ImageNotFoundError):
            await runtime.image_user("none:1")

    async def test_images_are_listed_with_who_has_them(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        server.add_container({"io.kubernetes.pod.name": "web"})

        found = await runtime.list_images()

        assert found == (StoredImage(IMAGE_ID, (IMAGE,), 4, ("web/app",)),)

    async def test_an_image_that_is_in_use_is_not_removed(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        server.add_container({"io.kubernetes.pod.name": "web"})

        with pytest.raises(ContainerRuntimeError, match="in use by web/app"):
            await runtime.remove_image(IMAGE_ID)

        assert IMAGE in server.images

    async def test_an_image_that_nobody_uses_is_removed(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        await runtime.remove_image(IMAGE_ID)

        assert server.images == {}

    async def test_the_disk_of_images_is_measured(self, runtime: CriRuntime) -> None:
        found = await runtime.image_filesystem()

        assert 0 < found.available_bytes <= found.capacity_bytes

    async def test_no_image_is_ever_noted_as_ours(self, runtime: CriRuntime) -> None:
        assert await runtime.image_store_id() == ""
        assert await runtime.image_copy(IMAGE) == IMAGE_ID


class TestCrowds:
    """200 containers on the socket, of which two are ours."""

    @pytest.fixture
    def crowd(self, server: CriServer) -> list[str]:
        """Return the IDs of those that are ours."""
        for number in range(198):
            server.add_container({"io.kubernetes.pod.uid": f"other-{number}"})
        return [server.add_container({**ME, "n": str(number)}) for number in range(2)]

    @pytest.mark.parametrize(
        "supports_filters",
        [
            pytest.param(True, id="filtered by the runtime"),
            pytest.param(False, id="by us"),
        ],
    )
    async def test_only_our_containers_are_listed_and_inspected(
        self,
        server: CriServer,
        runtime: CriRuntime,
        crowd: list[str],
        *,
        supports_filters: bool,
    ) -> None:
        server.supports_filters = supports_filters

        pods = await runtime.relist()

        ids = {container.container_id for pod in pods for container in pod.containers}
        assert ids == {container_id(sandbox) for sandbox in crowd}
        assert server.call_counts["ContainerStatus"] == 2
        assert server.call_counts["PodSandboxStatus"] == 2

    async def test_unchanged_containers_are_not_inspected_again(
        self, server: CriServer, runtime: CriRuntime, crowd: list[str]
    ) -> None:
        first = await runtime.relist()
        server.call_counts = Counter()

        second = await runtime.relist()
        unchanged = dict(server.call_counts)
        server.end_container(crowd[0], exit_code=3)
        third = await runtime.relist()

        assert second == first
        assert unchanged == {"ListPodSandbox": 1, "ListContainers": 1}
        assert server.call_counts["ContainerStatus"] == 1
        states = {
            container.container_id: container.state
            for pod in third
            for container in pod.containers
        }
        assert states == {
            container_id(crowd[0]): RuntimeState.EXITED,
            container_id(crowd[1]): RuntimeState.RUNNING,
        }

    @pytest.mark.parametrize(
        "act",
        [
            pytest.param(
                lambda runtime, _, app: runtime.stop_container(app, 0), id="stop"
            ),
            pytest.param(
                lambda runtime, _, app: runtime.remove_container(app), id="remove"
            ),
            pytest.param(
                lambda runtime, sandbox, _: runtime.stop_pod_sandbox(sandbox),
                id="stop sandbox",
            ),
            pytest.param(
                lambda runtime, sandbox, _: runtime.remove_pod_sandbox(sandbox),
                id="remove sandbox",
            ),
        ],
    )
    async def test_others_are_left_alone_even_by_their_ids(
        self,
        server: CriServer,
        runtime: CriRuntime,
        act: Callable[[CriRuntime, str, ContainerID], Awaitable[None]],
    ) -> None:
        theirs = server.add_container({OWNER: "somebody else"})
        sandbox_id, _ = server.containers[theirs]

        with pytest.raises(ContainerRuntimeError, match="left alone"):
            await act(runtime, sandbox_id, container_id(theirs))

        assert server.sandboxes[sandbox_id].state == cri.SANDBOX_READY
        assert server.containers[theirs][1].state == cri.CONTAINER_RUNNING

    async def test_a_container_removed_between_two_calls_is_not_listed(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        server.add_container(ME)
        server.refusing["ContainerStatus"] = grpc.StatusCode.NOT_FOUND

        (pod,) = await runtime.relist()

        assert len(pod.sandboxes) == 1
        assert pod.containers == ()


class TestEvents:
    """What a runtime tells of by itself."""

    async def test_events_of_our_containers_are_reported_and_no_others(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        theirs = cri.PodSandboxStatus(labels={OWNER: "somebody else"})
        ours = cri.PodSandboxStatus(labels=ME)
        for status in (theirs, ours, None):
            server.happened.put_nowait(
                cri.ContainerEventResponse(pod_sandbox_status=status)
            )
        count = 0

        async with asyncio.timeout(20):
            async with contextlib.aclosing(runtime.watch()) as events:  # type: ignore[type-var]  # a generator
                async for _ in events:
                    count += 1
                    if count == 2:
                        break

        assert server.happened.empty()

    async def test_a_runtime_without_events_has_a_quiet_watch(
        self, tmp_path: Path
    ) -> None:
        with tempfile.TemporaryDirectory(prefix="cri-") as folder:
            server = CriServer(
                f"{folder}/cri.sock", frozenset({GET_CONTAINER_EVENTS.name})
            )
            await server.start()
            runtime = a_client_of(server, tmp_path)

            watching = asyncio.ensure_future(anext(runtime.watch()))
            await runtime.version()
            done, _ = await asyncio.wait([watching], timeout=0.2)

            assert done == set()
            watching.cancel()
            await runtime.close()
            await server.stop()


class TestPods:
    """Requests that a runtime cannot perform."""

    async def test_annotations_have_to_be_text(self, runtime: CriRuntime) -> None:
        operation = RunPodSandbox(a_pod(annotations={"a": "\udcff"}), 0)

        with pytest.raises(ContainerRuntimeError, match="not UTF-8"):
            await runtime.run_pod_sandbox(operation)

    async def test_the_logs_of_what_never_printed_are_empty(
        self, server: CriServer, runtime: CriRuntime, tmp_path: Path
    ) -> None:
        app = server.add_container(ME, state=cri.CONTAINER_CREATED)
        server.containers[app][1].log_path = str(tmp_path / "none.log")

        lines = runtime.follow_logs(container_id(app), tail=10, follow=False)

        assert [line async for line in lines] == []
