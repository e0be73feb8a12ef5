"""`diff` with a store: what the kills of a time would have been under new numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from probetui.cli.main import run
from tests.cluster.prometheus.server import refusal, told_prometheus

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      terminationGracePeriodSeconds: 10
      containers:
      - name: app
        image: web
        {probe}
"""
PROBE = (
    "livenessProbe: {{httpGet: {{path: {path}, port: 80}}, periodSeconds: 5, "
    "failureThreshold: {failures}}}"
)
OK, STRICTER, HOLES, USAGE = 0, 1, 1, 2

Diff = Callable[..., tuple[int, str, str]]


def manifest(path: Path, failures: int = 3, *, asks: str = "/healthz") -> str:
    """Write the deployment of the package's night, without a probe for no failures."""
    probe = PROBE.format(path=asks, failures=failures) if failures else ""
    path.write_text(WEB.format(probe=probe))
    return str(path)


@pytest.fixture
def diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Diff:
    """Compare three failures with others, by the night of the package."""
    old = manifest(tmp_path / "old.yaml")

    def run_diff(new: str, *words: str) -> tuple[int, str, str]:
        line = ["diff", old, new, "--prometheus", "demo", *words]
        status = run(line)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run_diff


def history_of(out: str) -> Any:
    """Return what JSON has of the liveness probe."""
    (container,) = json.loads(out)["containers"]
    return container["history"]["liveness"]


def test_a_higher_threshold_may_have_spared_the_kill(
    tmp_path: Path, diff: Diff
) -> None:
    new = manifest(tmp_path / "new.yaml", 5)

    status, out, err = diff(new)

    assert (status, err) == (OK, "")
    text = " ".join(out.split())
    assert "history kills by its liveness probe 1 -> 0-1" in text
    assert "what stays dead would have been killed 10s later" in text
    assert "what a container would have answered after a kill is not known" in text
    assert out.endswith(" UTC, by samples of http://demo/\n")


def test_a_lower_threshold_would_have_killed_what_healed(
    tmp_path: Path, diff: Diff
) -> None:
    _, out, _ = diff(manifest(tmp_path / "new.yaml", 2), "-o", "json")

    under = history_of(out)
    assert under["recordedKills"] == [1, 1]
    assert under["spared"] == [0, 0]
    least, most = under["kills"]
    assert least <= 2 <= most
    assert under["laterSeconds"] == [-5, -5]


def test_the_numbers_stand_in_the_comment_of_a_pull_request(
    tmp_path: Path, diff: Diff
) -> None:
    new = manifest(tmp_path / "new.yaml", 5)

    status, out, _ = diff(new, "--md", "--fail-on", "stricter")

    assert status == OK
    assert "| history | kills by its liveness probe | 1 | 0-1 |" in out
    assert "- history: liveness probe: " in out
    assert "UTC, by samples of `http://demo/`\n" in out


def test_a_gate_is_of_the_settings_alone(tmp_path: Path, diff: Diff) -> None:
    new = manifest(tmp_path / "new.yaml", 2)

    assert diff(new, "--fail-on", "stricter")[0] == STRICTER
    assert diff(new, "--fail-on", "looser")[0] == OK


def test_a_probe_that_goes_would_have_killed_nothing(
    tmp_path: Path, diff: Diff
) -> None:
    _, out, _ = diff(manifest(tmp_path / "new.yaml", 0))

    assert "history kills by its liveness probe 1 -> 0" in " ".join(out.split())


def test_of_another_check_nothing_is_said(tmp_path: Path, diff: Diff) -> None:
    _, out, _ = diff(manifest(tmp_path / "new.yaml", asks="/other"))

    assert "kills by its" not in out
    assert "it asks otherwise now" in out


def test_where_no_probe_that_kills_differs_nothing_is_asked(
    tmp_path: Path, diff: Diff
) -> None:
    status, out, err = diff(manifest(tmp_path / "new.yaml"), "--explain-queries")

    assert (status, "no difference" in out) == (OK, True)
    assert "0 queries" in err


def test_a_workload_that_the_store_does_not_know_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = []
    for name, failures in (("old.yaml", 3), ("new.yaml", 2)):
        path = Path(manifest(tmp_path / name, failures))
        path.write_text(path.read_text().replace("name: web,", "name: other,"))
        names.append(str(path))
    line = ["diff", *names, "--prometheus", "demo"]

    assert run(line) == OK
    out, err = capsys.readouterr()
    assert "liveness probe: the store has no result of it" in out
    assert "other" in err
    assert run([*line, "--strict"]) == HOLES


@pytest.fixture(params=[0, 401, 422, 503])
def refusing(request: pytest.FixtureRequest) -> Iterator[tuple[int, str]]:
    """A store that refuses everything, and with which status."""
    status: int = request.param
    with told_prometheus(lambda _query: (status, refusal("x", "not now"))) as url:
        yield status, url


def test_a_store_that_refuses_leaves_the_comparison(
    refusing: tuple[int, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, url = refusing
    secret = url.replace("//", "//me:s3cret-word@")
    line = ["diff", manifest(tmp_path / "old.yaml"), manifest(tmp_path / "new.yaml", 2)]
    line += ["--prometheus", secret]

    assert run([*line, "--md"]) == OK
    out, err = capsys.readouterr()
    assert run([*line, "--strict"]) == HOLES

    assert "| stricter |" in out
    assert url in err
    assert (f"HTTP {status}" if status else "cannot be asked") in err
    assert "s3cret" not in out + err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--prometheus", "store:9090"], "no http://"),
        (["--prometheus", "demo", "--since", "soon"], "no length of time"),
    ],
)
def test_what_cannot_be_used_is_refused(
    words: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = manifest(tmp_path / "old.yaml"), manifest(tmp_path / "new.yaml", 2)

    assert run(["diff", *names, *words]) == USAGE

    assert message in capsys.readouterr().err
