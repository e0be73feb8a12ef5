"""`probetui fleet` on the command line, with a store that answers as told."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from probetui.cli.commands import fleet_report
from probetui.cli.commands.fleet import AskedTime
from probetui.cli.main import run
from probetui.cli.store_options import asked_time, past_instant
from probetui.errors import UsageError
from tests.cluster.prometheus.server import stored_answer, told_prometheus

POD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: app
        livenessProbe: {httpGet: {port: 80}, periodSeconds: 10, failureThreshold: 3}
"""
_NAMES = {"namespace": "shop", "pod": "web-7d9f8c6b5-x2x4z", "container": "app"}
_FIRST_HOUR = ("--from", "1970-01-01T00:00:00Z", "--to", "1970-01-01T01:00:00Z")
"""In which the samples of the store are."""

_NOW = datetime(2026, 8, 31, 12, 0, tzinfo=UTC)


def _counter(
    result: str, *values: tuple[float, int]
) -> tuple[dict[str, str], list[tuple[float, str]]]:
    labels = {**_NAMES, "pod_uid": "u", "probe_type": "Liveness", "result": result}
    name = {"__name__": "prober_probe_total"}
    return name | labels, [(at, str(value)) for at, value in values]


def _state(
    what: str, *values: tuple[float, int], **more: str
) -> tuple[dict[str, str], list[tuple[float, str]]]:
    labels = {"__name__": f"kube_pod_{what}", **_NAMES, "uid": "u", **more}
    return labels, [(at, str(value)) for at, value in values]


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """A store with one kill: three failures, then a restart."""
    counters = [
        _counter("successful", (30, 3), (60, 3), (90, 3), (120, 6)),
        _counter("failed", (60, 3), (90, 3), (120, 3)),
    ]
    times = (35, 65, 95, 125, 155)
    restarts = zip(times, (0, 0, 1, 1, 1), strict=True)
    states = [
        _state("container_status_restarts_total", *restarts),
        _state("container_status_ready", *((at, 1) for at in times)),
        _state("owner", (35, 1), owner_kind="ReplicaSet", owner_name="web-7d9f8c6b5"),
    ]
    answer = stored_answer({**_NAMES, "pod_uid": "u"}, counters, states)
    with told_prometheus(answer) as url:
        yield url


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "web.yaml"
    path.write_text(POD)
    return str(path)


