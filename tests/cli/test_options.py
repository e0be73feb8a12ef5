"""The options of the commands that run a session, tried by sessions that end.

An option without a row in `ROWS` fails here. A row has what is typed, the documented
exit status, and what is printed where the option gives something.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from probetui.cli.main import COMMANDS, run
from probetui.tui.actions.keymap import read_keymap
from tests.cli.option_rows import ABSENT_ENGINES, Row, options_of
from tests.cluster.api_server.resources import NAMESPACES, PODS
from tests.cluster.servers import running_cluster

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: tried, namespace: of-options, labels: {app: tried}}
spec:
  nodeName: of-options
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: none
    command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 0.05; done"]
    env: [{name: PASSWORD, value: hunter22}]
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
"""
OTHERS = """\
apiVersion: v1
kind: Pod
metadata: {name: tried, labels: {app: tried}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: none
    command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 0.05; done"]
    envFrom: [{configMapRef: {name: absent}}]
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1, oddField: 1}
"""
"""A pod without a namespace, with an unknown field and without its ConfigMap."""

SCRIPT = """\
containers:
  app:
    readiness: [{result: failure, times: 3}, {result: success}]
"""
STATUS = {
    "phase": "Running",
    "podIP": "127.0.0.1",
    "startTime": "2026-01-01T00:00:00Z",
    "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [
        {
            "name": "app",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "image": "none",
            "imageID": "",
            "containerID": "containerd://1",
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
        }
    ],
}
OK, NO, USAGE, TIME_LIMIT = 0, 1, 2, 4

BASES: Mapping[str, tuple[str, ...]] = {
    "run": ("-f", "{pod}", "--runtime", "process"),
    "serve": ("-f", "{pod}", "--runtime", "process"),
    "attach": ("-f", "{pod}", "--runtime", "process", "app={pid}"),
    "node": ("--static", "{pod}", "--kubeconfig", "{kubeconfig}",
             "--name", "of-options", "--runtime", "process"),
    "watch": ("-n", "of-options", "--kubeconfig", "{kubeconfig}"),
    "sim": ("-f", "{pod}"),
    "replay": ("{record}",),
    "demo": ("readiness", "--runtime", "sim"),
}  # fmt: skip
ENDS = ("--until", "ready", "--timeout", "30s", "--plain")
REAL_TIME = frozenset({"run", "serve", "attach", "node", "watch"})
QUICK = frozenset(
    {
        ("run", "--record"),
        ("serve", "--port"),
        ("attach", "--static"),
        ("node", "--static"),
        ("watch", "--until"),
    }
)
"""Those of commands in real time that the quick tests try."""


def recorded(*args: str, content: str) -> Row:
    """Return the row of an option whose effect is in the session's record."""
    record = "{folder}/new.jsonl"
    return Row((*args, "--record", record), writes="new.jsonl", content=content)


def others(*args: str, status: int = OK, shows: str) -> Row:
    """Return the row of an option that is about the pod of `OTHERS`."""
    return Row(("-f", "{others}", *args), status, shows, replaces="-f")


