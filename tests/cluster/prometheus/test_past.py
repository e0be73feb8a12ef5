"""The past of pods as a record: what is said of recorded kills, and bad input."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from probetui.cli.main import run
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.prometheus.client import StoreAccess, StoreClient
from probetui.cluster.prometheus.fleet import FleetQuery, FleetStore, StoredContainer
from probetui.cluster.prometheus.past import past_inputs, stored_pod
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    ContainerEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
)
from probetui.record.reader import read_recording
from tests.cluster.prometheus.openmetrics import (
    openmetrics,
    recorded_object,
    scraped,
    start,
)
from tests.cluster.prometheus.server import (
    free_port,
    real_prometheus,
    scraping_prometheus,
)
from tests.cluster.prometheus.test_fleet import manifested, recorded_kills
from tests.e2e.program import Program

pytestmark = pytest.mark.prometheus

OK, USAGE = 0, 2
_COARSE = 20.0
_SECONDS = 360.0
_EVENT_SECONDS = 1.0
"""Events have whole seconds, and come after what they tell."""


class Store(NamedTuple):
    """A Prometheus that has scraped the recorded cluster at an interval."""

    url: str
    interval: float
    manifests: Path


@pytest.fixture(scope="module", params=[5.0, 15.0, 30.0], ids=["5 s", "15 s", "30 s"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("store")
    manifests = folder / "manifests"
    manifests.mkdir()
    for name, pod in recorded_object("pods-specs").items():
        (manifests / f"{name}.json").write_text(json.dumps(pod))
    samples = openmetrics(scraped(request.param), start())
    with real_prometheus(folder, samples) as url:
        yield Store(url, request.param, manifests)


def journal_of(stored: StoredContainer) -> list[JournalEntry]:
    """Return what an observation makes of the samples of one container."""
    settings = manifested().settings(stored)
    assert settings is not None
    observation = ClusterObservation(datetime.fromtimestamp(start(), UTC))
    entries: list[JournalEntry] = []
    for at, item in past_inputs(stored_pod([stored], settings)):
        observation.submit(item, at)
        entries += observation.take_entries()
    return entries


def ends_of(entries: list[JournalEntry]) -> Iterator[tuple[ContainerEntry, float]]:
    for entry in entries:
        if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.EXITED:
            yield entry, entry.at.timestamp() - start()


def test_each_kill_that_is_told_was_between_its_bounds(store: Store) -> None:
    async def read() -> list[StoredContainer]:
        query = FleetQuery(start() - 20, start() + _SECONDS)
        async with StoreClient(StoreAccess(store.url)) as client:
            fleet = FleetStore(client, query)
            return await fleet.read(await fleet.find())

    kills, told = recorded_kills(), 0
    for stored in asyncio.run(read()):
        truth = kills.get((stored.name.pod, stored.name.container), [])
        entries = journal_of(stored)
        for entry in entries:
            if not isinstance(entry, ContainerEntry) or entry.not_before is None:
                continue
            if entry.what is LifecycleStep.STARTED:
                continue
            assert entry.not_after is not None
            assert entry.by in PROBE_CAUSES
            begin = entry.not_before.timestamp() - start()
            end = entry.not_after.timestamp() - start() + _EVENT_SECONDS
            assert any(begin <= at <= end for at in truth), (stored.name, begin, end)
            told += 1
        for entry, at in ends_of(entries):
            if entry.by in {ExitCause.ITSELF, ExitCause.UNKNOWN}:
                grace = 10.0
                assert not any(at - grace <= kill <= at for kill in truth), (
                    stored.name,
                    at,
                )
    assert told >= {5.0: 40, 15.0: 25, 30.0: 8}[store.interval]


def at(seconds: float) -> str:
    """Return an instant of the recording, to the second."""
    return f"{datetime.fromtimestamp(start() + seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def asked(store: Store, pod: str, seconds: float, *more: str) -> list[str]:
    """Return the command line that asks about an instant of the recording."""
    line = ["why", pod, "--at", at(seconds), "--prometheus", store.url]
    return [*line, "-f", str(store.manifests), *more]


def test_a_kill_is_told_with_its_bounds_or_as_possible(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    last = recorded_kills()["exec-liveness", "liveness"][-2]

    assert run(asked(store, "default/exec-liveness", last + 10)) == OK

    out = capsys.readouterr().out
    if store.interval > _COARSE:
        assert "perhaps killed by its probe: not each of its results" in out
    else:
        assert "was killed between" in out
        assert "its liveness probe failed 3 of 3 times in a row" in out


def test_the_record_is_read_as_any_other_and_has_no_credentials(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = str(tmp_path / "past.jsonl")
    secret = store._replace(url=store.url.replace("//", "//me:s3cret-word@"))
    line = asked(secret, "exec-liveness", 200, "--record", record)
    assert run([*line, "--prometheus-header", "X-Key: an0ther-word"]) == OK
    told = capsys.readouterr().out

    text = Path(record).read_text()
    assert "s3cret" not in text
    assert "an0ther" not in text
    word = "killed between" if store.interval < _COARSE else "perhaps killed"
    assert word in told
    assert run(["why", record]) == OK
    assert "killed between" in capsys.readouterr().out
    assert run(["replay", record, "--plain"]) == OK
    replayed = capsys.readouterr()
    assert "exec-liveness/liveness liveness" in replayed.out
    assert "differs" not in replayed.err
    assert run(["report", record, "-o", str(tmp_path / "report.html")]) == OK
    trace = str(tmp_path / "trace.json")
    assert run(["export", record, "--perfetto", "-o", trace]) == OK


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x/y/z/a"], "is no pod of a store"),
        ([], "takes the pod of the cluster"),
        (["default/absent"], "has nothing of pod default/absent at that time"),
        (["exec-liveness", "--at", "2099-01-01 00:00"], "has not come yet"),
        (["exec-liveness", "--at", "soon"], "is no instant"),
        (["default/exec-liveness/absent"], "is not in"),
    ],
)
def test_what_cannot_be_answered_is_told(
    store: Store,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    line = ["why", "--at", at(200), "--prometheus", store.url]
    line += ["-f", str(store.manifests), *words]

    assert run(line) != OK

    assert message in " ".join(capsys.readouterr().err.split())


def test_a_pod_that_no_manifest_is_of_is_told(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(store.manifests / "ticks.json")
    line = ["why", "exec-liveness", "--at", at(200), "--prometheus", store.url]

    assert run([*line, "-f", other]) == USAGE
    assert "no manifest of -f is of pod exec-liveness" in capsys.readouterr().err
    assert run(line) == USAGE
    assert "name the manifest with -f" in capsys.readouterr().err
    assert run(["why", "--record", str(tmp_path / "x.jsonl")]) == USAGE
    assert "--prometheus names one" in capsys.readouterr().err


# -- a live session

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: hangs, namespace: shop}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: registry.example/shop/web:1.0
      command: [sh, -c, "touch ok; sleep 7; rm ok; exec sleep 600"]
      livenessProbe:
        exec: {command: [test, -f, ok]}
        periodSeconds: 2
        failureThreshold: 2
"""


