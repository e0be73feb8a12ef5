"""A real Prometheus that refuses, has lost or never had something, as users see it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from probetui.cli.main import run
from tests.cluster.prometheus.openmetrics import (
    Points,
    openmetrics,
    recorded_object,
    scraped,
    series,
    start,
)
from tests.cluster.prometheus.server import real_prometheus
from tests.cluster.prometheus.test_past import at

pytestmark = pytest.mark.prometheus

OK, HOLES, USAGE, UNAVAILABLE = 0, 1, 2, 3
PASSWORD = "s3cret-word"
HASH = "$2b$04$cbAKAJnQx5w63azECkJk1OGzK.MTKsQv22xpVI3lf3mfgF8N2mJoa"
"""Of the password, for Prometheus' own log-in."""

TOKEN = "s3cret-bearer-of-a-user"
SERIES = 100_000


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manifests")
    for name, pod in recorded_object("pods-specs").items():
        (folder / f"{name}.json").write_text(json.dumps(pod))
    return folder


def fleet(url: str, *more: str) -> list[str]:
    """Return the command line that asks about the whole recording."""
    times = ["--from", at(-20), "--to", at(360)]
    return ["fleet", "--prometheus", url, *times, *more]


def why(url: str, *more: str) -> list[str]:
    """Return the command line that asks about a pod of the recording."""
    return ["why", "exec-liveness", "--at", at(200), "--prometheus", url, *more]