_IS_SERVED = r"the screen is at http://127\.0\.0\.1:"
_IS_READY = "/app ready false->true"
ROWS: Mapping[str, Row] = {
    "-f": Row(shows=_IS_READY),
    "--static": Row(
        ("--static", "{pod}"), shows=r" tried-\S+/app ready", replaces="-f"
    ),
    "-R": Row(("-f", "{tree}", "-R"), shows=_IS_READY, replaces="-f"),
    "--insecure-skip-tls-verify": Row(("--insecure-skip-tls-verify",)),
    "-n": others(
        "--stub-missing", "-n", "given", "-o", "jsonl", shows='"namespace":"given"'
    ),
    "-A": Row(("-A",), replaces="-n"),
    "-l": Row(("-l", "app=tried", "-f", "{other}"), shows=_IS_READY, hides="other/app"),
    "--set": Row(("--set", "app.readinessProbe.periodSeconds=2"), shows=" period=2s "),
    "--validate": others(
        "--validate", "strict", status=USAGE, shows='error: .*field "oddField"'
    ),
    "--strict": others("--strict", status=USAGE, shows='error: .*field "oddField"'),
    "--stub-missing": others("--stub-missing", shows='ConfigMap "absent" is a stub'),
    "--runtime": Row(shows=_IS_READY),
    **ABSENT_ENGINES,
    "--context": Row(("--context", "tests")),
    "--kubeconfig": Row(),
    "--reach": Row(("--reach", "auto")),
    "--act-by": Row(("--act-by", "delete")),
    "-y": Row(("-y",)),
    "--no-wait": Row(("--no-wait",)),
    "--pull": Row(("--pull", "missing")),
    "--beside-kubelet": Row(("--beside-kubelet",)),
    "--image-gc": Row(("--image-gc",)),
    "--keep": Row(("--keep",)),
    "--act": Row(("--act",)),
    "--watch": Row(("--watch",)),
    "--metrics": Row(("--metrics", ":{port}", "--for-at-least", "2s"), scrapes=True),
    "--runtime-events": Row(("--runtime-events",)),
    "--freeze": Row(("--freeze",)),
    "--step": Row(("--step",), NO, shows="the lines ended before ready"),
    "--time-scale": Row(("--time-scale", "2")),
    "--for": Row(
        ("--for", "2s"), shows="readiness #", hides="readiness #5", replaces="--until"
    ),
    "--kubelet": recorded("--kubelet", "1.32", content='"kubelet":"v1.32"'),
    "--feature-gates": recorded(
        "--kubelet",
        "1.32",
        "--feature-gates",
        "SidecarContainers=false",
        content=r'"featureGates":\["SidecarContainers=false"\]',
    ),
    "--exec-errors": recorded(
        "--exec-errors", "docker", content='"exec_errors":"docker"'
    ),
    "--no-findings": Row(("--no-findings",)),
    "--kubelet-age": recorded("--kubelet-age", "fresh", content='"age":0.0'),
    "--max-container-restart-period": recorded(
        "--max-container-restart-period",
        "10s",
        content='"maxContainerRestartPeriod":10000.0',
    ),
    "--seed": recorded("--seed", "7", content='"config":{[^}]*"seed":7'),
    "--until": Row(shows=_IS_READY),
    "--for-at-least": Row(("--for-at-least", "1s"), shows=_IS_READY),
    "--timeout": Row(
        ("--timeout", "1s"), TIME_LIMIT, "--timeout 1s reached", replaces="--until"
    ),
    "-o": Row(("-o", "jsonl"), shows=r"^\{"),
    "-c": Row(("-c", "app"), shows=_IS_READY, hides=" phase "),
    "-t": Row(
        ("-t", "readiness"),
        shows="readiness #[0-9]+ success",
        hides="/app (image|event)",
    ),
    "--since-start": Row(("--since-start",), shows=r"^\+\d+\.\ds \S+/app "),
    "-v": Row(("-v",), shows="/app readiness results [1-9]"),
    "--show-secrets": recorded("--show-secrets", content="hunter22"),
    "--plain": Row(shows=_IS_READY),
    "--no-tui": Row(("--no-tui",), shows=_IS_READY),
    "--tui": Row(("--tui",), USAGE, "--tui"),
    "--record-limit": Row(("--record-limit", "512Mi")),
    "--record": recorded(content='"reason":"until","exit":0'),
    "--report": Row(
        ("--report", "{folder}/new.html"), writes="new.html", content="<h1>"
    ),
    "--autosave": Row(("--autosave",)),
    "--autosave-limit": Row(("--autosave-limit", "1M")),
    "--paused": Row(("--paused", "--timeout", "1s"), TIME_LIMIT, "user pause all"),
    "--read-only": Row(("--read-only",)),
    "--theme": Row(("--theme", "none-such"), USAGE, "nord"),
    "--keymap": Row(
        ("--keymap", "{script}"), USAGE, '"containers" is no action|containers'
    ),
    "--color": Row(("--color", "sometimes"), USAGE, "auto"),
    "--ascii": Row(("--ascii",)),
    "--lanes": Row(("--no-lanes",)),
    "--present": Row(("--present",)),
    "--notify": Row(("--notify",)),
    "--no-motion": Row(("--no-motion",)),
    "--no-mouse": Row(("--no-mouse",)),
    "--pause-opens-step": Row(("--pause-opens-step",)),
    "--web": Row(("--web",), USAGE, "every tab has a session of its own here: leave"),
    "--web-port": Row(("--web-port", "{port}"), USAGE, "need --web"),
    "--web-control": Row(("--web-control",), USAGE, "need --web"),
    "run --web": Row(("--web",), shows=_IS_SERVED),
    "run --web-port": Row(("--web", "--web-port", "{port}"), shows=_IS_SERVED),
    "run --web-control": Row(("--web", "--web-control"), shows=_IS_SERVED),
    "watch --web": Row(("--web",), shows=_IS_SERVED),
    "watch --web-port": Row(("--web", "--web-port", "{port}"), shows=_IS_SERVED),
    "watch --web-control": Row(("--web", "--web-control"), shows=_IS_SERVED),
    "--config": Row(("--config", "{settings}"), shows=r"^\+\d+\.\ds "),
    "--log-file": Row(
        ("--log-file", "{folder}/own.log", "--log-level", "debug"),
        writes="own.log",
        content="DEBUG",
    ),
    "--log-level": Row(("--log-level", "loud"), USAGE, "debug"),
    "-q": Row(("-q",), hides="tried"),
    "--port": Row(("--port", "{port}"), shows="https://127.0.0.1:"),
    "--write-kubeconfig": Row(
        ("--write-kubeconfig", "{folder}/written"),
        shows=r"export KUBECONFIG=\S+/written$",
    ),
    "--no-token": Row(("--no-token",)),
    "--name": Row(),
    "--address": Row(("--address", "127.0.0.1")),
    "--adopt": Row(("--adopt",)),
    "--keep-node": Row(("--keep-node",)),
    "--via-node-proxy": Row(("--via-node-proxy",)),
    "--kubelet-insecure-tls": Row(("--kubelet-insecure-tls",)),
    "--no-counters": Row(("--no-counters",)),
    "--prometheus": Row(
        ("--prometheus", "http://127.0.0.1:1"), shows="the past is not shown"
    ),
    "--since": Row(("--since", "1h"), USAGE, "--prometheus names the store"),
    **{
        # A session without a store has no past.
        option: Row((option, value) if value else (option,))
        for option, value in {
            "--prometheus-label": "cluster=a",
            "--prometheus-header": "X-Api-Key: a",
            "--prometheus-tenant": "a",
            "--prometheus-token-file": "{settings}",
            "--prometheus-ca": "{folder}/absent.pem",
            "--prometheus-cert": "{folder}/absent.pem",
            "--prometheus-key": "{folder}/absent.pem",
            "--prometheus-insecure-tls": "",
            "--explain-queries": "",
        }.items()
    },
    "--script": Row(("--script", "{script}"), shows="readiness #2 failure"),
    "--list": Row(("--list",), shows="readiness"),
    "--quiz": Row(("--no-quiz",)),
    "demo --show-secrets": Row(("--show-secrets",)),
    "replay --show-secrets": Row(("--show-secrets",)),
    "run --time-scale": Row(("--time-scale", "2"), USAGE, "simulation only"),
    "run --for": Row(("--for", "2s"), USAGE, "simulation only"),
    "node --static": Row(),
    "replay --paused": Row(("--paused", "--timeout", "1s"), TIME_LIMIT, "#1 skipped"),
    "replay --timeout": Row(("--timeout", "1s"), replaces="--until"),
    "replay --for-at-least": Row(("--for-at-least", "1s"), NO),
    "attach --context": Row(("--context", "x"), USAGE, "--docker-context"),
    "attach --set": recorded(
        "--set", "app.readinessProbe.periodSeconds=2", content="periodSeconds: 2"
    ),
    "watch -n": Row(("-n", "of-options"), shows="seen/app ready", replaces="-n"),
    "watch -l": Row(("-l", "app=tried"), shows="seen/app ready"),
    "watch -t": Row(("-t", "readiness"), shows="seen/app ready", hides=" phase "),
    "watch -v": Row(("-v",), shows="seen ready condition none->True"),
    "watch --show-secrets": Row(("--show-secrets",)),
    "watch --log-file": Row(("--log-file", "{folder}/own.log")),
}


