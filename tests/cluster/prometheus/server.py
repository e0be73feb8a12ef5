"""A real Prometheus with given samples, and answers as one gives them."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

_SECONDS = 60


@contextmanager
def real_prometheus(folder: Path, openmetrics: str, *options: str) -> Iterator[str]:
    """Run Prometheus with blocks of some samples; yield its URL.

    Args:
        folder: for its files.
        openmetrics: the samples.
        options: others of its own.
    """
    samples, data = folder / "samples.om", folder / "data"
    samples.write_text(openmetrics)
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", samples, data],
        check=True,
        capture_output=True,
    )
    with _running(folder, "global: {}\n", options) as url:
        yield url


@contextmanager
def scraping_prometheus(folder: Path, target: str, seconds: int) -> Iterator[str]:
    """Run Prometheus that scrapes HOST:PORT each so many seconds; yield its URL."""
    job = {
        "job_name": "kubelet",
        "metrics_path": "/metrics/probes",
        "honor_labels": True,
        "scrape_interval": f"{seconds}s",
        "scrape_timeout": f"{seconds}s",
        "static_configs": [{"targets": [target]}],
    }
    with _running(folder, json.dumps({"scrape_configs": [job]}), ()) as url:
        yield url


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@contextmanager
def _running(folder: Path, text: str, options: Sequence[str]) -> Iterator[str]:
    config, data = folder / "prometheus.yml", folder / "data"
    config.write_text(text)
    port = free_port()
    process = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={config}",
            f"--storage.tsdb.path={data}",
            "--storage.tsdb.retention.time=100y",
            f"--web.listen-address=127.0.0.1:{port}",
            *options,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "Server is ready" in line:
                break
        else:
            raise AssertionError("Prometheus has ended")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.communicate(timeout=_SECONDS)


@contextmanager
def told_prometheus(
    answer: Callable[[str], bytes | tuple[int, bytes]], date: str = ""
) -> Iterator[str]:
    """Serve answers to queries, in a thread of its own; yield the URL.

    Args:
        answer: returns the body, with a status that is not 200; 0 ends the connection.
        date: what the header says instead of now.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            self._answer(self.rfile.read(size).decode())

        def do_GET(self) -> None:
            self._answer(self.path.partition("?")[2])

        def _answer(self, fields: str) -> None:
            told = answer(dict(parse_qsl(fields))["query"])
            status, body = told if isinstance(told, tuple) else (200, told)
            if not status:
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return date or super().date_time_string(timestamp)

        def log_message(self, *_args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        # Each waits that long for its end.
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


StoredSeries = Sequence[tuple[Mapping[str, str], list[tuple[float, str]]]]
"""Labels, the name among them, and samples."""


def stored_answer(
    pod: Mapping[str, str], counters: StoredSeries, states: StoredSeries = ()
) -> Callable[[str], bytes]:
    """Return what a store with one candidate answers to each query of a fleet.

    Args:
        pod: labels of the candidate.
        counters: the series of its probes.
        states: those of kube-state-metrics.
    """

    def answer(query: str) -> bytes:
        if query.startswith("group by (namespace"):
            return vector(({"namespace": pod["namespace"]}, "1"))
        if query.startswith("count("):
            return vector(({}, "1"))
        if query.startswith("group by"):
            return vector((pod, "1"))
        if "prober_probe_duration" in query:
            return vector()
        return matrix(*(counters if query.startswith("prober") else states))

    return answer


def vector(*samples: tuple[Mapping[str, str], str]) -> bytes:
    """Return an answer with a vector: labels and a value each."""
    result = [
        {"metric": dict(labels), "value": [1.0, text]} for labels, text in samples
    ]
    return _success("vector", result)


def matrix(*series: tuple[Mapping[str, str], list[tuple[float, str]]]) -> bytes:
    """Return an answer with a matrix: labels and samples each."""
    result = [{"metric": dict(labels), "values": values} for labels, values in series]
    return _success("matrix", result)


def refusal(kind: str, text: str) -> bytes:
    """Return an answer with an error."""
    return json.dumps({"status": "error", "errorType": kind, "error": text}).encode()


def _success(kind: str, result: Any) -> bytes:
    data = {"resultType": kind, "result": result}
    return json.dumps({"status": "success", "data": data}).encode()
