"""`probetui versions` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probetui.cli.commands.inspection import versions
from probetui.cli.main import run
from probetui.drive.version_comparison import built_in_scripts
from probetui.kubelet_rules import ROWS

SAMPLE = str(Path(__file__).parents[3] / "sample_pods" / "startup-slow.yaml")


def compare(*args: str) -> int:
    return run(["versions", "-f", SAMPLE, *args])


def test_a_table_has_a_row_for_each_range_of_versions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = compare("--from", "1.33", "--to", "1.36", "--script", "healthy")

    out, err = capsys.readouterr()
    lines = out.splitlines()
    rows = [line.split()[:4] for line in lines]
    assert status == 1
    assert rows[0] == ["VERSIONS", "SCRIPT", "AT", "WHAT"]
    place = next(n for n, line in enumerate(lines) if line.startswith("The runtime is"))
    assert rows[place + 1] == ["1.33", "to", "1.35", "healthy"]
    assert rows[place + 2][:2] == ["1.36", "healthy"]
    assert "from 1.33 to 1.36; --texts adds the words of messages" in err


@pytest.mark.sweep
def test_a_table_has_sentences_and_no_names_of_attributes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for output in ("table", "wide"):
        compare("--from", "1.33", "--texts", "-o", output)

        words = capsys.readouterr().out.replace("`", " ").split()
        assert not {*ROWS} & {*words}


def test_texts_are_listed_only_where_they_are_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    args = ("--from", "1.33", "--to", "1.36", "--script", "healthy")
    outputs = []
    for asked in ((), ("--texts",)):
        compare(*args, *asked)
        outputs.append(capsys.readouterr().out)

    assert "The message of the event Created." not in outputs[0]
    assert outputs[1].startswith(outputs[0])
    assert "The message of the event Created." in outputs[1]


def test_each_sentence_of_a_rule_can_stand_alone() -> None:
    unclear = ("Such ", "So ", "Those ", "They ", "It ")

    assert [name for name, row in ROWS.items() if row.about.startswith(unclear)] == []


def test_json_has_the_same_content(capsys: pytest.CaptureFixture[str]) -> None:
    compare(
        "--from", "1.34", "--to", "1.35", "--script", "healthy", "-o", "json", "--texts"
    )

    report = json.loads(capsys.readouterr().out)
    found = {difference["field"]: difference for difference in report["differences"]}
    assert report["versions"] == ["1.34", "1.35"]
    assert report["scripts"] == ["healthy"]
    assert found["created_text"]["before"]["versions"] == ["1.34", "1.34"]
    assert found["created_text"]["after"]["what"] == "Normal Created Container created"
    assert found["created_text"]["since"] == "1.35"
    assert "k/k#134043" in found["created_text"]["about"]


@pytest.mark.parametrize(
    ("args", "status"),
    [
        pytest.param(("--from", "1.36", "--to", "1.37"), 0, id="nothing differs"),
        pytest.param(("--from", "1.34", "--to", "1.35"), 1, id="something differs"),
    ],
)
def test_the_exit_status_shows_whether_an_upgrade_changes_something(
    args: tuple[str, ...], status: int
) -> None:
    assert compare(*args, "--script", "crash-loop") == status


def test_gates_apply_to_the_versions_that_have_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gate = ("--feature-gates", "ExecProbeTimeout=false")
    args = ("--from", "1.19", "--to", "1.20", "--script", "times-out", "-o", "json")

    fields = []
    for given in ((), gate):
        compare(*args, *given)
        report = json.loads(capsys.readouterr().out)
        fields.append({difference["field"] for difference in report["differences"]})

    assert "exec_timeout_is_failure" in fields[0]
    assert "exec_timeout_is_failure" not in fields[1]


def test_a_gate_that_none_of_the_versions_has_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gate = ("--feature-gates", "ExecProbTimeout=false")

    assert compare("--from", "1.19", "--to", "1.20", *gate) == 2

    assert "(nearest: ExecProbeTimeout)" in capsys.readouterr().err


def test_a_custom_script_is_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("containers: {slow: {lasts: 5s, exitCode: 2}}\n")

    compare("--from", "1.34", "--to", "1.35", "--script", str(script), "-o", "json")

    (name,) = json.loads(capsys.readouterr().out)["scripts"]
    assert name == str(script)


SIDECAR = """\
apiVersion: v1
kind: Pod
metadata: {name: w}
spec:
  initContainers:
    - {name: s, image: i, restartPolicy: Always, livenessProbe: {httpGet: {port: 80}}}
  containers: [{name: c, image: i}]
