"""`probetui fit` of a store's past, with a real Prometheus and simulated pods."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
import yaml

from probetui.cli.main import run
from probetui.drive.scenario.behavior import InstanceBehavior, ResultPhases
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from tests.builders import a_container, a_pod, a_probe
from tests.cluster.observe.sampled_pods import (
    FAILURE,
    SUCCESS,
    Faults,
    Story,
    phases_of,
    sampled,
    simulate,
)
from tests.cluster.prometheus.openmetrics import Points, openmetrics, series
from tests.cluster.prometheus.server import real_prometheus
from tests.engines import KUBECTL

pytestmark = pytest.mark.prometheus

_BEGIN = 1_790_000_000.0
_SECONDS = 2400.0
_PODS = 8
_CALM = Faults(knows_process=True)
_TEMPLATE = "7d9f8c6b5"
_SUFFIXES = ["2x4z7", "bcdfg", "hjklm", "npqrs", "tvwxz", "z2456", "b7892", "xw9k2"]

MANIFEST = """\
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
        startupProbe:
          exec: {command: ["true"]}
          periodSeconds: 5
          failureThreshold: 60
        livenessProbe:
          exec: {command: ["true"]}
          periodSeconds: 10
          failureThreshold: 3
      - name: beside
        image: other
"""


def _pod(_random: Random) -> Pod:
    return a_pod(
        a_container(
            liveness_probe=a_probe(period_seconds=10),
            startup_probe=a_probe(period_seconds=5, failure_threshold=60),
        )
    )


def _phases(is_well: Callable[[float], bool]) -> ResultPhases:
    return phases_of(lambda age: SUCCESS if is_well(age.total_seconds()) else FAILURE)


def _life(random: Random) -> InstanceBehavior:
    """Return an instance that starts in 8 to 20 s, flaps, and may hang for good."""
    starts_after = random.uniform(8, 20)
    hangs_at = random.choice([math.inf, random.uniform(300, 1500)])
    healed: dict[int, bool] = {}

    def is_well(age: float) -> bool:
        tick = int(age // 10)
        is_failing = healed.setdefault(tick, random.random() < 0.04)
        return age < hangs_at and not is_failing

    return InstanceBehavior(
        answers={
            ProbeType.STARTUP: _phases(lambda age: age >= starts_after),
            ProbeType.LIVENESS: _phases(is_well),
        }
    )


def _quiet_life(random: Random) -> InstanceBehavior:
    starts_after = random.uniform(8, 20)
    return InstanceBehavior(
        answers={ProbeType.STARTUP: _phases(lambda age: age >= starts_after)}
    )


class Fleet(NamedTuple):
    """A store, and the pods that it has samples of."""

    url: str
    stories: list[Story]
    points: Points


def _points(story: Story, name: str, interval: float, chance: Random) -> Points:
    samples = sampled(story, interval, _SECONDS, _CALM, chance)
    own = {"namespace": "shop", "pod": name}
    probed = {**own, "container": "app", "node": f"node of {name}"}
    timed, probed = probed, {**probed, "pod_uid": f"uid-{name}"}
    stated = {**own, "container": "app", "uid": f"uid-{name}"}
    points: Points = defaultdict(list)
    for kind, scrapes in samples.probes.items():
        for at, counts, _ in scrapes:
            if counts is None:
                continue
            labels = {**probed, "probe_type": kind.value}
            for result, count in zip(("successful", "failed"), counts, strict=True):
                of_it = {**labels, "result": result}
                points[series("prober_probe_total", of_it)].append((at, count))
            for bound, share in (("0.1", 0.995), ("0.25", 1.0), ("+Inf", 1.0)):
                bucket = {**timed, "probe_type": kind.value, "le": bound}
                key = series("prober_probe_duration_seconds_bucket", bucket)
                points[key].append((at, math.floor(counts.successes * share)))
    owner = {"owner_kind": "ReplicaSet", "owner_name": f"web-{_TEMPLATE}"}
    for at, value in samples.restarts:
        begun = [started for seen_at, started in story.starts if seen_at <= at]
        created = series("kube_pod_created", {**own, "uid": f"uid-{name}"})
        points[created].append((at, _BEGIN))
        points[series("kube_pod_owner", {**stated, **owner})].append((at, 1.0))
        metric = "kube_pod_container_status_restarts_total"
        points[series(metric, stated)].append((at, value))
        if begun:
            metric = "kube_pod_container_state_started"
            points[series(metric, stated)].append((at, _BEGIN + begun[-1]))
    for at, value in samples.ready:
        metric = "kube_pod_container_status_ready"
        points[series(metric, stated)].append((at, value))
        other = {**stated, "container": "beside"}
        points[series(metric, other)].append((at, 1.0))
    return points


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A deployment of eight pods that flap, the last of which do not."""
    chance = Random(7)
    points: Points = {}
    stories = []
    for number, suffix in enumerate(_SUFFIXES):
        life = _life if number < _PODS - 2 else _quiet_life
        story = simulate(chance, _SECONDS, _CALM, _pod, life)
        stories.append(story)
        points |= _points(story, f"web-{_TEMPLATE}-{suffix}", 15.0, chance)
    folder = tmp_path_factory.mktemp("store")
    with real_prometheus(folder, openmetrics(points, _BEGIN)) as url:
        yield Fleet(url, stories, points)


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "web.yaml"
    path.write_text(MANIFEST)
    return str(path)