@pytest.mark.slow
def test_a_scraped_session_has_the_kills_of_its_own_record(tmp_path: Path) -> None:
    manifest, own = tmp_path / "pod.yaml", tmp_path / "own.jsonl"
    manifest.write_text(POD)
    target, past = f"127.0.0.1:{free_port()}", tmp_path / "past.jsonl"
    program = Program(tmp_path)
    with scraping_prometheus(tmp_path, target, 1) as url:
        ran = program.run(
            *("run", "-f", str(manifest), "--runtime", "process", "--plain", "-q"),
            *("--metrics", target, "--record", str(own)),
            *("--until", "restarts=3", "--timeout", "150s"),
            seconds=200,
        )
        assert ran.returncode == OK, ran.stderr
        line = ["why", "shop/hangs", "--prometheus", url, "-f", str(manifest)]
        told = program.run(*line, "--record", str(past))

    assert told.returncode == OK, told.stderr
    assert "was killed between" in told.stdout
    kills = [each.at for each in stops_of(own)]
    bounds = [(each.not_before, each.not_after) for each in stops_of(past)]
    assert len(kills) == len(bounds) >= 3
    for killed_at, (earliest, latest) in zip(kills, bounds, strict=True):
        assert earliest is not None
        assert latest is not None
        # A session writes a kill down before its counters have it, on a busy machine
        # long before: a sample between the two is of a container that is not killed.
        assert earliest - timedelta(seconds=1) <= killed_at <= latest


def stops_of(record: Path) -> list[ContainerEntry]:
    """Return the kills by probes of a record."""
    return [
        entry
        for entry in read_recording(record).entries
        if isinstance(entry, ContainerEntry)
        and entry.what is LifecycleStep.STOPPING
        and entry.by in PROBE_CAUSES
    ]
