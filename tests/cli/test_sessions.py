"""Whole sessions on plain processes, in the process of the test."""

from __future__ import annotations

import io
import json
import platform
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from probetui.cli.folders import pods_folder
from probetui.cli.main import run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("_nothing_is_left")]

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: none
      command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 0.05; done"]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return path


def session(path: Path, *args: str) -> int:
    return run(["-f", str(path), "--runtime", "process", *args])


def listed(capfd: pytest.CaptureFixture[str], *args: str) -> str:
    capfd.readouterr()
    assert run(["ls", "--runtime", "process", *args]) == 0
    return capfd.readouterr().out


def test_a_session_prints_what_happens_and_removes_its_pods(
    capfd: pytest.CaptureFixture[str], path: Path
) -> None:
    status = session(path, "--until", "started")

    captured = capfd.readouterr()
    assert status == 0
    assert "web/app started restart=0\n" in captured.out
    assert captured.out.endswith("web gone\n")
    assert "probetui: note: stopping web (within 1s" in captured.err
    assert listed(capfd) == ""


def test_a_quiet_session_prints_nothing(
    capfd: pytest.CaptureFixture[str], path: Path
) -> None:
    status = session(path, "--until", "started", "-q")

    assert status == 0
    assert capfd.readouterr() == ("", "")


