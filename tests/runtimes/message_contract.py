"""The contract of termination messages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import a_pod
from tests.runtimes.bench import Bench

FALLBACK = "FallbackToLogsOnError"


async def message(bench: Bench, script: str, **fields: Any) -> str:
    """Return the message of a container that runs a script to its end."""
    script = f"ROOT={bench.root}; {script}"
    return (await bench.ended(await bench.run(script, **fields))).message


class MessageContract:
    """Termination messages."""

    @pytest.mark.parametrize(
        ("path", "exit_code"),
        [
            pytest.param("/dev/termination-log", 0, id="usual path"),
            pytest.param("/dev/termination-log", 3, id="after an error"),
            pytest.param("/var/own/last-words", 0, id="path of its own"),
        ],
    )
    async def test_what_a_container_wrote_is_its_message(
        self, bench: Bench, path: str, exit_code: int
    ) -> None:
        script = f"printf 'bye\\n' > $ROOT{path}; exit {exit_code}"

        assert await message(bench, script, termination_message_path=path) == "bye\n"

    async def test_a_container_that_wrote_nothing_has_no_message(
        self, bench: Bench
    ) -> None:
        assert await message(bench, "echo printed; exit 3") == ""

    async def test_only_the_end_of_a_long_message_counts(self, bench: Bench) -> None:
        script = "head -c 9000 /dev/zero | tr '\\0' x > $ROOT/dev/termination-log; "
        script += "printf end >> $ROOT/dev/termination-log"

        assert await message(bench, script) == "x" * 4093 + "end"

    async def test_bytes_that_are_not_text_are_kept(self, bench: Bench) -> None:
        script = "printf '\\377' > $ROOT/dev/termination-log"

        assert await message(bench, script) == "\udcff"

    async def test_every_instance_has_a_message_of_its_own(self, bench: Bench) -> None:
        pod_sandbox = await bench.sandbox(a_pod())
        script = "cat $ROOT/dev/termination-log; echo x >> $ROOT/dev/termination-log"
        script = f"ROOT={bench.root}; {script}; exit 1"
        first = await bench.run(script, sandbox_id=pod_sandbox)
        await bench.ended(first)

        second = await bench.run(script, sandbox_id=pod_sandbox, attempt=1)

        assert (await bench.ended(second)).message == "x\n"
        assert (await bench.ended(first)).message == "x\n"

    @pytest.mark.parametrize(
        ("script", "expected"),
        [
            pytest.param("echo one; echo two; exit 1", "one\ntwo\n", id="error"),
            pytest.param("echo one; exit 0", "", id="no error"),
            pytest.param(
                "echo one; printf file > $ROOT/dev/termination-log; exit 1",
                "file",
                id="a file comes first",
            ),
        ],
    )
    async def test_the_log_can_replace_the_file(
        self, bench: Bench, script: str, expected: str
    ) -> None:
        found = await message(bench, script, termination_message_policy=FALLBACK)

        assert found == expected

    async def test_both_streams_are_in_the_log(self, bench: Bench) -> None:
        script = "echo one; echo two >&2; exit 1"

        found = await message(bench, script, termination_message_policy=FALLBACK)

        # Which of two pipes is read first is nobody's promise.
        assert sorted(found.splitlines()) == ["one", "two"]

    async def test_only_the_end_of_a_long_log_counts(self, bench: Bench) -> None:
        script = "for i in $(seq 100); do echo $i; done; exit 1"

        found = await message(bench, script, termination_message_policy=FALLBACK)

        assert found == "".join(f"{number}\n" for number in range(21, 101))

    async def test_a_message_is_returned_repeatedly(self, bench: Bench) -> None:
        app = await bench.run(
            f"ROOT={bench.root}; echo bye > $ROOT/dev/termination-log"
        )
        await bench.ended(app)

        again = await bench.status(app)

        assert again is not None
        assert again.message == "bye\n"

    async def test_another_probetui_finds_the_message(self, bench: Bench) -> None:
        app = await bench.run(
            f"ROOT={bench.root}; echo bye > $ROOT/dev/termination-log"
        )
        await bench.ended(app)
        other = bench.another()

        found = await bench.status(app, other)
        await other.close()

        assert found is not None
        assert found.message == "bye\n"