"""


def test_a_pod_that_an_earlier_version_refuses_is_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text(SIDECAR)

    status = run(
        ["versions", "-f", str(pod), "--from", "1.28", "--to", "1.32", "-o", "json"]
    )

    found = json.loads(capsys.readouterr().out)["differences"]
    (sidecars,) = (
        difference for difference in found if difference["field"] == "sidecars"
    )
    assert status == 1
    assert sidecars["before"]["what"] == (
        "refuses spec.initContainers[0].livenessProbe: only an init container with "
        "restartPolicy: Always may have probes"
    )


def test_a_pod_that_the_last_version_refuses_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text(SIDECAR)

    assert run(["versions", "-f", str(pod), "--to", "1.28"]) == 2
    assert "only an init container" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param(
            ("--from", "1.36", "--to", "1.34"), "--from 1.36 --to 1.34", id="backwards"
        ),
        pytest.param(
            ("--script", "helthy"), '"helthy" is no script and no file', id="script"
        ),
        pytest.param(("--to", "1.99"), "nearest: 1.37", id="version"),
    ],
)
def test_invalid_options_are_refused(
    args: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(*args) == 2
    assert words in capsys.readouterr().err


def test_the_help_names_every_script() -> None:
    (option,) = (
        parameter for parameter in versions.params if parameter.name == "scripts"
    )

    for name in built_in_scripts(()):
        assert name in str(option.help)


def test_a_wide_table_explains_every_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    args = ("--from", "1.34", "--to", "1.35", "--script", "healthy")
    compare(*args, "--texts", "-o", "wide", "--no-headers")

    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("1.3") for line in lines)
    assert any("The message of the event Created" in line for line in lines)
    assert any("k/k#134043" in line for line in lines)


def test_name_output_lists_the_differences(
    capsys: pytest.CaptureFixture[str],
) -> None:
    args = ("--from", "1.34", "--to", "1.35", "--script", "healthy")
    compare(*args, "-o", "name")
    names = capsys.readouterr().out.split()
    compare(*args, "-o", "json")

    report = json.loads(capsys.readouterr().out)
    assert set(names) == {difference["field"] for difference in report["differences"]}
    assert len(names) == len(set(names))


REFUSED_SOONER_OR_LATER = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  hostAliases: [{ip: 010.0.0.1, hostnames: [a]}]
  volumes: [{name: v, gitRepo: {repository: r}}]
  containers:
  - {name: app, image: busybox, lifecycle: {preStop: {sleep: {seconds: 0}}}}
"""


def test_a_pod_that_only_one_version_refuses_is_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(REFUSED_SOONER_OR_LATER)
    args = ["--from", "1.32", "--to", "1.36", "--script", "healthy"]

    assert run(["versions", "-f", str(file), *args, "--texts", "-o", "json"]) == 1

    report = json.loads(capsys.readouterr().out)
    found = {difference["field"]: difference for difference in report["differences"]}
    sleep = found["zero_sleep"]["before"]
    assert (sleep["versions"], sleep["at"]) == (["1.32", "1.32"], None)
    assert sleep["what"].startswith(
        "refuses spec.containers[0].lifecycle.preStop.sleep"
    )
    address = found["strict_addresses"]["after"]
    assert address["versions"] == ["1.36", "1.36"]
    assert address["what"].startswith("refuses spec.hostAliases[0].ip")
    assert "disabled by default" in found["git_repo_warning"]["after"]["what"]


def test_a_pod_that_no_version_accepts_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(REFUSED_SOONER_OR_LATER)

    status = run(["versions", "-f", str(file), "--from", "1.36", "--to", "1.37"])

    assert status == 2
    assert "must not have leading 0s" in capsys.readouterr().err


def test_a_pod_that_cannot_start_in_any_version_is_reported_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c,"
        " image: i, envFrom: [{configMapRef: {name: absent}}]}]}}"
    )

    run(["versions", "-f", str(file), "--from", "1.36", "--script", "healthy"])

    assert 'ConfigMap "absent" is not in the given files' in capsys.readouterr().err