def _fit(fleet: Fleet, manifest: str, *more: str, what: str = "deploy/web") -> int:
    begin, end = (
        f"{datetime.fromtimestamp(_BEGIN + at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        for at in (-60, _SECONDS + 60)
    )
    store = ["--prometheus", fleet.url, "-f", manifest]
    return run(["fit", what, *store, "--from", begin, "--to", end, *more])


def _value(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (value,) = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def test_the_evidence_is_between_its_bounds(
    fleet: Fleet, manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _fit(fleet, manifest, "-o", "json", "--notice", "3m") == 0

    value = _value(capsys)
    assert value["workload"] == "Deployment/web"
    assert value["containers"] == _PODS
    liveness = value["recorded"]["livenessProbe"]
    kills = sum(
        killed
        for story in fleet.stories
        for _, _, killed in story.ticks[ProbeType.LIVENESS]
    )
    healed = [
        run
        for story in fleet.stories
        for run in story.healed(ProbeType.LIVENESS, 0.0, _SECONDS)
    ]
    results = sum(len(story.ticks[ProbeType.LIVENESS]) for story in fleet.stories)
    assert 0 < liveness["kills"][0] <= kills <= liveness["kills"][1]
    assert liveness["healed"][0][0] <= len(healed) <= liveness["healed"][0][1] + 2
    # Of pods where nothing failed, the store counts what it saw rise.
    assert 0.9 * results <= liveness["successes"] + liveness["failures"] <= results
    assert value["starts"]["count"] >= _PODS
    for least, most in value["starts"]["seconds"]:
        assert 0 <= least <= 30
        assert 8 <= most <= 60
    assert value["missing"] == []
    assert value["probes"]["livenessProbe"]["timeoutSeconds"] == 1
    again = value["again"]["livenessProbe"]
    assert again["recordedKills"] == liveness["kills"]
    assert again["spared"] == [0, liveness["kills"][1]]
    assert again["new"] == [0, 0]
    more = value["probes"]["livenessProbe"]["failureThreshold"] - 3
    assert again["laterSeconds"] == [10 * more, 10 * more]


def test_the_text_is_yaml_to_paste_with_its_evidence(
    fleet: Fleet, manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _fit(fleet, manifest, "--notice", "3m") == 0

    out = capsys.readouterr().out
    probes = yaml.safe_load(out)
    assert set(probes) == {"startupProbe", "livenessProbe"}
    assert probes["livenessProbe"]["failureThreshold"] > 3
    assert "# shop/Deployment/web/app: 8 pods, by http://127.0.0.1:" in out
    assert "# the same time again, liveness probe with failureThreshold" in out
    assert "kills would not have been" in out
    assert "what stays dead would have been killed" in out


def test_a_patch_applies_with_kubectl(
    fleet: Fleet, manifest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _fit(fleet, manifest, "--notice", "3m", "-o", "patch") == 0

    text = capsys.readouterr().out
    patch = yaml.safe_load(text)
    (own,) = patch["spec"]["template"]["spec"]["containers"]
    assert own["name"] == "app"
    assert "exec" not in own["livenessProbe"]
    path = tmp_path / "patch.yaml"
    path.write_text(text)
    patched = subprocess.run(
        [KUBECTL, "patch", "--local", "-f", manifest, "--patch-file", path, "-oyaml"],
        check=True,
        capture_output=True,
    )
    first, second = yaml.safe_load(patched.stdout)["spec"]["template"]["spec"][
        "containers"
    ]
    assert first["livenessProbe"]["exec"] == {"command": ["true"]}
    for name in ("livenessProbe", "startupProbe"):
        for field, value in own[name].items():
            assert first[name][field] == value
    assert second["name"] == "beside"


def test_a_kustomize_patch_builds(
    fleet: Fleet, manifest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _fit(fleet, manifest, "--notice", "3m", "-o", "kustomize") == 0

    text = capsys.readouterr().out
    entry = yaml.safe_load(text)["patches"][0]
    wanted = yaml.safe_load(entry["patch"])
    (own,) = wanted["spec"]["template"]["spec"]["containers"]
    kustomization = f"namespace: shop\nresources: [web.yaml]\n{text}"
    (tmp_path / "kustomization.yaml").write_text(kustomization)
    built = subprocess.run(
        [KUBECTL, "kustomize", tmp_path], check=True, capture_output=True
    )
    first, _ = yaml.safe_load(built.stdout)["spec"]["template"]["spec"]["containers"]
    assert (
        first["livenessProbe"]["failureThreshold"]
        == (own["livenessProbe"]["failureThreshold"])
    )
    assert first["livenessProbe"]["exec"] == {"command": ["true"]}


def test_one_pod_has_too_few_starts_and_says_so(
    fleet: Fleet, manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = f"shop/web-{_TEMPLATE}-{_SUFFIXES[-1]}"

    assert _fit(fleet, manifest, "-o", "patch", what=pod) == 1

    out, err = capsys.readouterr()
    assert "startupProbe: 1 start seen; 5 are needed" in err
    assert "startupProbe:" not in yaml.safe_load(out or "{}").__str__()


def test_what_cannot_be_asked_is_refused_with_the_next_step(
    fleet: Fleet, manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(what: str, *more: str, status: int = 2) -> str:
        assert _fit(fleet, manifest, *more, what=what) == status
        return capsys.readouterr().err

    assert "is no workload: write deploy/NAME" in refused("a/b/c/d")
    assert "is no workload" in refused("shop/gateway/web")
    unknown = refused("shop/deploy/db", status=3)
    assert "has no pod of Deployment db in namespace shop between 20" in unknown
    assert "`probetui fleet` lists what the store has" in unknown
    assert "[a-z0-9]" not in unknown
    assert "of Deployment db in any namespace" in refused("deploy/db", status=3)
    assert "has no pod db-0 in namespace shop" in refused("shop/db-0", status=3)
    assert 'none is called "other"' in refused("deploy/web", "-c", "other")
    assert "takes workloads" in _no_names(fleet, manifest, capsys)


def _no_names(fleet: Fleet, manifest: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["fit", "--prometheus", fleet.url, "-f", manifest]) == 2
    return capsys.readouterr().err


def test_a_record_of_the_store_answers_what_if(
    fleet: Fleet, manifest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kills_of = [
        [at for at, _, killed in story.ticks[ProbeType.LIVENESS] if killed]
        for story in fleet.stories
    ]
    number = next(number for number, kills in enumerate(kills_of) if kills)
    killed_at = kills_of[number][0]
    pod = f"shop/web-{_TEMPLATE}-{_SUFFIXES[number]}"
    record = str(tmp_path / "night.jsonl")
    at = datetime.fromtimestamp(_BEGIN + killed_at + 60, UTC).isoformat()
    store = ["--prometheus", fleet.url, "-f", manifest]
    assert run(["why", pod, *store, "--at", at, "--record", record]) == 0
    capsys.readouterr()

    setting = "app.livenessProbe.failureThreshold=6"
    status = run(["whatif", record, "--set", setting, "-o", "json"])

    (trial,) = json.loads(capsys.readouterr().out)["containers"]
    kills = sum(at <= killed_at + 240 for at in kills_of[number])
    least, most = trial["recordedKills"]
    assert least <= kills <= most
    assert status == 1
    assert trial["kills"] == [0, most]
    assert trial["laterSeconds"] == [30, 30]
    assert trial["exact"] is False


def _renamed(name: str, replica: str) -> str:
    """Return a series as a store of an HA pair without honorLabels has it."""
    for label, own in (("namespace", "mon"), ("pod", "ex-1"), ("container", "e")):
        both = f'\\1{label}="{own}",exported_{label}='
        name = re.sub(f"([{{,]){label}=", both, name)
    return name.replace("{", f'{{prometheus_replica="{replica}",', 1)


def test_an_ha_pair_without_honor_labels_says_the_same(
    fleet: Fleet, manifest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = {
        _renamed(name, replica): [(at + late, value) for at, value in values]
        for replica, late in (("a", 0.0), ("b", 0.7))
        for name, values in fleet.points.items()
    }
    assert _fit(fleet, manifest, "-o", "json", "--notice", "3m") == 0
    single = _value(capsys)

    with real_prometheus(tmp_path, openmetrics(pair, _BEGIN)) as url:
        twice = fleet._replace(url=url)
        assert _fit(twice, manifest, "-o", "json", "--notice", "3m") == 0

    double = _value(capsys)
    assert double["containers"] == single["containers"]
    liveness = double["recorded"]["livenessProbe"]
    assert liveness["kills"] == single["recorded"]["livenessProbe"]["kills"]
    assert liveness["successes"] == single["recorded"]["livenessProbe"]["successes"]
    assert double["starts"]["count"] == single["starts"]["count"]


def test_a_store_that_refuses_leaves_holes(
    fleet: Fleet, manifest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = openmetrics(fleet.points, _BEGIN)
    with real_prometheus(tmp_path, text, "--query.max-samples=30") as url:
        limited = fleet._replace(url=url)
        status = _fit(limited, manifest, "--strict", "--notice", "3m")

    assert status in {1, 3, 5}
    assert "too many samples" in capsys.readouterr().err


def test_a_container_without_a_manifest_is_a_hole_under_strict(
    fleet: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(MANIFEST.replace("metadata: {name: web}", "metadata: {name: db}"))

    assert _fit(fleet, str(path)) == 5
    assert "settings of 16 containers are not known" in capsys.readouterr().err