def cases() -> Iterator[object]:
    for command in BASES:
        for name in options_of(COMMANDS[command].load()):
            is_slow = command in REAL_TIME and (command, name) not in QUICK
            marks = [pytest.mark.slow] if is_slow else []
            yield pytest.param(command, name, marks=marks, id=f"{command}-{name}")


@contextmanager
def cluster(folder: Path) -> Iterator[Path]:
    """Serve a cluster with a pod that is ready, in a thread of its own."""
    started, ended = threading.Event(), threading.Event()
    found: list[Path] = []

    async def serve() -> None:
        async with running_cluster(folder) as (server, kubeconfig):
            server.store.create(NAMESPACES, "", {"metadata": {"name": "of-options"}})
            container = {"name": "app", "image": "none"}
            metadata = {"name": "seen", "labels": {"app": "tried"}}
            spec = {"nodeName": "elsewhere", "containers": [container]}
            server.store.create(
                PODS, "of-options", {"metadata": metadata, "spec": spec}
            )
            pod = server.store.get(PODS, "of-options", "seen")
            pod = {**pod, "status": STATUS}
            server.store.update(PODS, "of-options", "seen", pod, "status")
            found.append(kubeconfig)
            started.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert started.wait(60)
        yield found[0]
    finally:
        ended.set()
        thread.join()


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"], cwd=tmp_path) as process:
        yield process
        process.kill()


