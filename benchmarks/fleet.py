"""Time and memory of `probetui fleet` for a day of many pods in a real Prometheus.

Every pod has a startup, a liveness and a readiness probe; one in a hundred is killed by
its liveness probe a few times a day, one in a hundred fails now and then and recovers.
The kubelet's counters and what kube-state-metrics has of pods are scraped every 30
seconds. Histograms of durations are only there for pods that fail: `fleet` asks for no
others, and all of them would be 800 million samples. The yardstick sends the same
queries, four at once, and throws the answers away.

    .venv/bin/python benchmarks/fleet.py [--pods N] [--hours N] [--folder FOLDER]

The store is made anew unless the folder has one. It needs `prometheus` and `promtool`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Process
from pathlib import Path
from random import Random
from typing import NamedTuple

from limits import Limit, Yardstick, report_limits

_SCRAPE = 30
_PERIOD = 10
_THRESHOLD = 3
_PART = 2 * 3600
"""Seconds of a block of Prometheus."""

_BEGIN = 1_780_272_000
_PODS_A_NODE = 100
_AT_ONCE = 4
_BUCKETS = ("0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "+Inf")
_QUERY = re.compile(r"^\d+ at (\S+Z): (.*)$", re.MULTILINE)


class _Pod:
    """The series of one pod: what its probes count, and what its status says.

    Args:
        number: of the pod; it decides what happens to it.
        begin, end: in Unix seconds.
    """

    def __init__(self, number: int, begin: int, end: int) -> None:
        chance = Random(number)
        self.number = number
        self.created = begin - 3600
        self.phase = chance.randrange(_SCRAPE)
        self.is_killed, self.flickers = number % 100 == 0, number % 100 == 1
        self.runs: list[tuple[int, int]] = []
        if self.is_killed or self.flickers:
            length = _THRESHOLD if self.is_killed else _THRESHOLD - 1
            self.runs = sorted((chance.randrange(begin, end), length) for _ in range(3))

    def failures(self, at: int) -> int:
        """Return how many times liveness has failed until then."""
        return sum(
            max(0, min(length, 1 + (at - first) // _PERIOD))
            for first, length in self.runs
        )

    def restarts(self, at: int) -> int:
        """Return how often it was restarted until then."""
        last = (_THRESHOLD - 1) * _PERIOD + 1
        return self.is_killed * sum(at >= first + last for first, _ in self.runs)

    def ticks(self, at: int) -> int:
        """Return how many ticks each probe has had until then."""
        return (at - self.created) // _PERIOD


def _series(pod: _Pod, times: list[int]) -> Iterator[tuple[str, str, list[int]]]:
    """Yield family, series and its values at some times."""
    own = f'namespace="shop",pod="web-{pod.number}",container="app"'
    node = f"node{pod.number // _PODS_A_NODE}"
    kubelet = f'job="kubelet",node="{node}",{own},pod_uid="uid-{pod.number}"'
    state = f'job="kube-state-metrics",{own},uid="uid-{pod.number}"'
    failures = [pod.failures(at) for at in times] if pod.runs else [0] * len(times)
    ticks = [pod.ticks(at) for at in times]
    good = [all_of_it - bad for all_of_it, bad in zip(ticks, failures, strict=True)]
    for kind, values in (("Readiness", ticks), ("Liveness", good)):
        name = f'prober_probe_total{{{kubelet},probe_type="{kind}"'
        yield "prober_probe", f'{name},result="successful"}}', values
    if failures[-1]:
        name = f'prober_probe_total{{{kubelet},probe_type="Liveness"'
        yield "prober_probe", f'{name},result="failed"}}', failures
    if pod.runs:
        for bound in _BUCKETS:
            name = f'prober_probe_duration_seconds_bucket{{job="kubelet",{own}'
            name += f',probe_type="Liveness",le="{bound}"}}'
            yield "prober_probe_duration_seconds_bucket", name, good
    restarts = [pod.restarts(at) for at in times] if pod.runs else [0] * len(times)
    of_status = "kube_pod_container_status"
    yield f"{of_status}_restarts", f"{of_status}_restarts_total{{{state}}}", restarts
    yield f"{of_status}_ready", f"{of_status}_ready{{{state}}}", [1] * len(times)
    of_pod = state.replace(',container="app"', "")
    yield (
        "kube_pod_created",
        f"kube_pod_created{{{of_pod}}}",
        [pod.created] * len(times),
    )
    owner = f'{of_pod},owner_kind="StatefulSet",owner_name="web"'
    yield "kube_pod_owner", f"kube_pod_owner{{{owner}}}", [1] * len(times)


def _fill(folder: Path, count: int, begin: int, end: int) -> None:
    """Make blocks of two hours each: promtool reads its whole input for each block."""
    pods = [_Pod(number, begin, end) for number in range(count)]
    samples = 0
    for first in range(begin, end, _PART):
        last = min(first + _PART, end)
        by_family: dict[str, list[str]] = {}
        for pod in pods:
            times = [*range(first + pod.phase, last, _SCRAPE)]
            stamps = [f" {at}\n" for at in times]
            for family, name, values in _series(pod, times):
                by_family.setdefault(family, []).append(
                    "".join(
                        f"{name} {value}{stamp}"
                        for value, stamp in zip(values, stamps, strict=True)
                    )
                )
                samples += len(times)
        path = folder / "samples.om"
        with path.open("w") as file:
            for family, texts in by_family.items():
                is_counter = family.endswith(("_restarts", "prober_probe"))
                kind = "counter" if is_counter else "unknown"
                file.write(f"# TYPE {family} {kind}\n")
                file.writelines(texts)
            file.write("# EOF\n")
        del by_family
        subprocess.run(
            [
                *("promtool", "tsdb", "create-blocks-from", "openmetrics"),
                *(path, folder / "data"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        path.unlink()
        print(f"{samples:,} samples until {last - begin:,} s", file=sys.stderr)


def _serve(folder: Path, port: int) -> subprocess.Popen[str]:
    config = folder / "prometheus.yml"
    config.write_text("global: {}\n")
    process = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            "--storage.tsdb.retention.time=100y",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "Server is ready" in line:
            return process
    raise SystemExit("prometheus has ended")


def _ask(url: str, at: str, query: str) -> int:
    body = urllib.parse.urlencode({"query": query, "time": at}).encode()
    with urllib.request.urlopen(f"{url}/api/v1/query", body) as response:
        return len(response.read())


def _manifest() -> str:
    probe = {"httpGet": {"port": 80}, "periodSeconds": _PERIOD}
    probes = {f"{kind}Probe": probe for kind in ("startup", "liveness", "readiness")}
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "web", **probes}]},
    }
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"serviceName": "web", **spec},
        }
    )


def _rfc(at: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


class _Measured(NamedTuple):
    """What one run of `fleet` took: seconds, MB, and the queries that it sent."""

    seconds: float
    memory: float
    queries: list[tuple[str, str]]
    told: int


def _measure(folder: Path, url: str, begin: int, end: int) -> _Measured:
    manifest = folder / "web.yaml"
    manifest.write_text(_manifest())
    program = Path(sys.executable).with_name("probetui")
    command = [program, "fleet", "--prometheus", url, "-f", manifest, "-o", "json"]
    command += ["--from", _rfc(begin), "--to", _rfc(end), "--explain-queries"]
    told, explained = folder / "fleet.json", folder / "queries.txt"
    began = time.perf_counter()
    with told.open("w") as out, explained.open("w") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        raise SystemExit(explained.read_text())
    queries = _QUERY.findall(explained.read_text())
    rows = json.loads(told.read_text())
    return _Measured(seconds, used.ru_maxrss / 1024, queries, len(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--port", type=int, default=19_090)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="fleet-"))
    end = _BEGIN + options.hours * 3600
    if not (folder / "data").exists():
        folder.mkdir(parents=True, exist_ok=True)
        # Another process: what it takes would count as the memory of its children.
        filling = Process(target=_fill, args=(folder, options.pods, _BEGIN, end))
        filling.start()
        filling.join()
        if filling.exitcode:
            raise SystemExit(filling.exitcode)
    store, url = _serve(folder, options.port), f"http://127.0.0.1:{options.port}"
    try:
        measured = _measure(folder, url, _BEGIN, end)
        began = time.perf_counter()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            size = sum(pool.map(lambda each: _ask(url, *each), measured.queries))
        yardstick = time.perf_counter() - began
    finally:
        store.terminate()
        store.wait()
    print(f"{options.pods:,} pods, {options.hours} h: {measured.told} containers told")
    print(f"{len(measured.queries)} queries, {size / 1e6:.1f} MB of answers")
    bare = Yardstick("the store's own answers to the same queries", round(yardstick, 1))
    report_limits(
        Limit("fleet", round(measured.seconds, 1), 60, "s", bare),
        Limit("at most", round(measured.memory), 400, "MB"),
    )


if __name__ == "__main__":
    main()
