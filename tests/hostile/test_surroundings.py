"""Commands in a broken environment report the problem and do not crash."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from probetui.cli.main import run
from tests.hostile.arena import Arena, isolated, mount_tmpfs

BUG = 70
JUNK = (
    "",
    " ",
    "-1",
    "0",
    "1e999",
    "99999999999999999999",
    "nan",
    "\udcff",
    "\x1b]52;c;Zm9v\x07",
    "a\nb",
    "[bold]",
    "=",
    ":",
    "..",
    "/",
    "/dev/null/x",
    "x" * 5000,
)
"""Unusual values of options; `\\udcff` is a byte that is no UTF-8."""

RUN_OPTIONS = (
    "--namespace", "--selector", "--set", "--validate", "--pull", "--metrics",
    "--output", "--container", "--type", "--record", "--autosave-limit",
    "--time-scale", "--for", "--until", "--timeout", "--exec-errors",
    "--kubelet-age", "--max-container-restart-period", "--seed", "--theme",
    "--keymap", "--color", "--config", "--log-file", "--log-level",
)  # fmt: skip
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: surroundings, namespace: robust-surroundings}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: none
      command: [sh, -c, "while :; do sleep 0.1; done"]
      readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
"""


@pytest.mark.usefixtures("_own_home")
@pytest.mark.parametrize("option", RUN_OPTIONS)
def test_an_option_accepts_or_refuses_any_value(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    option: str,
) -> None:
    """Options that simulate the pods for one second."""
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(POD)
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    common = ("run", "-f", str(manifest), "--runtime", "sim", "--plain", "--for", "1s")

    for value in JUNK:
        status = run([*common, option, value])

        captured = capfd.readouterr()
        assert status != BUG, f"{option} {value!r}: {captured.err}"
        assert "Traceback" not in captured.out + captured.err
        assert "\x1b" not in captured.out + captured.err


def program(
    folder: Path,
    command: str,
    *args: str,
    variables: Mapping[str, str | None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a shell command that ends in `"$@"`, the program with its arguments."""
    environment = {
        **os.environ,
        "HOME": str(folder),
        **{
            f"XDG_{kind}_HOME": str(folder / kind)
            for kind in ("STATE", "CONFIG", "DATA", "CACHE")
        },
    }
    for name, value in (variables or {}).items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    return subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, "-m", "probetui", *args],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


NO_FOLDERS = dict.fromkeys(
    ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
)


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.parametrize(
    ("command", "variables"),
    [
        pytest.param('"$@" <&-', {}, id="stdin closed"),
        pytest.param('"$@" >&-', {}, id="stdout closed"),
        pytest.param('"$@" 2>&-', {}, id="stderr closed"),
        pytest.param('"$@" <&- >&- 2>&-', {}, id="all three closed"),
        pytest.param('"$@"', NO_FOLDERS, id="HOME unset"),
        pytest.param(
            '"$@"', {**NO_FOLDERS, "HOME": "/dev/null/home"}, id="HOME unwritable"
        ),
        pytest.param('"$@"', {"TMPDIR": "/nowhere"}, id="TMPDIR missing"),
        pytest.param('"$@"', {"TERM": None}, id="TERM unset"),
        pytest.param('"$@"', {"LC_ALL": "nonsense"}, id="LC_ALL unknown"),
        pytest.param(
            'mkdir gone; cd gone; rmdir ../gone; exec "$@"', {}, id="folder removed"
        ),
    ],
)
def test_an_unusual_environment_stops_no_session(
    tmp_path: Path, command: str, variables: Mapping[str, str | None]
) -> None:
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(POD)
    session = ["run", "-f", str(manifest), "--runtime", "sim", "--for", "5s", "--plain"]
    if variables.get("HOME", "") is None:
        # The folder that the password file has is the user's own.
        session += ["--no-autosave", "--log-file", str(tmp_path / "log")]

    done = program(tmp_path, command, *session, variables=variables)

    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stderr


def full_state(arena: Arena) -> Path:
    """Return a folder of 64 KiB for the state."""
    state = arena.work / "STATE"
    state.mkdir()
    mount_tmpfs(state, "size=64k")
    (arena.work / "pod.yaml").write_text(POD)
    return state


def fill(folder: Path) -> None:
    """Fill a file system, with a megabyte at most."""
    facts = os.statvfs(folder)
    free = facts.f_bavail * facts.f_bsize
    assert free <= 1024**2, "this is the disk of the machine"
    (folder / "filler").write_bytes(bytes(free))


@isolated
def test_no_process_is_started_without_a_lock_on_a_full_disk(arena: Arena) -> None:
    fill(full_state(arena))

    done = program(
        arena.work, '"$@"', "run", "-f", "pod.yaml", "--runtime", "process", "--plain"
    )

    assert "Traceback" not in done.stderr
    assert "cannot be locked" in done.stderr
    assert "No space left on device" in done.stderr
    assert done.returncode == 2


@isolated
def test_a_simulation_on_a_full_disk_continues_and_says_that_it_is_not_saved(
    arena: Arena,
) -> None:
    state = full_state(arena)
    fill(state)

    done = program(
        arena.work, '"$@"', "sim", "-f", "pod.yaml", "--plain", "--for", "5s"
    )

    words = f"probetui: note: the session is not saved for replay: {state}/"
    assert done.stderr.startswith(words)
    assert done.stderr.endswith(": No space left on device\n")
    assert done.stderr.count("\n") == 1
    assert "ready false->true" in done.stdout
    assert done.returncode == 0


@isolated
def test_a_disk_that_fills_up_during_a_session_shuts_it_down_cleanly(
    arena: Arena,
) -> None:
    state = full_state(arena)
    trace, filled = arena.work / "trace", arena.work / "filled"
    probed = arena.work / "probed"
    (arena.work / "pod.yaml").write_text(
        POD
        # A busy machine may take more than a second from SIGTERM to the output.
        .replace(
            "terminationGracePeriodSeconds: 1", "terminationGracePeriodSeconds: 30"
        )
        .replace(
            "while :; do sleep 0.1; done",
            f"trap 'echo SIGTERM >> {trace}; exit 0' TERM; echo started >> {trace}; "
            # A probed container was started, and the program has recorded the start.
            f"until test -e {probed}; do sleep 0.1; done; "
            # More than the free space, so that later writes fail.
            f"dd if=/dev/zero of={state}/filler bs=1k 2>&-; : > {filled}; "
            "while :; do sleep 0.1; done",
        )
        .replace('["true"]', f'[sh, -c, ": > {probed}; test -e {filled}"]')
        + "      lifecycle: {preStop: {exec: {command: "
        + f'[sh, -c, "echo preStop >> {trace}"]}}}}}}\n'
    )

    done = program(
        arena.work,
        '"$@"',
        *("run", "-f", "pod.yaml", "--runtime", "process", "--plain"),
        *("--until", "ready", "--timeout", "30s"),
        *("--record", str(state / "record.jsonl")),
    )

    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    assert trace.read_text().split() == ["started", "preStop", "SIGTERM"]
    assert "recording stopped: " in done.stderr, done.stderr
    assert "No space left on device" in done.stderr