@pytest.fixture
def values(
    tmp_path: Path, process: subprocess.Popen[bytes], unused_tcp_port: int
) -> dict[str, str]:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "script.yaml").write_text(SCRIPT)
    (tmp_path / "others.yaml").write_text(OTHERS)
    (tmp_path / "other.yaml").write_text(POD.replace("tried", "other"))
    (tmp_path / "tree/inner").mkdir(parents=True)
    (tmp_path / "tree/inner/pod.yaml").write_text(POD)
    (tmp_path / "settings.yaml").write_text("since-start: true\n")
    (tmp_path / "keys.yaml").write_text("time.step: f9\n")
    return {
        "pod": str(tmp_path / "pod.yaml"),
        "others": str(tmp_path / "others.yaml"),
        "other": str(tmp_path / "other.yaml"),
        "tree": str(tmp_path / "tree"),
        "script": str(tmp_path / "script.yaml"),
        "keys": str(tmp_path / "keys.yaml"),
        "settings": str(tmp_path / "settings.yaml"),
        "record": str(tmp_path / "record.jsonl"),
        "folder": str(tmp_path),
        "pid": str(process.pid),
        "port": str(unused_tcp_port),
    }


@contextmanager
def scraping(port: int, wants: bytes) -> Iterator[None]:
    """Ask for metrics until some that are wanted are there, and assert that."""
    ended = threading.Event()
    found: list[bytes] = []

    def scrape() -> None:
        while not found and not ended.wait(0.02):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            with contextlib.suppress(OSError):
                connection.request("GET", "/metrics")
                body = connection.getresponse().read()
                if wants in body:
                    found.append(body)
            connection.close()

    thread = threading.Thread(target=scrape)
    if wants:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if wants:
            thread.join()
    assert bool(found) == bool(wants)


@pytest.mark.parametrize("command", BASES)
def test_each_option_has_a_row(command: str) -> None:
    assert {
        name for name in options_of(COMMANDS[command].load()) if name not in ROWS
    } == set()


def test_the_example_of_keymap_is_a_keymap() -> None:
    text = next(
        option.help or ""
        for option in COMMANDS["run"].load().params
        if isinstance(option, click.Option) and "--keymap" in option.opts
    )
    example = re.search(r"such as (\S+): (\S+)\.$", text)
    assert example is not None
    keymap, problems = read_keymap({example[1]: example[2]})
    assert (dict(keymap), problems) == ({example[1]: example[2]}, [])


@pytest.mark.parametrize(("command", "name"), cases())
def test_a_session_takes_each_option_and_ends_as_documented(
    command: str,
    name: str,
    values: dict[str, str],
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    row = ROWS.get(f"{command} {name}") or ROWS[name]
    line = row.line([*BASES[command], *ENDS])
    if command == "watch" and row.replaces != "--until":
        # httpcore2 leaves a socket open if its TLS handshake is cancelled.
        line += ["--for-at-least", "1s"]
    if command == "replay":
        record = ["sim", "-f", values["pod"], "--until", "ready", "--plain", "-q"]
        assert run([*record, "--record", values["record"]]) == 0
    with cluster(tmp_path) as kubeconfig:
        found = {**values, "kubeconfig": str(kubeconfig)}
        words = [word.format_map(found) for word in line]
        capfd.readouterr()
        # The pod of the cluster has no probes.
        is_watched = command == "watch"
        wants = b"probetui_probe_exact gauge" if is_watched else b"prober_probe_total{"
        with scraping(int(values["port"]), wants if row.scrapes else b""):
            status = run([command, *words])
    printed = "\n".join(capfd.readouterr())
    row.check(status, printed, tmp_path)
