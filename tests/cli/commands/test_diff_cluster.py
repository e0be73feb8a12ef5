"""`diff` with a cluster's objects on one side or both."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from probetui.cli.main import run
from tests.cluster.servers import write_kubeconfig

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web{namespace}}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
      - name: app
        image: x
        livenessProbe: {{exec: {{command: [check]}}, failureThreshold: {failures}}}
"""
_PATH = "/apis/apps/v1/namespaces/{}/deployments/web"
OK, DIFFERS, USAGE, UNAVAILABLE = 0, 1, 2, 3

Diff = Callable[..., tuple[int, str, str]]


@contextmanager
def api_server(objects: Mapping[str, Any]) -> Iterator[str]:
    """Serve objects by their paths, and failures by their codes; yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = objects.get(self.path, 404)
            status, body = (200, found) if isinstance(found, dict) else (found, {})
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def live(failures: int, namespace: str = "shop") -> dict[str, Any]:
    """Return the deployment as an API server has it."""
    probe = {
        "exec": {"command": ["check"]},
        "failureThreshold": failures,
        "periodSeconds": 10,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }
    container = {
        "name": "app",
        "image": "x",
        "imagePullPolicy": "Always",
        "livenessProbe": probe,
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    spec = {
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": namespace,
            "uid": "8c1ab1c1",
            "resourceVersion": "7",
            "generation": 2,
            "creationTimestamp": "2026-08-01T00:00:00Z",
            "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        },
        "spec": {
            "replicas": 3,
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": labels, "creationTimestamp": None},
                "spec": spec,
            },
        },
        "status": {"readyReplicas": 3, "observedGeneration": 2},
    }


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web.yaml").write_text(
        DEPLOYMENT.format(namespace=", namespace: shop", failures=1)
    )
    return tmp_path


@pytest.fixture
def diff(capsys: pytest.CaptureFixture[str]) -> Diff:
    def run_diff(*words: str) -> tuple[int, str, str]:
        status = run(["diff", *words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run_diff


@pytest.mark.parametrize(
    ("words", "change"),
    [
        pytest.param(["cluster", "web.yaml"], "3 -> 1", id="what applying it does"),
        pytest.param(["cluster", "--", "web.yaml"], "3 -> 1", id="with dashes"),
        pytest.param(["cluster:tests", "web.yaml"], "3 -> 1", id="a context"),
        pytest.param(["cluster:", "web.yaml"], "3 -> 1", id="the current context"),
        pytest.param(["web.yaml", "cluster"], "1 -> 3", id="the other way"),
    ],
)
def test_files_are_compared_with_the_cluster(
    here: Path, diff: Diff, words: list[str], change: str
) -> None:
    with api_server({_PATH.format("shop"): live(3)}) as url:
        config = write_kubeconfig(here / "config", url)
        status, out, err = diff(*words, "--kubeconfig", str(config))

    assert (status, err) == (OK, "")
    assert "Deployment shop/web, container app" in out
    assert f"failures of its liveness probe {change}" in " ".join(out.split())
    assert "added" not in out


def test_a_gate_and_markdown_take_a_cluster(here: Path, diff: Diff) -> None:
    with api_server({_PATH.format("shop"): live(3)}) as url:
        config = write_kubeconfig(here / "config", url)
        line = ("--kubeconfig", str(config), "--md", "--fail-on", "stricter")
        status, out, _ = diff("cluster", "web.yaml", *line)

    assert status == DIFFERS
    assert out.startswith("### Probes: cluster → web.yaml\n")


def test_two_clusters_are_compared_by_the_names_of_files(
    here: Path, diff: Diff
) -> None:
    path = _PATH.format("shop")
    with api_server({path: live(3)}) as old, api_server({path: live(5)}) as new:
        config = json.loads(write_kubeconfig(here / "config", old).read_text())
        config["clusters"].append({"name": "other", "cluster": {"server": new}})
        context = {"cluster": "other", "user": "tests"}
        config["contexts"].append({"name": "other", "context": context})
        (here / "config").write_text(json.dumps(config))
        words = ("cluster:tests", "cluster:other", "--", "web.yaml")
        status, out, err = diff(*words, "--kubeconfig", "config")

    assert (status, err) == (OK, "")
    assert "failures of its liveness probe 3 -> 5" in " ".join(out.split())


def test_a_manifest_without_a_namespace_is_of_the_contexts(
    here: Path, diff: Diff
) -> None:
    (here / "web.yaml").write_text(DEPLOYMENT.format(namespace="", failures=1))
    with api_server({_PATH.format("team-a"): live(3, "team-a")}) as url:
        config = json.loads(write_kubeconfig(here / "config", url).read_text())
        config["contexts"][0]["context"]["namespace"] = "team-a"
        (here / "config").write_text(json.dumps(config))
        status, out, err = diff("cluster", "web.yaml", "--kubeconfig", "config")

    assert (status, err) == (OK, "")
    assert "Deployment team-a/web, container app" in out
    assert "failures of its liveness probe 3 -> 1" in " ".join(out.split())


def test_what_the_cluster_lacks_is_new_and_named(here: Path, diff: Diff) -> None:
    with api_server({}) as url:
        config = write_kubeconfig(here / "config", url)
        status, out, err = diff("cluster", "web.yaml", "--kubeconfig", str(config))

    assert status == OK
    assert "container app: added" in out
    assert "Deployment shop/web is not in cluster" in err


def test_an_object_that_is_none_is_left_out_and_named(here: Path, diff: Diff) -> None:
    broken = live(3)
    broken["spec"]["template"] = {"spec": {"containers": "none"}}
    with api_server({_PATH.format("shop"): broken}) as url:
        config = write_kubeconfig(here / "config", url)
        status, _, err = diff("cluster", "web.yaml", "--kubeconfig", str(config))

    assert status == OK
    assert "cluster:Deployment shop/web" in err
    assert "left out" in err


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param(401, "kubectl auth whoami", id="credentials"),
        pytest.param(
            403, "kubectl auth can-i get deployments.apps/web -n shop", id="a right"
        ),
        pytest.param(500, "HTTP 500", id="an error"),
    ],
)
def test_a_cluster_that_refuses_is_named_with_the_next_step(
    here: Path, diff: Diff, code: int, message: str
) -> None:
    with api_server({_PATH.format("shop"): code}) as url:
        config = write_kubeconfig(here / "config", url)
        status, out, err = diff("cluster", "web.yaml", "--kubeconfig", str(config))

    assert (status, out) == (UNAVAILABLE, "")
    assert message in err


def test_a_cluster_that_cannot_be_reached_is_named(here: Path, diff: Diff) -> None:
    config = write_kubeconfig(here / "config", "http://127.0.0.1:1")

    status, out, err = diff("cluster", "web.yaml", "--kubeconfig", str(config))

    assert (status, out) == (UNAVAILABLE, "")
    assert "http://127.0.0.1:1" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["cluster:nope", "web.yaml"], "nope", id="no such context"),
        pytest.param(["cluster"], "name a file or folder", id="no file"),
    ],
)
def test_what_names_no_objects_is_refused(
    here: Path, diff: Diff, words: list[str], message: str
) -> None:
    config = write_kubeconfig(here / "config", "http://127.0.0.1:1")

    status, out, err = diff(*words, "--kubeconfig", str(config))

    assert (status, out) == (USAGE, "")
    assert message in err


def test_a_folder_of_that_name_is_a_folder(here: Path, diff: Diff) -> None:
    (here / "cluster").mkdir()
    (here / "cluster/web.yaml").write_text(
        DEPLOYMENT.format(namespace=", namespace: shop", failures=2)
    )

    status, out, _ = diff("cluster", "web.yaml")

    assert status == OK
    assert "2 -> 1" in " ".join(out.split())
