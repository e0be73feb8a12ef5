"""`probetui fit` on the command line: from a record to settings that are verified."""

from __future__ import annotations

import json
import random
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from probetui.cli.commands.fit_report import parse_rate
from probetui.cli.main import run
from probetui.errors import UsageError
from probetui.kubelet.journal import TickAction, TickEntry
from tests.drive.what_if.recorded import replay_of, simulate

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, uid: web-uid}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: app
      startupProbe:
        exec: {command: [check]}
        periodSeconds: 1
        failureThreshold: 100
      livenessProbe:
        exec: {command: [check]}
        periodSeconds: 5
        failureThreshold: 10
"""
LENGTH = "20m"
RATE = ["--false-kills", "1/1d", "--notice", "90s"]


def script(seed: int) -> str:
    """Return a script: instances start in 4 to 6 s, with runs of 1 or 2 failures."""
    draw = random.Random(seed)
    lives: list[dict[str, Any]] = []
    for _ in range(6):
        starts = draw.choice([4, 5, 6])
        liveness: list[dict[str, Any]] = []
        for _ in range(3):
            liveness += (
                {"result": "success", "times": draw.randint(4, 9)},
                {"result": "failure", "times": draw.randint(1, 2)},
            )
        lives.append(
            {
                "lasts": "150s",
                "exitCode": 1,
                "startup": [{"result": "failure", "until": f"{starts}s"}, "success"],
                "liveness": [*liveness, "success"],
            }
        )
    return json.dumps({"containers": {"web/app": lives}})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("session")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        return simulate(folder, script(1), pod=POD, length=LENGTH)


@pytest.mark.sweep
def test_a_fitted_pod_kills_no_healthy_container_and_detects_a_dead_one_in_time(
    session: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fit", str(session), *RATE, "-o", "json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    manifest = yaml.safe_load(POD)
    manifest["spec"]["containers"][0].update(report["probes"])
    pod = yaml.safe_dump(manifest)

    healthy = replay_of(simulate(folder, script(2), pod=pod, length=LENGTH))

    def kills(entries: tuple[object, ...]) -> list[TickEntry]:
        return [
            entry
            for entry in entries
            if isinstance(entry, TickEntry) and entry.action is TickAction.KILL
        ]

    assert kills(healthy.journal) == []
    for second in range(60, 65):
        dies = [{"result": "success", "until": f"{second}s"}, "timeout"]
        life = {"web/app": {"startup": ["success"], "liveness": dies}}
        dead = replay_of(
            simulate(folder, json.dumps({"containers": life}), pod=pod, length="3m")
        )
        first = kills(dead.journal)[0]
        after = (first.at - dead.started_at).total_seconds() - second
        assert 0 < after <= report["noticedSeconds"] <= 90


def test_the_text_is_yaml_to_paste_with_the_command_that_verifies_it(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fit", str(session), *RATE]) == 0
    out = capsys.readouterr().out
    pasted = yaml.safe_load(out)
    comments = [line[2:] for line in out.splitlines() if line.startswith("# ")]

    assert set(pasted) == {"startupProbe", "livenessProbe"}
    assert pasted["livenessProbe"]["exec"] == {"command": ["check"]}
    assert comments[0] == f"web/app, from {session}"
    assert any(line.startswith("starts: ") for line in comments)
    (proof,) = (line for line in comments if line.startswith("probetui whatif"))
    assert run(shlex.split(proof)[1:]) in {0, 1}
    # No kill is left: none of the recorded ones was, and none is added.
    assert "killed" not in capsys.readouterr().out


@pytest.mark.sweep
def test_several_records_count_together(
    session: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = simulate(folder, script(3), pod=POD, length=LENGTH)
    counts = []
    for records in ([session], [session, other]):
        run(["fit", *map(str, records), *RATE, "-o", "json"])
        (report,) = json.loads(capsys.readouterr().out)
        counts.append((report["starts"]["count"], report["liveness"]["probes"]))

    assert counts[1][0] == 2 * counts[0][0]
    assert counts[1][1] > 1.5 * counts[0][1]


def test_a_record_given_twice_is_refused(
    session: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = folder / "last.jsonl"
    link.symlink_to(session)

    assert run(["fit", str(session), str(link)]) == 2

    assert f"{link} is given twice" in capsys.readouterr().err


def test_too_few_measurements_are_reported_without_a_guess(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = simulate(folder, script(1), pod=POD, length="1m")

    status = run(["fit", str(short)])

    out, err = capsys.readouterr()
    assert status == 1
    assert yaml.safe_load(out) is None
    assert "web/app: livenessProbe: 11 probes of the running container seen" in err
    assert "web/app: startupProbe: 1 start seen; 5 are needed" in err


def test_a_startup_probe_that_is_not_there_has_no_errors(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = yaml.safe_load(POD)
    del manifest["spec"]["containers"][0]["startupProbe"]
    life = {"web/app": {"liveness": ["success"]}}
    record = simulate(
        folder,
        json.dumps({"containers": life}),
        pod=yaml.safe_dump(manifest),
        length=LENGTH,
    )

    status = run(["fit", str(record), *RATE])

    out, err = capsys.readouterr()
    assert status == 0
    assert set(yaml.safe_load(out)) == {"livenessProbe"}
    assert "# no startup probe is proposed: 1 start seen; 5 are needed" in out
    assert "startupProbe" not in err


def test_starts_that_a_kill_interrupted_are_not_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = json.dumps({"containers": {"web/app": {"startup": ["failure"]}}})
    record = simulate(
        folder, slow, "app.startupProbe.failureThreshold=3", pod=POD, length="3m"
    )

    assert run(["fit", str(record)]) == 1
    assert "starts were ended before a first success" in capsys.readouterr().err


def test_another_handler_is_another_measurement(
    folder: Path, session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = simulate(
        folder, script(1), pod=POD.replace("[check]", "[other]"), length="1m"
    )

    assert run(["fit", str(session), str(other)]) == 2
    err = capsys.readouterr().err
    assert f"{other}: the startupProbe of web/app has another handler than in" in err


def test_an_unknown_container_is_refused(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fit", str(session), "-c", "db"]) == 2
    assert 'none is called "db" (has: web/app)' in capsys.readouterr().err


def test_a_pod_without_a_probe_that_kills_has_nothing_to_fit(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = (
        "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: "
        "{containers: [{name: app, image: app}]}}"
    )
    record = simulate(folder, "containers: {}", pod=pod)

    assert run(["fit", str(record)]) == 5
    err = capsys.readouterr().err
    assert f"{record}: no container has a liveness or startup probe" in err


@pytest.mark.parametrize(
    ("text", "every"),
    [
        pytest.param("1/30d", timedelta(days=30), id="days"),
        pytest.param("2/30d", timedelta(days=15), id="twice"),
        pytest.param("1/12h", timedelta(hours=12), id="hours"),
        pytest.param("0.1%", timedelta(days=1000), id="percent-of-days"),
        pytest.param("0.001", timedelta(days=1000), id="probability-in-a-day"),
    ],
)
def test_a_rate_is_a_count_per_time_or_a_probability_per_day(
    text: str, every: timedelta
) -> None:
    assert parse_rate(text) == every


@pytest.mark.parametrize(
    "text", ["", "never", "0/30d", "0%", "1/", "1/0d", "2", "-1/30d", "1/month", "nan"]
)
def test_other_rates_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--false-kills"):
        parse_rate(text)
