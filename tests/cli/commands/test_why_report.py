"""`probetui why`: explanations of the containers in a record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeGuard

import pytest
import yaml
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

from probetui.cli.main import run
from probetui.drive.scenario.behavior import InstanceBehavior
from probetui.k8s.runtime import LogLine
from probetui.kubelet.journal import (
    ContainerEntry,
    JournalEntry,
    LastOutputEntry,
    LifecycleStep,
)
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.yaml.parser import SourceFile
from probetui.record.codec import SessionHeader
from probetui.record.format import RecordContext
from probetui.record.writer import Recorder, RecordWriter
from tests.builders import START, at
from tests.drive.engine_bench import FAILS, EngineBench, always, probing

MANIFEST = b"""\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 20
  containers:
    - name: app
      image: busybox
      livenessProbe:
        exec: {command: [cat, "/tmp/it's here"]}
        periodSeconds: 5
    - name: quiet
      image: busybox
"""


def a_loaded_pod() -> LoadedPod:
    (loaded,) = load_manifests([SourceFile("pod.yaml", MANIFEST)]).loaded
    return loaded


def write_record(path: Path, loaded: LoadedPod, journal: list[JournalEntry]) -> None:
    pods = {loaded.pod.uid: loaded.pod}
    context = RecordContext(START, pods)
    recorder = Recorder(RecordWriter.open(path), context)
    manifests = [("pod.yaml", loaded.manifest)]
    recorder.begin(SessionHeader("0.1.0", "process", "v1.32", {}, manifests, seed=3))
    recorder.consume(journal)
    recorder.end("left", 0, at(100))


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Return the record of a session in which liveness killed a container."""
    loaded, path = a_loaded_pod(), tmp_path / "session.jsonl"
    bench = EngineBench(loaded.pod, probing=probing(liveness=always(FAILS)))
    bench.run_until(40)
    write_record(path, loaded, bench.journal)
    return path


