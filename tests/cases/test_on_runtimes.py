"""Cases for which a real server, command or runtime is needed, as a user runs them.

`run` until the condition or the time is over, with a record; then `why` of the record.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml
from msgspec import Struct, convert

from tests.e2e.program import Program
from tests.engines import CRI_ENDPOINT

CASES = Path(__file__).parent / "on_runtimes"
CERTIFICATE = Path(__file__).parents[1] / "probers" / "certificates" / "selfsigned.pem"
OPTIONS = {
    "process": ("--runtime", "process"),
    "docker": ("--runtime", "docker"),
    "cri": ("--runtime", "cri", "-r", CRI_ENDPOINT),
}

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """What `why` says of a container in its first two lines, anywhere, and never.

    `until` is what the run says when its condition was not met.
    """

    container: str
    says: tuple[str, ...] = ()
    anywhere: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    until: tuple[str, ...] = ()


class RunCase(Struct, frozen=True, forbid_unknown_fields=True):
    """The runtimes on which a pod runs, for how long, and the questions about it."""

    runtimes: tuple[str, ...]
    until: str
    answers: tuple[Asked, ...]
    timeout: str = "60s"


def _read(path: Path, port: int = 0) -> tuple[RunCase, str]:
    text = path.read_text()
    for name, value in (
        ("$PYTHON", sys.executable),
        ("$PORT", str(port)),
        ("$CERTIFICATE", str(CERTIFICATE)),
    ):
        text = text.replace(name, value)
    head, _, manifest = text.partition("\n---\n")
    return convert(yaml.safe_load(head), RunCase), manifest


RUNS = [
    pytest.param(
        path,
        runtime,
        id=f"{path.stem}-{runtime}",
        marks=() if runtime == "process" else getattr(pytest.mark, runtime),
    )
    for path in sorted(CASES.glob("*.yaml"))
    for runtime in _read(path)[0].runtimes
]


@pytest.mark.parametrize(("path", "runtime"), RUNS)
def test_a_case_is_explained(
    path: Path,
    runtime: str,
    tmp_path: Path,
    program: Program,
    namespace: str,
    unused_tcp_port: int,
) -> None:
    case, manifest = _read(path, unused_tcp_port)
    pod, record = tmp_path / "pod.yaml", tmp_path / "record.jsonl"
    pod.write_text(manifest)

    ran = program.run(
        *("run", "-f", str(pod), *OPTIONS[runtime], "-n", namespace, "--plain"),
        *("--until", case.until, "--timeout", case.timeout, "--record", str(record)),
        seconds=120,
    )

    for asked in case.answers:
        why = program.run("why", str(record), asked.container).stdout
        lead = "\n".join(why.splitlines()[:2])
        said = f"{ran.stderr}\n{why}"
        assert [text for text in asked.says if text not in lead] == [], said
        assert [text for text in asked.anywhere if text not in why] == [], said
        assert [text for text in asked.never if text in why + ran.stderr] == [], said
        assert [text for text in asked.until if text not in ran.stderr] == [], said
