"""The command that runs cases, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conformance.cases import PASSES
from tests.conformance.evaluator import Verdict
from tests.conformance.observe import Outcome, summary

HERE = Path(__file__).parent
PROGRAM = """
import datetime, json, sys
now = datetime.datetime.now(datetime.UTC).isoformat()
print(json.dumps({"type": "session", "t": 0, "ts": now}))
sys.exit("it ended")
"""
CASE = {
    "id": "ends-at-once",
    "duration": 5,
    "pod": {"metadata": {"name": "a"}, "spec": {"containers": []}},
    "expect": [{"phase": {"is": "Running", "within": 3}}],
    "kubelet": PASSES,
}
GOOD = Verdict("phase", holds=True, detail="")
BAD = Verdict("phase", holds=False, detail="no status")


@pytest.mark.slow
def test_the_command_writes_observations_and_prints_failures(tmp_path: Path) -> None:
    program = tmp_path / "probetui"
    program.write_text(f"#!{sys.executable}{PROGRAM}", encoding="utf-8")
    program.chmod(0o755)
    cases = tmp_path / "cases"
    cases.mkdir()
    (cases / "one.yaml").write_text(yaml.safe_dump(CASE), encoding="utf-8")
    out = tmp_path / "out"
    command = [sys.executable, HERE / "observe.py", cases, "--program", program]

    result = subprocess.run(
        [*map(str, command), "--out", str(out)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )

    lines = (out / "ends-at-once.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["submitted", "end"]
    assert (out / "ends-at-once.stderr").read_text(encoding="utf-8") == "it ended\n"
    assert result.returncode == 1
    assert result.stdout == (
        "docker   failed   ends-at-once\n"
        '    FAIL {"phase": {"is": "Running", "within": 3}} -> no status\n'
        "    | it ended\n"
        "0 passed, 0 left out, 1 failed\n"
    )


@pytest.mark.parametrize(
    ("outcome", "word", "is_as_on_a_kubelet"),
    [
        pytest.param(Outcome(CASE, "docker", verdicts=[GOOD]), "passed", True, id="ok"),
        pytest.param(
            Outcome(CASE, "docker", verdicts=[BAD]), "failed", False, id="bad"
        ),
        pytest.param(
            Outcome(CASE | {"kubelet": "fails"}, "docker", verdicts=[BAD]),
            "failed",
            True,
            id="bad-on-a-kubelet-too",
        ),
        pytest.param(
            Outcome(CASE, "process", left_out="needs images"),
            "left out",
            True,
            id="left-out",
        ),
    ],
)
def test_an_outcome_is_compared_with_that_of_a_kubelet(
    outcome: Outcome,
    word: str,
    is_as_on_a_kubelet: bool,  # noqa: FBT001  # a column of the table
) -> None:
    assert (outcome.word, outcome.is_as_on_a_kubelet) == (word, is_as_on_a_kubelet)


def test_failures_are_printed_last() -> None:
    outcomes = [
        Outcome(CASE | {"id": "a"}, "docker", verdicts=[GOOD, BAD]),
        Outcome(CASE | {"id": "b"}, "process", left_out="needs images"),
        Outcome(CASE | {"id": "c"}, "docker", verdicts=[GOOD]),
    ]

    assert summary(outcomes).splitlines() == [
        "docker   passed   c",
        "process  left out b",
        "    needs images",
        "docker   failed   a",
        "    FAIL phase -> no status",
        "1 passed, 1 left out, 1 failed",
    ]