# -- credentials


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus that wants a user and a password."""
    folder = tmp_path_factory.mktemp("locked")
    config = folder / "web.yml"
    config.write_text(f'basic_auth_users: {{me: "{HASH}"}}\n')
    option = f"--web.config.file={config}"
    with real_prometheus(folder, openmetrics(scraped(15.0), start()), option) as url:
        yield url


def test_a_password_opens_it_and_is_in_nothing_that_is_written(
    locked: str,
    manifests: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = locked.replace("//", f"//me:{PASSWORD}@")
    log, record, page = (tmp_path / name for name in ("log", "past.jsonl", "page.html"))
    more = ["-f", str(manifests), "--log-file", str(log), "--log-level", "debug"]
    more += ["--explain-queries", "--prometheus-header", f"X-Key: {TOKEN}"]

    for form in ("table", "wide", "json", "yaml", "csv", "html"):
        assert run(fleet(url, *more, "-o", form)) == OK
    assert run(why(url, *more, "--record", str(record))) == OK
    assert run(why(url, *more, "--md")) == OK
    assert run(why(url, *more, "-o", "json")) == OK
    assert run(["report", str(record), "-o", str(page)]) == OK
    changed = tmp_path / "changed.json"
    pod = recorded_object("pods-specs")["exec-liveness"]
    pod["spec"]["containers"][0]["livenessProbe"]["failureThreshold"] = 7
    changed.write_text(json.dumps(pod))
    of_pod = ["diff", str(manifests / "exec-liveness.json"), str(changed)]
    for forms in (["--md"], ["-o", "json"], []):
        times = ["--from", at(-20), "--to", at(360), "--prometheus", url, *more[2:]]
        assert run([*of_pod, *times, *forms]) == OK
    told = capsys.readouterr()
    assert "exec-liveness" in told.out
    assert "kills by its liveness probe" in told.out
    texts = [told.out, told.err, record.read_text(), page.read_text()]
    if log.exists():
        texts.append(log.read_text())
    home = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for secret in (PASSWORD, TOKEN):
        assert not any(secret in text for text in texts)
        assert not any(secret.encode() in data for data in home)


@pytest.mark.parametrize("ask", [fleet, why])
def test_a_wrong_password_is_refused_without_it(
    locked: str, manifests: Path, ask: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(ask)
    url = locked.replace("//", f"//me:{TOKEN}@")

    assert run(ask(url, "-f", str(manifests))) == UNAVAILABLE

    err = capsys.readouterr().err
    assert "does not take the credentials (HTTP 401)" in err
    assert "--prometheus-token-file" in err
    assert TOKEN not in err


# -- limits and places


@pytest.mark.parametrize(
    ("option", "path", "told"),
    [
        pytest.param("--query.max-samples=1", "", "too many samples", id="samples"),
        pytest.param(
            "--web.route-prefix=/prometheus", "", "may need a prefix", id="no prefix"
        ),
        pytest.param(
            "--web.enable-lifecycle",
            "/select/0",
            "may need a prefix",
            id="other prefix",
        ),
    ],
)
def test_a_refusal_is_one_sentence_with_the_next_step(
    option: str,
    path: str,
    told: str,
    manifests: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with real_prometheus(tmp_path, openmetrics(scraped(30.0), start()), option) as url:
        for ask in (fleet, why):
            assert run(ask(f"{url}{path}", "-f", str(manifests))) == UNAVAILABLE

            out, err = capsys.readouterr()
            assert out == ""
            assert err.count("\n") == 1
            assert told in err


def test_a_prefix_is_part_of_the_url(
    manifests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = "--web.route-prefix=/prometheus"
    with real_prometheus(tmp_path, openmetrics(scraped(15.0), start()), option) as url:
        for prefixed in (f"{url}/prometheus", f"{url}/prometheus/"):
            assert run(fleet(prefixed, "-f", str(manifests))) == OK

    assert "exec-liveness" in capsys.readouterr().out


# -- what is not there


def test_a_range_beyond_the_retention_is_said_to_be(
    manifests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["--from", at(-30 * 86_400), "--to", at(360), "-f", str(manifests)]
    with real_prometheus(tmp_path, openmetrics(scraped(15.0), start())) as url:
        ask = ["fleet", "--prometheus", url, *line, "-o", "json"]
        assert run(ask) == OK
        told = capsys.readouterr()
        assert run([*ask, "--strict"]) == HOLES

    assert any(row["pod"] == "exec-liveness" for row in json.loads(told.out))
    (hole,) = [text for text in told.err.splitlines() if "retention" in text]
    assert "no samples of prober_probe_total before about" in hole
    assert "of the time before nothing is known" in hole


def test_a_time_without_any_sample_is_not_called_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["--from", at(-90_000), "--to", at(-80_000)]
    with real_prometheus(tmp_path, openmetrics(scraped(30.0), start())) as url:
        assert run(["fleet", "--prometheus", url, *line]) == UNAVAILABLE
        assert run(["why", "exec-liveness", "--at", at(-85_000), "--prometheus", url])

    err = capsys.readouterr().err
    assert "has no series prober_probe_total" in err


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        pytest.param(
            "prober", "without kube-state-metrics restarts and readiness", id="states"
        ),
        pytest.param("kube_pod", "honorLabels: true", id="counters"),
    ],
)
def test_a_metric_that_is_missing_is_named_with_what_to_scrape(
    kept: str,
    told: str,
    manifests: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    points = {name: at for name, at in scraped(15.0).items() if name.startswith(kept)}
    with real_prometheus(tmp_path, openmetrics(points, start())) as url:
        assert run(fleet(url, "-f", str(manifests), "-o", "json")) == OK
        out, err = capsys.readouterr()
        assert run(fleet(url, "-f", str(manifests), "--strict")) == HOLES

    assert json.loads(out)
    assert told in err


# -- what is there twice, or hostile


def _relabelled(points: Points, **more: str) -> Points:
    """Return samples with labels, which come first."""
    text = "".join(f"{name}={json.dumps(value)}," for name, value in more.items())
    return {name.replace("{", "{" + text, 1): at for name, at in points.items()}


def _kills(out: str) -> Mapping[str, list[int]]:
    return {row["pod"]: row["probe_kills"] for row in json.loads(out)}


def test_a_replica_and_a_cluster_are_chosen_by_their_labels(
    manifests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = {
        **_relabelled(scraped(15.0), cluster="eu", replica="a"),
        **_relabelled(scraped(15.0, 0.5), cluster="eu", replica="b"),
        **_relabelled(
            {
                name: at
                for name, at in scraped(15.0).items()
                if "tcp-probes" not in name
            },
            cluster="us",
        ),
    }
    with real_prometheus(tmp_path, openmetrics(points, start())) as url:
        asked = []
        for labels in ((), ("cluster=eu",), ("cluster=eu", "replica=a")):
            words = [word for label in labels for word in ("--prometheus-label", label)]
            assert run(fleet(url, "-f", str(manifests), "-o", "json", *words)) == OK
            asked.append(_kills(capsys.readouterr().out))
        words = ["--prometheus-label", "cluster=us"]
        assert run(fleet(url, "-f", str(manifests), "-o", "json", *words)) == OK
        us = _kills(capsys.readouterr().out)
        words = ["--prometheus-label", "replica=none"]
        assert run(fleet(url, *words)) == UNAVAILABLE
        pair = why(url, "-f", str(manifests), "--prometheus-label", "cluster=eu")
        assert run(pair) == OK

    assert asked[0] == asked[1] == asked[2]
    assert asked[0]["tcp-probes"] == [7, 7]
    assert "tcp-probes" not in us
    told = capsys.readouterr()
    assert 'replica="none"' in told.err
    assert "was killed between" in told.out


@pytest.mark.parametrize(
    "name",
    [
        'x"} or vector(1) or up{a="',
        "a|b.*",
        "back\\slash",
        "line\nbreak",
        "\x1b[31mred\x1b[0m",
        "<script>alert(1)</script>",
        "=cmd()",
        "\u202eright to left",
    ],
)
def test_hostile_label_values_stay_values(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"namespace": "shop", "pod": name, "container": "app"}
    counted = {**own, "pod_uid": f"u-{name}", "probe_type": "Liveness"}
    state = {**own, "uid": f"u-{name}"}
    times = [0.0, 30.0, 60.0, 90.0]
    well = {**counted, "result": "successful"}
    points: Points = {
        _quoted("prober_probe_total", well): [*zip(times, (3, 3, 3, 6), strict=True)],
        _quoted("prober_probe_total", {**counted, "result": "failed"}): [
            *zip(times, (1, 4, 4, 4), strict=True)
        ],
        _quoted("kube_pod_container_status_restarts_total", state): [
            *zip(times, (0, 0, 1, 1), strict=True)
        ],
        _quoted("kube_pod_container_status_ready", state): [(at, 1.0) for at in times],
    }
    with real_prometheus(tmp_path, openmetrics(points, start())) as url:
        for form in ("json", "table", "csv", "html"):
            assert run(fleet(url, "-o", form)) == OK
            out = capsys.readouterr().out
            if form == "json":
                (row,) = json.loads(out)
                assert row["pod"] == name
                assert row["restarts"] == 1
            else:
                assert "\x1b" not in out
                assert "\u202e" not in out
                assert "<script" not in out or form != "html"
                assert out.count("\n") < 6 or form == "html"


def _quoted(name: str, labels: Mapping[str, str]) -> str:
    """Return a series; the format knows fewer escapes than JSON."""
    pairs = []
    for key, text in labels.items():
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        pairs.append(f'{key}="{escaped}"')
    return f"{name}{{{','.join(pairs)}}}"


def test_samples_that_are_no_numbers_are_named(
    manifests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = scraped(15.0)
    for name, values in points.items():
        if "exec-liveness" in name and "restarts_total" in name:
            values[3:5] = [(at, float("nan")) for at, _ in values[3:5]]
    text = openmetrics(points, start()).replace(" nan ", " NaN ")
    with real_prometheus(tmp_path, text) as url:
        assert run(fleet(url, "-f", str(manifests), "-o", "json")) == OK

    out, err = capsys.readouterr()
    assert _kills(out)["tcp-probes"] == [7, 7]
    assert "restarts_total are no numbers" in err


@pytest.mark.slow
def test_of_100_000_series_only_those_are_read_that_matter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points: Points = {}
    for number in range(SERIES // 2):
        own = {"namespace": f"n{number % 50}", "pod": f"web-{number}"}
        labels = {**own, "container": "app", "pod_uid": f"u{number}"}
        fails = number % 1000 == 0
        for result, each in (("successful", 6), ("failed", 3 * fails)):
            kind = {"probe_type": "Liveness", "result": result}
            points[series("prober_probe_total", {**labels, **kind})] = [
                (30.0 * place, each * place) for place in range(3)
            ]
    with real_prometheus(tmp_path, openmetrics(points, start())) as url:
        assert run(fleet(url, "-o", "json")) == OK
        told = capsys.readouterr()
        assert run([*fleet(url), "-n", "n0", "-o", "json"]) == OK

    rows = json.loads(told.out)
    assert len(rows) == SERIES // 2 // 1000
    assert all(row["probe_kills"][1] for row in rows)
    namespaces = {row["namespace"] for row in json.loads(capsys.readouterr().out)}
    assert namespaces == {"n0"}
