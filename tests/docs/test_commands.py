"""Run every command in the docs and compare its output with the page."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tools.doc_commands import (
    NEEDS,
    PAGES,
    PATIENCE_SECONDS,
    ROOT,
    Block,
    Runner,
    blocks_of,
    environment_of,
    lanes_of,
    normal,
)

from tests.checkout import copy_checkout
from tests.conftest import is_required
from tests.e2e.program import Program, wait_until
from tests.e2e.screen import terminal
from tests.engines import cri_variables

MARKS = {
    "docker": [pytest.mark.docker],
    "cri": [pytest.mark.cri],
    "cluster": [pytest.mark.kubectl],
}
KNOWN = {"file", "needs", "screen", "background", "status", "varies", "not run"}
KINDS = {"sh", "console", "yaml", "text", "{toctree}", "{include}"}
CLUSTER_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: busybox:1.36
      command: [sleep, "600"]
      livenessProbe:
        exec: {command: ["true"]}
"""


def name_of(page: Path) -> str:
    """Return a page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


def lanes() -> Iterator[object]:
    """Yield every page with every requirement of its commands."""
    for page in PAGES:
        for needs, blocks in lanes_of(page).items():
            marks = [pytest.mark.e2e, pytest.mark.slow, *MARKS.get(needs, [])]
            if any(block.keys for block in blocks):
                marks.append(pytest.mark.tmux)
            name = f"{name_of(page)}-{needs or 'alone'}"
            yield pytest.param(page, needs, marks=marks, id=name)
        for block in blocks_of(page):
            if "not run" in block.options:
                reason = block.options["not run"]
                name = f"{name_of(page)}-{block.text.splitlines()[0]}"
                left_out = pytest.mark.skip(reason=f"not run: {reason}")
                yield pytest.param(page, "", marks=left_out, id=name)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Return a private home; leftovers of its sessions are removed."""
    yield tmp_path
    Program(tmp_path).run("down", "--all", "--runtime", "process")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_options_of_a_block_are_known(page: Path) -> None:
    for block in blocks_of(page):
        assert set(block.options) <= KNOWN, block.text
        assert block.needs in {"", *NEEDS}, block.text
        assert block.options.get("not run", "a reason"), block.text
        assert "file" in block.options or block.kind in KINDS, block.text


@pytest.mark.parametrize(("page", "needs"), lanes())
def test_the_commands_of_a_page_print_what_it_shows(
    home: Path, page: Path, needs: str
) -> None:
    folder = home / "here"
    folder.mkdir()
    environment = environment_of(home) | cri_variables()
    blocks = lanes_of(page)[needs]
    if needs == "install":
        # An installer writes into its folder.
        copy_checkout(folder)
        _need_installers(blocks, environment["PATH"])
    with _cluster(home, environment, is_needed=needs == "cluster"):
        runner = Runner(folder, environment)
        runner.write_files(blocks_of(page))
        try:
            for block in blocks:
                if block.keys:
                    _leave_by_keys(runner, block, block.keys)
                else:
                    for command, shown, printed in runner.outputs(block):
                        if block.kind == "console":
                            actual, expected = (
                                normal(printed, block),
                                normal(shown, block),
                            )
                            assert actual == expected, command
        finally:
            runner.close()


def _leave_by_keys(runner: Runner, block: Block, keys: Sequence[str]) -> None:
    """Run every line on a terminal until it has drawn a screen; leave it with keys."""
    with terminal(runner.environment) as shown:
        shown.enter(f"cd {shlex.quote(str(runner.folder))}")
        for line in block.text.splitlines():
            shown.enter(line)
            # The program may have to be installed first.
            drawn = f"the screen of {line}"
            wait_until(lambda: shown.is_covered, drawn, PATIENCE_SECONDS)
            shown.wait_for("quit")
            for key in keys:
                shown.type(key)
            wait_until(lambda: not shown.is_covered, f"the end of {line}")
            shown.enter("echo ended with $?")
            shown.wait_for("ended with 0")
            shown.enter("clear")


@contextmanager
def _cluster(
    home: Path, environment: dict[str, str], *, is_needed: bool
) -> Iterator[None]:
    """Start an API server with a pod, and set the environment to use it."""
    if not is_needed:
        yield
        return
    manifest, config = home / "cluster.yaml", home / "kubeconfig"
    manifest.write_text(CLUSTER_POD, encoding="utf-8")
    served = ("serve", "-f", str(manifest), "--runtime", "process")
    # With another home, so that it is another machine to the commands.
    (home / "cluster").mkdir()
    program = Program(home / "cluster")
    with program.started(*served, "--write-kubeconfig", str(config)) as process:
        wait_until(
            lambda: config.exists() and bool(config.read_text()), "the API server"
        )
        environment["KUBECONFIG"] = str(config)
        yield
        process.terminate()
        process.wait(60)
    program.run("down", "--all", "--runtime", "process")


def _need_installers(blocks: Sequence[Block], path: str) -> None:
    """Skip the test if an optional installer is missing."""
    programs = {block.text.split()[0] for block in blocks}
    missing = sorted(name for name in programs if not shutil.which(name, path=path))
    if missing and not is_required("tmux"):
        pytest.skip(f"{', '.join(missing)} is not installed")
    assert not missing
