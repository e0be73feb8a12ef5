"""Rows that say what an option is typed with and what it gives, and their check."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from msgspec import Struct

UNAVAILABLE = 3
"""The status of a command whose container runtime does not answer."""


class Row(Struct, frozen=True):
    """What is typed for an option beside the rest of the command line.

    `replaces` is an option of the rest that goes, with its value; `shows` a pattern of
    what is printed, `hides` one of what is not; `writes` a file in the test's folder
    that has the pattern `content`. With `scrapes` the metrics at `{port}` are asked for
    meanwhile.
    """

    args: tuple[str, ...] = ()
    status: int = 0
    shows: str = ""
    hides: str = r"(?!)"
    writes: str = ""
    content: str = ""
    replaces: str = ""
    scrapes: bool = False

    def line(self, base: Sequence[str]) -> list[str]:
        """Return a command line, with what this row replaces and adds."""
        rest = [*base]
        if self.replaces:
            at = rest.index(self.replaces)
            del rest[at : at + 1 + self.replaces.startswith("-")]
        return [*rest, *self.args]

    def check(self, status: int, printed: str, folder: Path) -> None:
        """Assert that a command ended and printed as this row says."""
        assert status == self.status, printed
        assert re.search(self.shows, printed, re.MULTILINE), printed
        assert not re.search(self.hides, printed, re.MULTILINE), printed
        assert (folder / self.writes).exists()
        if self.content:
            assert re.search(self.content, (folder / self.writes).read_text())


def absent_engine(
    runtime: str, *args: str, shows: str = "unix:///x", status: int = UNAVAILABLE
) -> Row:
    """Return the row of an option that names an engine which is not there."""
    return Row(("--runtime", runtime, *args), status, shows, replaces="--runtime")


ABSENT_ENGINES: Mapping[str, Row] = {
    "--docker-context": absent_engine(
        "docker", "--docker-context", "x", shows='no context "x"'
    ),
    "-H": absent_engine("docker", "-H", "unix:///x"),
    "-r": absent_engine("cri", "-r", "unix:///x"),
}


def options_of(command: click.Command) -> list[str]:
    return [
        parameter.opts[0]
        for parameter in command.params
        if isinstance(parameter, click.Option)
    ]
