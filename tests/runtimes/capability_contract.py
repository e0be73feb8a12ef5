"""Contracts of optional capabilities beyond `ports.Runtime`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from probetui.drive.logs import LAST_BYTES, LAST_LINES, read_last_output
from probetui.errors import (
    ContainerRuntimeError,
    ImageNotFoundError,
)
from probetui.k8s.pod import Container
from probetui.k8s.runtime import RuntimeState
from probetui.kubelet.effects import CreateContainer, PullImage
from tests.builders import a_pod, a_tcp_probe
from tests.runtimes.bench import (
    FAILS,
    FLOODS,
    MUMBLES,
    POLITE,
    SPEAKS,
    SPEAKS_AND_STAYS,
    SPEAKS_LATER,
    Bench,
    sh,
)

_LONGEST_IN_A_FILE = 128 * 1024
"""The bytes of a line of a log file that are read, at most."""


class ImageContract:
    """For runtimes with images: missing images are reported."""

    missing_image = "registry.invalid/no/such/image:1"

    async def test_an_image_that_is_not_here_has_no_id(self, bench: Bench) -> None:
        assert await bench.runtime.image_status(self.missing_image) is None

    async def test_an_image_that_does_not_exist_cannot_be_pulled(
        self, bench: Bench
    ) -> None:
        operation = PullImage(a_pod(), self.missing_image)

        with pytest.raises(ContainerRuntimeError):
            await bench.runtime.pull_image(operation, lambda _text: None)

    async def test_no_container_is_created_from_an_image_that_is_not_here(
        self, bench: Bench
    ) -> None:
        pod = a_pod(Container("app", self.missing_image, command=sh(POLITE)))
        sandbox_id = await bench.sandbox(pod)

        with pytest.raises(ImageNotFoundError):
            await bench.runtime.create_container(
                CreateContainer(
                    pod, pod.containers[0], sandbox_id, 0, self.missing_image
                )
            )


class LabelContract:
    """For runtimes that keep the labels of pods."""

    async def test_the_labels_of_a_pod_are_kept_with_its_sandbox(
        self, bench: Bench
    ) -> None:
        labels = {"app": "web", "example.com/tier": "front", "empty": ""}
        pod = a_pod(labels=labels, annotations={"note": "no label"})
        runtime = bench.another()

        sandbox_id = await bench.sandbox(pod)

        assert (await runtime.sandbox_labels())[sandbox_id] == labels
        await runtime.close()


class NetworkContract:
    """For runtimes with real sockets: a pod's address answers."""

    @pytest.fixture
    def server(self) -> Callable[[int], tuple[str, ...]]:
        """Return how to run a program that accepts connections to the pod's IP."""
        raise AssertionError("a subclass says which program it is")

    async def test_a_server_in_a_container_is_reached_at_the_pods_address(
        self, bench: Bench, server: Callable[[int], tuple[str, ...]]
    ) -> None:
        port = 18080
        container = Container(
            "app",
            bench.image,
            command=server(port),
            readiness_probe=a_tcp_probe(port),
        )
        await bench.runtime.start_container(await bench.create(container))
        (address,) = (await bench.pod()).ips
        target = bench.runtime.dial_address(address, port)
        assert isinstance(target, tuple)

        async def accepts() -> bool:
            try:
                _, writer = await asyncio.open_connection(*target)
            except OSError:
                return False
            writer.close()
            await writer.wait_closed()
            return True

        await bench.until(accepts)


class LogContract:
    """For runtimes that keep the output of containers."""

    async def test_the_last_lines_of_a_container_can_be_read(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run(SPEAKS)
        await bench.ended(container_id)

        lines = bench.runtime.follow_logs(container_id, tail=2, follow=False)

        assert [line.text async for line in lines] == ["two", "three"]

    async def test_lines_can_be_followed_until_the_container_ends(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run(SPEAKS_LATER)

        lines = bench.runtime.follow_logs(container_id, tail=10, follow=True)

        assert [line.text async for line in lines] == ["first", "last"]

    async def test_an_earlier_instance_can_be_read_while_the_next_one_runs(
        self, bench: Bench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        earlier = await bench.run(SPEAKS, sandbox_id=sandbox_id)
        await bench.ended(earlier)
        await bench.run(POLITE, attempt=1, sandbox_id=sandbox_id)

        lines = bench.runtime.follow_logs(earlier, tail=10, follow=True)

        assert [line.text async for line in lines] == ["one", "two", "three"]

    async def test_the_last_output_of_a_container_that_has_exited_can_be_read(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run(SPEAKS)
        await bench.ended(container_id)

        lines = await read_last_output(bench.runtime, container_id)

        assert [line.text for line in lines] == ["one", "two", "three"]

    async def test_little_is_read_of_a_long_line_before_the_last_one(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run(FLOODS)
        await bench.ended(container_id)

        tail = bench.runtime.follow_logs(container_id, tail=LAST_LINES, follow=False)
        read = [line.text async for line in tail]
        lines = await read_last_output(bench.runtime, container_id)

        # An engine may split the long line: what fits of its last piece is kept.
        *pieces, last = [line.text for line in lines]
        assert last == "end"
        assert set("".join(pieces)) <= {"x"}
        assert sum(map(len, pieces)) <= LAST_BYTES
        # One line more than is wanted, and what stands before its beginning.
        assert sum(map(len, read)) <= (LAST_LINES + 2) * _LONGEST_IN_A_FILE

    async def test_bytes_are_escaped_unambiguously_in_text(self, bench: Bench) -> None:
        container_id = await bench.run(MUMBLES)
        await bench.ended(container_id)

        lines = bench.runtime.follow_logs(container_id, tail=10, follow=False)

        (text,) = [line.text async for line in lines]
        assert text[0] in "\udcff\ufffd"
        assert text[1:] == " \x1b[31m"

    async def test_a_reader_can_stop_while_the_container_runs(
        self, bench: Bench
    ) -> None:
        source = bench.runtime
        container_id = await bench.run(SPEAKS_AND_STAYS)
        first_line_read = asyncio.Event()

        async def follow() -> None:
            async for line in source.follow_logs(container_id, tail=10, follow=True):
                assert line.text == "here"
                first_line_read.set()

        async def has_read() -> bool:
            return first_line_read.is_set()

        async with bench.meanwhile(follow()):
            await bench.until(has_read)

        assert await bench.state(container_id) is RuntimeState.RUNNING

    async def test_the_lines_of_a_container_that_is_gone_are_refused(
        self, bench: Bench
    ) -> None:
        container_id = await bench.create(bench.container(POLITE))
        await bench.runtime.remove_container(container_id)

        with pytest.raises(ContainerRuntimeError):
            await anext(bench.runtime.follow_logs(container_id, tail=10, follow=False))


class EventContract:
    """For runtimes with an event stream."""

    async def test_a_watcher_is_notified_of_a_change(self, bench: Bench) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        changed = asyncio.Event()
        source = bench.runtime

        async def listen() -> None:
            async for _ in source.watch():
                changed.set()

        async def is_notified() -> bool:
            # The watch may not have begun yet when the first containers end.
            await bench.ended(await bench.run(FAILS, sandbox_id=sandbox_id))
            return changed.is_set()

        async with bench.meanwhile(listen()):
            await bench.until(is_notified)