def test_a_kill_is_listed_with_its_numbers(
    store: str, manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["fleet", "--prometheus", store, "-f", manifest, "-o", "json"]
    assert run([*line, *_FIRST_HOUR]) == 0

    (container,) = json.loads(capsys.readouterr().out)
    assert container == {
        **_NAMES,
        "workload": "Deployment/web",
        "probe_kills": [1, 1],
        "near_misses": [0, 0],
        "restarts": 1,
        "not_ready_seconds": 0.0,
        "not_ready_bounds": [0.0, 30.0],
        "used_of_timeout": None,
        "start_used_of_budget": None,
        "failures": [3, *[0] * 23],
        "advice": "killed by its probe: ask why",
        "exact": True,
        "doubts": [],
    }


def test_the_table_has_ranges_as_people_write_them(
    store: str, manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fleet", "--prometheus", store, "-f", manifest]) == 0

    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split()[:4] == ["NAMESPACE", "POD", "CONTAINER", "KILLS"]
    assert line.split()[:7] == [*_NAMES.values(), "1", "0", "1", "0s-30s"]


def test_the_wide_table_draws_the_failures_over_the_time(
    store: str,
    manifest: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = ["fleet", "--prometheus", store, "-f", manifest, "-o", "wide", *_FIRST_HOUR]
    monkeypatch.setattr(fleet_report, "draws_unicode", lambda _: True)
    assert run(line) == 0
    assert f" █{'▁' * 23} " in capsys.readouterr().out

    monkeypatch.setattr(fleet_report, "draws_unicode", lambda _: False)
    assert run(line) == 0
    assert f" 9{'.' * 23} " in capsys.readouterr().out


def test_csv_has_a_column_for_each_bound(
    store: str, manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fleet", "--prometheus", store, "-f", manifest, "-o", "csv"]) == 0

    out = capsys.readouterr().out
    assert "\\x0d" not in out
    (row,) = csv.DictReader(io.StringIO(out))
    assert (row["probe_kills_least"], row["probe_kills_most"]) == ("1", "1")
    assert row["not_ready_most"] == "30.0"


class _Page(HTMLParser):
    """The texts of a page by their elements."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self._tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        if tag in {"th", "td", "h1"}:
            self.texts.setdefault(tag, []).append("")

    def handle_data(self, data: str) -> None:
        if self._tag in self.texts:
            self.texts[self._tag][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""


def test_a_page_has_the_table_below_its_sum(
    store: str, manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fleet", "--prometheus", store, "-f", manifest, "-o", "html"]) == 0

    text = capsys.readouterr().out
    page = _Page()
    page.feed(text)
    assert text.startswith("<!DOCTYPE html>")
    assert "default-src 'none'" in text
    assert page.texts["h1"] == ["1 of 1 containers killed by probes"]
    cells = dict(zip(page.texts["th"], page.texts["td"], strict=True))
    assert cells["Workload"] == "Deployment/web"
    assert (cells["Kills"], cells["Not ready"]) == ("1", "0s-30s")
    assert len(cells["Failures"]) == 24


def test_hostile_names_in_a_page_stay_text(capsys: pytest.CaptureFixture[str]) -> None:
    name = "<script>alert(1)</script>\x1b[2J"
    labels = {**_NAMES, "pod": name}
    states = [
        ({**at, "pod": name}, values)
        for at, values in (
            _state("container_status_restarts_total", (35, 0), (95, 1)),
            _state("container_status_ready", (35, 1), (95, 1)),
        )
    ]
    with told_prometheus(
        stored_answer({**labels, "pod_uid": "u"}, [], states)
    ) as store:
        assert run(["fleet", "--prometheus", store, "-o", "html"]) == 0

    text = capsys.readouterr().out
    assert "<script" not in text
    assert "\x1b" not in text
    assert "&lt;script&gt;alert(1)" in text


@pytest.mark.parametrize(
    ("more", "says"),
    [
        pytest.param((), "its restarts are not known", id="with notes"),
        pytest.param(("-q",), "", id="quiet"),
    ],
)
def test_why_without_kube_state_metrics_says_what_is_known(
    manifest: str,
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    says: str,
) -> None:
    counters = [_counter("successful", (30, 3), (60, 6), (90, 9), (120, 12))]
    answer = stored_answer({**_NAMES, "pod_uid": "u"}, counters)
    pod = "/".join(_NAMES.values())

    with told_prometheus(answer) as url:
        line = ["why", pod, "--prometheus", url, "--at", "1970-01-01T00:02:00Z"]
        assert run([*line, "-f", manifest, *more]) == 0

    told = capsys.readouterr()
    assert told.out.splitlines()[0] == "web-7d9f8c6b5-x2x4z/app is up and ready"
    assert says in told.err if says else told.err == ""


@pytest.mark.parametrize(
    ("failed", "first"),
    [
        pytest.param(0, "is up and ready", id="a readiness probe that succeeds"),
        pytest.param(
            9, "is not ready: its readiness probe failed 9 times", id="one that fails"
        ),
    ],
)
def test_without_samples_of_readiness_its_probe_says_what_is_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], failed: int, first: str
) -> None:
    path = tmp_path / "web.yaml"
    path.write_text(POD.replace("livenessProbe", "readinessProbe"))
    counters = [
        _counter(result, *((at, count * at // 90) for at in (30, 60, 90, 120)))
        for result, count in (("successful", 9 - failed), ("failed", failed))
    ]
    for labels, _ in counters:
        labels["probe_type"] = "Readiness"
    answer = stored_answer({**_NAMES, "pod_uid": "u"}, counters)
    pod = "/".join(_NAMES.values())

    with told_prometheus(answer) as url:
        line = ["why", pod, "--prometheus", url, "--at", "1970-01-01T00:02:00Z"]
        assert run([*line, "-f", str(path)]) == 0

    name = "web-7d9f8c6b5-x2x4z/app"
    assert capsys.readouterr().out.startswith(f"{name} {first}")


def test_without_manifests_a_kill_is_only_possible(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fleet", "--prometheus", store, "-o", "json"]) == 0

    out, err = capsys.readouterr()
    (container,) = json.loads(out)
    assert container["probe_kills"] == [0, 2]
    assert container["near_misses"] is None
    assert "name the manifest with -f" in err


def test_queries_are_printed_on_request_and_no_result_is_among_them(
    store: str, manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["-f", manifest, "--explain-queries", "-o", "json"]
    assert run(["fleet", "--prometheus", store, *options]) == 0

    out, err = capsys.readouterr()
    assert json.loads(out)
    assert "prober_probe_total" in err
    assert "increase(" not in err


def test_a_store_that_is_not_there_is_an_error_without_credentials(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["fleet", "--prometheus", "http://me:s3cret@127.0.0.1:1"]) == 3

    err = capsys.readouterr().err
    assert "http://127.0.0.1:1/ cannot be asked" in err
    assert "kubectl port-forward" in err
    assert "s3cret" not in err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param(["--prometheus", "store:9090"], "no http://", id="no URL"),
        pytest.param(
            ["--prometheus-header", "s3cret"], "not NAME:VALUE", id="no header"
        ),
        pytest.param(["--prometheus-label", "a-b=c"], "not NAME=VALUE", id="no label"),
        pytest.param(["--since", "soon"], "no length of time", id="no length"),
        pytest.param(["--since", "1d", "--from", "-2d"], "choose one", id="two begins"),
        pytest.param(["--from", "-1h", "--to", "-2h"], "ends before", id="backwards"),
        pytest.param(["--since", "900d"], "longer than a year", id="too long"),
    ],
)
def test_what_cannot_be_used_is_refused(
    options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = [] if "--prometheus" in options else ["--prometheus", "http://x"]

    assert run(["fleet", *url, *options]) == 2

    err = capsys.readouterr().err
    assert told in err
    assert "s3cret" not in err


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        pytest.param("now", _NOW, id="now"),
        pytest.param("-90m", _NOW - timedelta(minutes=90), id="ago"),
        pytest.param("-2d", _NOW - timedelta(days=2), id="days ago"),
        pytest.param(
            "2026-08-30T03:12:00Z", datetime(2026, 8, 30, 3, 12, tzinfo=UTC), id="RFC"
        ),
    ],
)
def test_an_instant_is_read_as_people_write_it(text: str, instant: datetime) -> None:
    assert past_instant("--at", text, _NOW) == instant


def test_yesterday_is_a_day_before_the_same_time_of_day() -> None:
    today = past_instant("--at", "03:12", _NOW)
    yesterday = past_instant("--at", "yesterday 03:12", _NOW)

    assert (today.hour, today.minute) == (3, 12)
    assert today - yesterday == timedelta(days=1)


@pytest.mark.parametrize("text", ["25:00", "tomorrow", ""])
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        past_instant("--at", text, _NOW)


def test_without_options_the_last_day_is_asked_about() -> None:
    begin, end = asked_time(AskedTime(), _NOW)

    assert end - begin == timedelta(days=1).total_seconds()
