"""Find and run the commands in the docs, and write their output back.

    python -m tools.doc_commands [PAGE ...]     runs them and writes their output

`sh` blocks of Markdown have commands, `console` blocks have commands after `$` with
their output. Comments before a block are its options:

    <!-- file: pod.yaml -->      the block is a file for all commands of the page
    <!-- needs: docker -->       an engine (docker, cri), a cluster, or an installer
    <!-- screen: q -->           each line opens the screen; these keys leave it
    <!-- background -->          keeps running during the commands after it
    <!-- status: 1 -->           the exit status, if not 0
    <!-- varies -->              times and IDs of the output differ from run to run
    <!-- not run: REASON -->     cannot be run by a test, and why

Commands of a page run in order, in one folder that has a copy of `sample_pods/`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted(DOCS.rglob("*.md")),
)
NEEDS = frozenset({"docker", "cri", "cluster", "install"})
PATIENCE_SECONDS = 300

_BLOCK = re.compile(
    r"(?P<comments>(?:^<!-- [^>]* -->\n)*)^```(?P<kind>[a-z{}-]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"<!-- ([a-z ]+?)(?:: ([^>]*?))? -->")
_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\b\d\d:\d\d:\d\d(\.\d)?\b"), "TIME"),
    (re.compile(r"\+\d+\.\ds\b"), "+Ns"),
    (re.compile(r"\b\d+(\.\d+)?ms\b"), "Nms"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b(waits|since-previous-exit=) ?\d+s"), r"\1Ns"),
)


class Block(NamedTuple):
    """A fenced block: its kind, text, options and position."""

    kind: str
    text: str
    options: Mapping[str, str]
    span: tuple[int, int]

    @property
    def is_run(self) -> bool:
        """Whether the commands of the block are run."""
        return self.kind in {"sh", "console"} and "not run" not in self.options

    @property
    def needs(self) -> str:
        """The requirement of the block besides the program; empty for none."""
        return self.options.get("needs", "")

    @property
    def keys(self) -> list[str] | None:
        """The keys that leave the screen of the block, None if it opens none."""
        return self.options["screen"].split() if "screen" in self.options else None

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The commands of the block with the output shown below them."""
        if self.kind == "sh":
            return [(self.text, "")]
        parts = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        return [
            (command, shown) for command, _, shown in (p.partition("\n") for p in parts)
        ]

    @property
    def status(self) -> int:
        """The exit status of the last command."""
        return int(self.options.get("status", "0"))


class CommandFailedError(AssertionError):
    """A command did not do what the page shows."""


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return [
        Block(
            match["kind"],
            match["text"],
            {name: value or "" for name, value in _COMMENT.findall(match["comments"])},
            match.span("text"),
        )
        for match in _BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def lanes_of(page: Path) -> dict[str, list[Block]]:
    """Return the blocks of a page that are run, by their requirement."""
    lanes: dict[str, list[Block]] = {}
    for block in blocks_of(page):
        if block.is_run:
            lanes.setdefault(block.needs, []).append(block)
    return lanes


def normal(text: str, block: Block) -> str:
    """Return an output without parts that differ between runs."""
    if "varies" in block.options:
        for pattern, name in _VARYING:
            text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


class Runner:
    """Runs the commands of a page in a folder, with a private environment."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = {**environment, "PWD": str(folder)}
        self._background: list[subprocess.Popen[str]] = []
        shutil.copytree(
            ROOT / "sample_pods", folder / "sample_pods", dirs_exist_ok=True
        )

    def write_files(self, blocks: Sequence[Block]) -> None:
        """Write the blocks that are files."""
        for block in blocks:
            if "file" in block.options:
                path = self.folder / block.options["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")

    def outputs(self, block: Block) -> Iterator[tuple[str, str, str]]:
        """Run a block; yield its commands with the shown and the actual output.

        Raises:
            CommandFailedError: the exit status is not the one on the page.
        """
        if "background" in block.options:
            self._start(block)
            return
        commands = block.commands
        for number, (command, shown) in enumerate(commands):
            status = block.status if number == len(commands) - 1 else 0
            done = self._shell(command, is_merged=block.kind == "console")
            if done.returncode != status:
                message = f"{command}ended with {done.returncode}, not {status}:\n"
                raise CommandFailedError(f"{message}{done.stdout}{done.stderr or ''}")
            yield command, shown, done.stdout

    def _shell(
        self, command: str, *, is_merged: bool
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # A reader sees both on the terminal.
            stderr=subprocess.STDOUT if is_merged else subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    def _start(self, block: Block) -> None:
        self._background.append(
            subprocess.Popen(
                ["bash", "-c", f"exec {block.text}"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        )

    def close(self) -> None:
        """End background commands as a reader would, with ^C."""
        for process in self._background:
            process.terminate()
        for process in self._background:
            process.wait(PATIENCE_SECONDS)


def environment_of(home: Path) -> dict[str, str]:
    """Return environment variables for private folders below a home."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PROBETUI_", "XDG_", "KUBE"))
    }
    scripts = Path(sys.executable).parent
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
        "PATH": f"{scripts}:{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }


def write_outputs(page: Path) -> None:
    """Run blocks without requirements whose output a page shows; write the output."""
    blocks = blocks_of(page)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "here")
        folder.mkdir()
        runner = Runner(folder, environment_of(Path(name)))
        runner.write_files(blocks)
        text, new = page.read_text(encoding="utf-8"), []
        at = 0
        for block in blocks:
            if not block.is_run or block.needs or block.keys:
                continue
            got = list(runner.outputs(block))
            if block.kind == "console":
                same = all(
                    normal(shown, block) == normal(out, block) for _, shown, out in got
                )
                if not same:
                    new += [text[at : block.span[0]]]
                    new += [f"$ {command}\n{out}" for command, _, out in got]
                    at = block.span[1]
        runner.close()
    page.write_text("".join([*new, text[at:]]), encoding="utf-8")


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:] or map(str, PAGES)):
        print(shlex.quote(str(page)))
        write_outputs(page.resolve())
