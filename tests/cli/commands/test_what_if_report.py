"""`probetui whatif` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from probetui.cli.commands.what_if_report import parse_values
from probetui.cli.main import run
from probetui.errors import UsageError
from probetui.presentation.what_if import bar
from tests.drive.what_if.recorded import simulate
from tests.drive.what_if.test_rerun import ONE_OUTAGE
from tests.golden.test_records import RECORDS


@pytest.fixture
def session(tmp_path: Path) -> str:
    folder = tmp_path / "session"
    folder.mkdir()
    return str(simulate(folder, ONE_OUTAGE))


def test_no_difference_gives_status_0(
    session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(["whatif", session, "--set", "app.livenessProbe.periodSeconds=5"])

    out, err = capsys.readouterr()
    assert status == 0
    assert "RECORDED" not in out
    assert "the containers are as recorded to the end" in err


def test_a_kill_that_would_not_have_happened_is_a_row(
    session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(
        ["whatif", session, "--set", "web/app.livenessProbe.failureThreshold=9"]
    )

    out, err = capsys.readouterr()
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert status == 1
    assert rows[0] == "AT CONTAINER RECORDED WHAT IF"
    assert "+45.0s web/app killed: liveness 3/3 -" in rows
    assert "+75.0s web/app - killed: liveness 9/9 (6 not measured)" in rows
    assert "as recorded until +45.0s, simulated from then on" in err
    assert "probes were never measured: " in err


def test_json_has_the_same_content(
    session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["whatif", session, "--set", "app.livenessProbe.failureThreshold=9"]
    printed = []
    for form in ("json", "yaml"):
        run([*words, "-o", form])
        printed.append(capsys.readouterr().out)

    report = json.loads(printed[0])
    assert report == yaml.safe_load(printed[1])
    (container,) = report["containers"]
    assert container["recorded"]["kills"] > container["whatIf"]["kills"]
    assert report["differences"][0]["recorded"] == "killed: liveness 3/3"
    assert report["unmeasured"]["after"] > 0


def test_a_sweep_is_a_table_with_bars(
    session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "app.livenessProbe.failureThreshold"
    status = run(["whatif", session, "--sweep", f"{path}=1..3", "--ascii"])

    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert status == 1
    assert rows[0] == ["web/app:", "failureThreshold", "of", "its", "liveness", "probe"]
    one, two, three = (next(r for r in rows if r[:1] == [n]) for n in "123")
    assert int(one[1]) >= int(two[1]) >= int(three[2])
    assert one[2] == "#" * 20
    assert three[1] == "(recorded)"


def test_a_sweep_has_its_rows_in_json(
    session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "app.livenessProbe.periodSeconds"
    run(["whatif", session, "--sweep", f"{path}=5,10", "-o", "json"])

    report = json.loads(capsys.readouterr().out)
    assert [row["value"] for row in report["values"]] == ["5", "10"]
    assert [row["isRecorded"] for row in report["values"]] == [True, False]
    assert (report["probe"], report["field"]) == ("liveness", "periodSeconds")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        pytest.param(
            "--set",
            "failureThreshold=5",
            "there is more than one such probe (web/app.livenessProbe, "
            "web/app.readinessProbe)",
            id="ambiguous",
        ),
        pytest.param(
            "--set",
            "app.livenessProbe.exec.command=x",
            "the record has no results of another handler",
            id="handler",
        ),
        pytest.param(
            "--set",
            "app.livenessProbe.httpGet.port=8080",
            "the record has no results of another handler",
            id="port",
        ),
        pytest.param(
            "--set",
            "app.livenessProbe.periodSecond=5",
            "(nearest: periodSeconds)",
            id="misspelt",
        ),
        pytest.param(
            "--set",
            "app.startupProbe.periodSeconds=5",
            "the record has no such probe (has: web/app.livenessProbe",
            id="no-such-probe",
        ),
        pytest.param("--set", "app.image=other", "only probe settings", id="no-probe"),
        pytest.param(
            "--set",
            "app.livenessProbe.periodSeconds=-1",
            "--set app.livenessProbe.periodSeconds=-1: "
            "spec.containers[0].livenessProbe.periodSeconds: is -1, must be greater",
            id="negative",
        ),
        pytest.param(
            "--set",
            "web/app.livenessProbe.successThreshold=2",
            "--set web/app.livenessProbe.successThreshold=2: "
            "spec.containers[0].livenessProbe.successThreshold: is 2, must be 1",
            id="refused-by-the-api-server",
        ),
        pytest.param(
            "--sweep",
            "app.livenessProbe.successThreshold=1..3",
            "--sweep app.livenessProbe.successThreshold=2: "
            "spec.containers[0].livenessProbe.successThreshold: is 2, must be 1",
            id="refused-in-a-sweep",
        ),
        pytest.param(
            "--sweep",
            "app.livenessProbe.periodSeconds=1..x",
            '"1..x" is no value; write 1..10 or 5,10,20',
            id="no-range",
        ),
        pytest.param(
            "--kubelet", "1.14", '--kubelet: "1.14" is not one of', id="no-version"
        ),
    ],
)
def test_changes_that_cannot_be_simulated_are_refused_with_the_reason(
    option: str,
    value: str,
    message: str,
    session: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["whatif", session, option, value]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert "nothing was started" not in errors


def test_a_value_that_an_api_server_replaces_is_reported(
    session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    option = "app.livenessProbe.failureThreshold=0"

    run(
        [
            "whatif",
            session,
            "--set",
            option,
            "--set",
            "app.livenessProbe.periodSeconds=5",
        ]
    )

    errors = capsys.readouterr().err
    assert f"--set {option}: as in a manifest that is the default, 3" in errors
    assert errors.count("as in a manifest") == 1


@pytest.mark.parametrize("command", ["whatif", "fit"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("compressed/later-part", "a later part of a session", id="later"),
    ],
)
def test_a_record_that_cannot_be_rerun_is_refused_with_the_reason(
    command: str,
    name: str,
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    record = tmp_path / "record.jsonl.gz"
    record.write_bytes((RECORDS / "1" / f"{name}.jsonl.gz").read_bytes())

    assert run([command, str(record)]) == 2
    assert reason in capsys.readouterr().err


@pytest.fixture
def observed(tmp_path: Path) -> str:
    """A record of `watch`: one container was killed once, another five times."""
    record = tmp_path / "observed.jsonl.gz"
    record.write_bytes((RECORDS / "1/observed.jsonl.gz").read_bytes())
    return str(record)


def _observed(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    value = json.loads(capsys.readouterr().out)
    return {each["pod"]: each for each in value["containers"]}


def test_an_observed_record_has_its_kills(
    observed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["whatif", observed, "-o", "json"]) == 0

    found = _observed(capsys)
    assert found["exec-liveness"]["kills"] == [1, 1]
    assert found["probe-grace"]["kills"] == [5, 5]
    assert all(each["exact"] for each in found.values())


def test_a_higher_threshold_of_an_observed_record_is_bounded(
    observed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    setting = "probe-grace/app.livenessProbe.failureThreshold=9"

    assert run(["whatif", observed, "--set", setting, "-o", "json"]) == 1

    (trial,) = _observed(capsys).values()
    assert trial["kills"] == [0, 5]
    assert trial["spared"] == [0, 5]
    assert trial["exact"] is False
    assert "after a kill is not known" in trial["reasons"][0]


def test_a_sweep_of_an_observed_record_is_a_table(
    observed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    swept = "exec-liveness/liveness.livenessProbe.failureThreshold=1..4"

    assert run(["whatif", observed, "--sweep", swept]) == 1

    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split()[:2] == ["VALUE", "CONTAINER"]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4"]
    assert "3 (recorded)" in rows[2]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--kubelet", "1.28"], "what another kubelet would have decided is not in it"),
        (["--set", "app.readinessProbe.periodSeconds=2"], "has no such probe"),
        (["--set", "failureThreshold=2"], "there is more than one such probe"),
    ],
)
def test_what_an_observed_record_cannot_answer_is_refused_with_the_reason(
    options: list[str],
    reason: str,
    observed: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["whatif", observed, *options]) == 2
    assert reason in capsys.readouterr().err


def test_an_observed_record_is_fitted_by_what_it_has(
    observed: str, session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fit", observed, "-o", "json"]) == 1

    first, second = json.loads(capsys.readouterr().out)
    assert first["recorded"]["livenessProbe"]["kills"] == [1, 1]
    assert len(first["starts"]["seconds"]) == 2
    # Each of these was killed before it had succeeded once.
    assert second["starts"]["unfinished"][1] > 0
    assert second["probes"] == {}
    assert run(["fit", observed, session]) == 2
    assert "fit them apart" in capsys.readouterr().err
    assert run(["fit", session, "-o", "patch"]) == 2
    assert "as --prometheus has them" in capsys.readouterr().err


def test_a_probe_unknown_to_the_version_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "grpc"
    folder.mkdir()
    pod = (
        "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: "
        "[{name: app, image: app, livenessProbe: {grpc: {port: 1}}}]}}"
    )
    record = simulate(folder, "containers: {}", pod=pod)

    assert run(["whatif", str(record), "--kubelet", "1.20"]) == 2
    err = capsys.readouterr().err
    assert "pod web, read as Kubernetes 1.20 does: spec.containers[0]" in err


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("1..4", ("1", "2", "3", "4"), id="range"),
        pytest.param("5,10,20", ("5", "10", "20"), id="list"),
        pytest.param("1..3,3,10", ("1", "2", "3", "10"), id="both"),
        pytest.param("7", ("7",), id="one"),
    ],
)
def test_values_of_a_sweep_are_ranges_and_lists(
    text: str, values: tuple[str, ...]
) -> None:
    assert parse_values(text, text) == values


@pytest.mark.parametrize("text", ["1..1000", "5..1", "", "a", "-1"])
def test_other_values_of_a_sweep_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--sweep"):
        parse_values(text, text)


def test_a_bar_is_proportional_to_the_maximum() -> None:
    assert bar(10, 10, is_ascii=False) == "█" * 20
    assert bar(1, 16, is_ascii=False) == "█▎"
    assert bar(5, 10, is_ascii=True) == "#" * 10
    assert bar(0, 0, is_ascii=True) == ""