def test_it_explains_the_containers_that_exited(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(["why", str(record)])

    out = capsys.readouterr().out
    assert status == 0
    assert out.startswith("web/app is up, and its liveness probe failed 2 of 3 times")
    assert "Its instance 2 was killed at " in out
    assert ": its liveness probe failed 3 of 3 times in a row" in out
    assert "grace period 20s (the pod's terminationGracePeriodSeconds)." in out
    assert """    cat '/tmp/it'"'"'s here'\n""" in out
    assert "web/quiet" not in out


@pytest.mark.parametrize(
    "name", ["web/quiet", "quiet", "default/web/quiet", "default:web/quiet"]
)
def test_it_explains_the_given_container(
    record: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(["why", str(record), name])

    assert status == 0
    assert capsys.readouterr().out.startswith("web/quiet is up and ready")


def test_it_explains_all_containers_of_a_pod(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["why", "web", str(record)])

    headings = [
        line.split()[0]
        for line in capsys.readouterr().out.splitlines()
        if line[:1].strip()
    ]
    assert headings == ["web/app", "web/quiet"]


def test_it_reads_the_record_of_the_last_session_without_a_file(
    record: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last = home / "state" / "probetui" / "sessions" / "last.jsonl"
    last.parent.mkdir(parents=True)
    last.write_bytes(record.read_bytes())

    status = run(["why", "web/app"])

    assert status == 0
    assert ": its liveness probe failed 3 of 3" in capsys.readouterr().out


def test_it_explains_the_intact_part_of_a_truncated_record(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record.write_bytes(record.read_bytes()[:-30])

    status = run(["why", str(record)])

    captured = capsys.readouterr()
    assert status == 0
    assert "is damaged: cut off after " in captured.err
    assert ": its liveness probe failed 3 of 3" in captured.out


def test_a_container_that_never_exited_is_explained_by_its_last_decisions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded, path = a_loaded_pod(), tmp_path / "session.jsonl"
    bench = EngineBench(loaded.pod)
    bench.run_until(12)
    write_record(path, loaded, bench.journal)

    run(["why", str(path)])

    out = capsys.readouterr().out
    assert "Tick #3, liveness of web/app, at " in out
    assert "web/quiet is up and ready; it was started at " in out


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        pytest.param([], 5, "no session has been saved yet", id="no last session"),
        pytest.param(["gone.jsonl"], 2, "gone.jsonl: No such file", id="no file"),
        pytest.param(["a.jsonl", "b.jsonl"], 2, "not two records", id="two records"),
        pytest.param(["a", "b"], 2, "not two containers", id="two containers"),
        pytest.param(["a", "b", "c"], 2, "at most", id="too much"),
    ],
)
def test_invalid_arguments_are_refused(
    args: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", *args]) == status

    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""


def test_an_unknown_container_is_an_error_that_lists_the_known_ones(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", str(record), "web/ap"]) == 2

    assert '"web/ap" is not in' in (err := capsys.readouterr().err)
    assert "(has: web/app, web/quiet) (nearest: web/app)" in err


def test_a_record_without_containers_has_nothing_to_explain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "session.jsonl"
    write_record(path, a_loaded_pod(), [])

    assert run(["why", str(path)]) == 5

    assert "it has no containers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("form", "read"),
    [pytest.param("json", json.loads, id="json"), ("yaml", yaml.safe_load)],
)
def test_json_has_the_instances_and_why_they_exited(
    record: Path,
    capsys: pytest.CaptureFixture[str],
    form: str,
    read: Callable[[str], Any],
) -> None:
    status = run(["why", str(record), "-o", form])

    (report,) = read(capsys.readouterr().out)
    first = report["instances"][0]
    assert status == 0
    assert (report["namespace"], report["pod"], report["container"]) == (
        *("default", "web"),
        "app",
    )
    assert (first["by"], first["gracePeriodSeconds"]) == ("liveness", 20)
    assert first["killedBy"]["probe"] == "liveness"
    assert (first["killedBy"]["failures"], first["killedBy"]["threshold"]) == (3, 3)
    assert any(
        ": its liveness probe failed 3 of 3 times in a row" in sentence
        for explanation in report["explanations"]
        for sentence in explanation["sentences"]
    )


def test_json_has_the_last_ticks_of_a_running_container(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded, path = a_loaded_pod(), tmp_path / "session.jsonl"
    bench = EngineBench(loaded.pod)
    bench.run_until(20)
    write_record(path, loaded, bench.journal)

    run(["why", str(path), "app", "-o", "json"])

    (report,) = json.loads(capsys.readouterr().out)
    answer, explanation = report["explanations"]
    assert answer["subject"].startswith("web/app is up and ready")
    assert [cause["kind"] for cause in report["causes"]] == ["ready"]
    assert report["remedy"] is report["outlook"] is None
    assert explanation["subject"].startswith("Tick #")
    assert explanation["command"] == """cat '/tmp/it'"'"'s here'"""
    assert report["instances"][0]["exitedAt"] is None


HOSTILE = "`` [x](http://e.example) <img src=x> @octocat #1 | *b* ~~~"


@pytest.fixture
def crash_loop(tmp_path: Path) -> Path:
    """Return the record of a container that crashes, with a hostile probe."""
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(
        MANIFEST.decode().replace("/tmp/it's here", HOSTILE), encoding="utf-8"
    )
    script = tmp_path / "script.yaml"
    script.write_text("containers: {app: {lasts: 4s, exitCode: 1}}")
    path = tmp_path / "session.jsonl"
    line = ["sim", "-f", str(manifest), "--script", str(script), "--for", "1h"]
    assert run([*line, "-q", "--plain", "--record", str(path)]) == 0
    return path


def test_equal_instances_are_folded_in_every_form(
    crash_loop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folded = r"1-\d+  00:00:00-.*  lately every ~[56]m, each exited by itself, exit 1"

    for form in ((), ("--md",)):
        run(["why", str(crash_loop), *form])
        assert re.search(folded, capsys.readouterr().out)

    run(["why", str(crash_loop), "-o", "json"])
    (report,) = json.loads(capsys.readouterr().out)
    folded_runs = [each for each in report["instanceRuns"] if each["exitCode"] == 1]
    assert [each["first"] for each in folded_runs] == [1]
    assert folded_runs[0]["longestSeconds"] > 300


def test_it_prints_three_lines_for_each_container(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", str(record), "web", "--short"]) == 0

    first, second = capsys.readouterr().out.split("\n\n")
    assert first.startswith("web/app is up, and its liveness probe failed 2 of 3")
    assert [line[:2] for line in first.splitlines()] == ["we", "  ", "  "]
    assert second.startswith("web/quiet is up and ready")


def test_it_prints_markdown_for_a_ticket(
    crash_loop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", str(crash_loop), "app", "--md"]) == 0

    markdown = capsys.readouterr().out
    tokens = MarkdownIt("gfm-like").parse(markdown)
    kinds = {inner.type for token in tokens for inner in token.children or ()}
    kinds |= {token.type for token in tokens}
    blocks = [token.content for token in tokens if token.type == "fence"]
    assert not kinds & {"link_open", "html_block", "html_inline", "image", "table_open"}
    assert any("livenessProbe:\n" in block and HOSTILE in block for block in blocks)
    assert "terminationGracePeriodSeconds: 20" in markdown
    assert "\nMore: `probetui why --page exited`\n" in markdown
    assert re.search(
        r"^probetui \S+, kubelet 1\.36, sim; the session began at "
        r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d$",
        markdown,
        re.MULTILINE,
    )
    again = re.search(r"To repeat the session: `(.*)`", markdown)
    assert again is not None
    assert again[1].startswith("probetui sim -f ")
    assert run([*again[1].split()[1:], "--plain", "-q", "--for", "5s"]) == 0


@pytest.mark.parametrize(
    "forms", [("--md", "--short"), ("--md", "-o", "json"), ("--short", "-o", "yaml")]
)
def test_two_forms_at_once_are_refused(
    record: Path, forms: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", str(record), *forms]) == 2

    assert "are two forms: choose one" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["record", "crash_loop"])
def test_json_is_valid_by_its_schema(
    name: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    path: Path = request.getfixturevalue(name)
    run(["schema", "why"])
    schema = json.loads(capsys.readouterr().out)

    run(["why", str(path), "web", "-o", "json"])

    report = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema).validate(report)
    del report[0]["instances"][0]["exitCode"]
    assert not Draft202012Validator(schema).is_valid(report)


class TestAt:
    """`--at`: the answer as of an instant of the record."""

    @pytest.fixture
    def slow_init(self, tmp_path: Path) -> Path:
        """Return the record of a pod whose init container takes 20 s."""
        manifest, script = tmp_path / "pod.yaml", tmp_path / "script.yaml"
        manifest.write_text(
            "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {"
            "initContainers: [{name: migrate, image: a}], "
            "containers: [{name: app, image: b}]}}",
            encoding="utf-8",
        )
        script.write_text("containers: {migrate: {lasts: 20s, exitCode: 0}}")
        path = tmp_path / "session.jsonl"
        line = ["sim", "-f", str(manifest), "--script", str(script), "--for", "40s"]
        assert run([*line, "-q", "--plain", "--record", str(path)]) == 0
        return path

    @pytest.mark.parametrize(
        "at", ["10s", "+10s", "0:10", "-30s", "2026-01-01T00:00:10Z"]
    )
    def test_a_container_that_was_not_created_yet_says_what_it_waits_for(
        self, slow_init: Path, at: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["why", str(slow_init), "web/app", "--at", at]) == 0

        first, second, *_ = capsys.readouterr().out.splitlines()
        assert first == (
            "web/app has not been created: it waits for init container migrate"
        )
        assert second.startswith("  because migrate is running; it was started at ")

    def test_at_the_end_it_is_up(
        self, slow_init: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["why", str(slow_init), "web/app"]) == 0
        assert capsys.readouterr().out.startswith("web/app is up and ready; ")

    @pytest.mark.parametrize("at", ["soon", "5m", "2026-01-01T00:00:10"])
    def test_what_is_no_instant_of_the_record_is_refused(
        self, slow_init: Path, at: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["why", str(slow_init), "--at", at]) == 2
        assert f"--at {at}" in capsys.readouterr().err.replace('"', "")


def test_it_explains_what_was_so_at_the_end_of_a_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, path = tmp_path / "pod.yaml", tmp_path / "session.jsonl"
    manifest.write_bytes(
        MANIFEST.replace(
            b"livenessProbe:",
            b"lifecycle: {postStart: {exec: {command: [warm]}}}\n      livenessProbe:",
        )
    )
    script = tmp_path / "script.yaml"
    script.write_text("containers: {app: {postStart: 1h}}")
    line = ["sim", "-f", str(manifest), "--script", str(script), "--for", "90s"]
    assert run([*line, "-q", "--plain", "--record", str(path)]) == 0

    run(["why", str(path), "web/app", "--short"])

    assert "its postStart hook has run for 1m30s" in capsys.readouterr().out


def test_a_ticket_has_what_a_container_printed_last_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded, path = a_loaded_pod(), tmp_path / "session.jsonl"
    crashes = InstanceBehavior(timedelta(seconds=4), exit_code=1)
    bench = EngineBench(loaded.pod, lives={"app": (crashes,)})
    bench.run_until(6)
    journal = list(bench.journal)
    exited = next(entry for entry in journal if is_exit(entry))
    printed = LastOutputEntry(
        journal[-1].sequence + 1,
        exited.at,
        exited.pod_uid,
        exited.container_name,
        exited.container_id,
        exited.restart_count,
        (LogLine(exited.at, "```"), LogLine(exited.at, f"fatal: {HOSTILE}")),
        "",
    )
    write_record(path, loaded, [*journal, printed])

    assert run(["why", str(path), "app", "--md"]) == 0

    markdown = capsys.readouterr().out
    tokens = MarkdownIt("gfm-like").parse(markdown)
    assert "It last printed:" in markdown
    assert f"  ```\n  fatal: {HOSTILE}\n" in [
        token.content for token in tokens if token.type == "fence"
    ]


def is_exit(entry: JournalEntry) -> TypeGuard[ContainerEntry]:
    return isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.EXITED