def test_a_session_prints_records_on_request(
    capfd: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    record = tmp_path / "session.jsonl"

    status = session(
        path, "-o", "jsonl", "--record", str(record), "--kubelet-age", "fresh",
        "--until", "started", "-c", "app",
    )  # fmt: skip

    printed = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    written = [json.loads(line) for line in record.read_text().splitlines()]
    assert status == 0
    assert printed[0] == written[0]
    assert printed[0]["options"]["kubelet_age"] == "fresh"
    assert printed[-1]["reason"] == written[-1]["reason"] == "until"
    assert {line.get("container") for line in printed[1:-1]} <= {"app", None}
    assert len(written) > len(printed)


def test_kept_pods_are_listed_in_every_format_and_removed(
    capfd: pytest.CaptureFixture[str], path: Path
) -> None:
    session(path, "--keep", "--until", "started")

    table = listed(capfd).splitlines()
    wide = listed(capfd, "-o", "wide", "--no-headers")
    as_json = json.loads(listed(capfd, "-o", "json"))
    dump_pod = listed(capfd, "-o", "yaml")
    elsewhere = listed(capfd, "-n", "shop")
    status = run(["down", "-f", str(path), "--runtime", "process"])

    assert table[0].split() == [
        "NAMESPACE", "NAME", "RUNTIME", "STATE", "RUNNING", "RESTARTS", "PROBES",
        "AGE", "RUN-BY",
        "OWNER",
    ]  # fmt: skip
    assert table[1].split()[:4] == ["default", "web", "process", "running"]
    assert table[1].split()[4:6] == ["1/1", "0"]
    assert table[1].split()[-2:] == ["-", "you"]
    assert as_json[0]["uid"] in wide
    assert as_json[0]["containers"][0]["state"] == "running"
    assert dump_pod.startswith("- namespace: default\n  name: web\n")
    assert elsewhere == ""
    assert status == 0
    assert capfd.readouterr().out == "removed default/web (process)\n"


def test_down_removes_the_pods_of_the_manifests_only(
    capfd: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    session(path, "--keep", "--until", "started")
    other = tmp_path / "other.yaml"
    other.write_text(POD.replace("name: web", "name: db"))

    status = run(["down", "-f", str(other), "--runtime", "process"])

    assert status == 0
    assert "no pods to remove" in capfd.readouterr().err
    assert listed(capfd, "-o", "name") == "pod/web\n"


def test_pods_are_listed_and_removed_by_name(
    capfd: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(POD.replace("{name: web}", "{name: web, namespace: shop}"))
    for file in (path, other):
        session(file, "--until", "started", "--keep", "-q")

    assert listed(capfd, "shop/web", "-o", "name") == "pod/web\n"
    assert listed(capfd, "web", "-o", "name") == "pod/web\npod/web\n"

    assert run(["down", "web", "-n", "shop", "--runtime", "process"]) == 0
    assert capfd.readouterr().out == "removed shop/web (process)\n"
    assert run(["down", "wep", "--runtime", "process"]) == 2
    assert 'no pod is called "wep" (has: web)' in capfd.readouterr().err
    assert listed(capfd, "-o", "name") == "pod/web\n"


def test_two_pods_of_one_name_are_removed_at_once(
    capfd: pytest.CaptureFixture[str], path: Path
) -> None:
    folders = []
    for uid in ("one", "two"):
        path.write_text(POD.replace("{name: web}", f"{{name: web, uid: {uid}}}"))
        session(path, "--until", "started", "--keep", "-q")
        (folder,) = pods_folder().iterdir()
        # Not kept, or the next session would remove the pod with the same name.
        folders.append((folder.rename(path.parent / uid), folder))
    for away, folder in folders:
        away.rename(folder)
    capfd.readouterr()

    assert run(["down", "web", "--runtime", "process"]) == 0
    assert capfd.readouterr().out == "removed default/web (process)\n" * 2


def test_the_probes_of_a_running_session_are_listed(
    capfd: pytest.CaptureFixture[str], path: Path
) -> None:
    path.write_text(
        f"{POD}      livenessProbe: {{exec: {{command: ['false']}}, periodSeconds: 1, "
        "failureThreshold: 9}"
    )
    running = [sys.executable, "-m", "probetui", "-f", str(path), "--plain"]
    with subprocess.Popen(
        [*running, "--runtime", "process"], stdout=subprocess.PIPE, text=True
    ) as session:
        assert session.stdout is not None
        next(line for line in session.stdout if "liveness #2 failure" in line)
        table = listed(capfd)
        (pod,) = json.loads(listed(capfd, "-o", "json"))
        session.terminate()
        session.stdout.read()

    assert re.search(r"app/liveness [1-9]/9", table)
    assert pod["session"]["phase"] == "Running"
    assert pod["session"]["containers"][0]["probes"][0]["probe"] == "liveness"


def test_a_kept_pod_with_a_failing_readiness_probe_is_not_ready(
    path: Path,
) -> None:
    path.write_text(
        f"{POD}      readinessProbe: {{exec: {{command: ['false']}}, periodSeconds: 1}}"
    )
    session(path, "--until", "started", "--keep", "-q")

    assert session(path, "--until", "ready", "--timeout", "2s", "-q") == 4


def test_containers_that_could_not_start_are_listed_at_the_end(
    capfd: pytest.CaptureFixture[str], path: Path
) -> None:
    path.write_text(POD.replace("[sh, -c", "[/no/such/program, -c"))

    status = session(path, "--timeout", "6s")

    assert status == 6
    assert "web/app could not be started: " in capfd.readouterr().err


def test_a_lesson_begins_with_its_introduction(
    capfd: pytest.CaptureFixture[str],
) -> None:
    status = run(["demo", "readiness", "--until", "started"])

    assert status == 0
    assert "probetui: note: readiness: The app is ready for" in capfd.readouterr().err


def test_a_bug_in_the_engine_leaves_no_process_behind(
    capfd: pytest.CaptureFixture[str], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("for example")

    monkeypatch.setattr(
        "probetui.presentation.plain.lines.PlainLines.format_entry", broken
    )

    status = session(path)

    captured = capfd.readouterr()
    assert status == 70
    assert "this is a bug in probetui (ZeroDivisionError)" in captured.err
    assert listed(capfd) == ""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the URL at which its files are."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://me:open-sesame@127.0.0.1:{server.server_port}"
        server.shutdown()


def test_pods_of_all_sources_run_at_once_and_their_record_replays(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    path: Path,
    tmp_path: Path,
    served: tuple[Path, str],
) -> None:
    folder, url = served
    (folder / "of-url.yaml").write_text(POD.replace("web", "of-url"))
    (folder / "static-url.yaml").write_text(POD.replace("web", "static-url"))
    static = tmp_path / "static"
    static.mkdir()
    (static / "any.conf").write_text(POD.replace("web", "static-file"))
    piped = io.BytesIO(POD.replace("web", "piped").encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(piped))
    record, node = tmp_path / "session.jsonl", platform.node().lower()

    status = session(
        path, "-f", f"{url}/of-url.yaml", "-f", "-", "--static", str(static),
        "--static", f"{url}/static-url.yaml", "--until", "started",
        "--record", str(record),
    )  # fmt: skip
    live_output = capfd.readouterr().out
    replayed = run(["replay", str(record), "--plain"])
    played = capfd.readouterr().out

    assert (status, replayed) == (0, 0)
    names = ("web", "of-url", "piped", f"static-file-{node}", f"static-url-{node}")
    for name in names:
        assert f"{name}/app started restart=0\n" in live_output
    inputs = [
        line["input"]
        for line in map(json.loads, record.read_text().splitlines())
        if line["type"] == "input" and (line["input"] or {}).get("is") == "SetPods"
    ]
    assert [
        (item.get("source", "api"), [pod["name"] for pod in item["pods"]])
        for item in inputs
    ] == [
        ("api", ["web", "of-url", "piped"]),
        ("file", [f"static-file-{node}"]),
        ("http", [f"static-url-{node}"]),
    ]
    assert "open-sesame" not in record.read_text()
    assert played == live_output


def test_a_static_pod_is_removed_with_its_file(
    capfd: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    static = tmp_path / "static"
    static.mkdir()
    manifest = static / "pod.yaml"
    manifest.write_text(POD.replace("web", "etcd"))
    threading.Timer(4, manifest.unlink).start()

    status = session(
        path, "--static", str(static), "--until", "event=Killing", "--timeout", "30s"
    )

    streams = capfd.readouterr()
    name = f"etcd-{platform.node().lower()}"
    assert status == 0
    assert f"note: {name} is no longer in its source" in streams.err
    assert f"{name}/app stopping grace=1s reason=pod" in streams.out
