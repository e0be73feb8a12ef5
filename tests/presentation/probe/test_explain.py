"""`probetui explain`: a pod's probes before anything runs."""

from __future__ import annotations

import json

from msgspec.structs import replace

from probetui.k8s.pod import RestartPolicy
from probetui.k8s.service import Service
from probetui.presentation.probe.explain import explain_pod, explain_pod_json
from probetui.presentation.text.view import View
from probetui.record.masking import Mask
from tests.builders import a_container, a_pod, an_exec_probe, an_http_probe

WEB = a_container(
    "web",
    startup_probe=an_http_probe(period_seconds=2, failure_threshold=30),
    liveness_probe=an_exec_probe(
        "cat", "/tmp/healthy", initial_delay_seconds=5, period_seconds=5
    ),
    readiness_probe=an_http_probe(success_threshold=2),
)
VIEW = View.timeless()

EXPLAINED = """\
shop  restartPolicy Always, grace period 30s
  web
    startup  http GET :8080/healthz
      settings   period 2s  timeout 1s  delay 0s  failures 30
      first      0s to 2s after the container starts
      budget     an app that is up within 58s is never killed, one that is \
not within 1m01s always
      succeeds   0s to 3s after the app is up
      then       killed, with 30s of grace (pod)
      back-off   a restart soon after another waits 10s, 20s, 40s, up to 5m, \
plus up to 16s
      cost       30 probes a minute
    liveness  exec cat /tmp/healthy
      settings   period 5s  timeout 1s  delay 5s  failures 3
      first      4s to 10s after the container starts, once its startup \
probe has succeeded
      noticed    10s to 16s after the app fails: 3 failures, 5s apart
      then       killed, with 30s of grace (pod)
      restart    10s to 46s after the app fails
      back-off   a restart soon after another waits 10s, 20s, 40s, up to 5m, \
plus up to 16s
      cost       12 probes a minute
    readiness  http GET :8080/healthz
      settings   period 10s  timeout 1s  delay 0s  failures 3  successes 2
      first      0s to 10s after the container starts, once its startup \
probe has succeeded
      noticed    20s to 31s after the app fails: 3 failures, 10s apart
      then       not ready; never killed
      endpoints  out of the endpoints of the Services that select the pod; \
back in once the pod is ready again
      ready      0s to 21s after the app recovers: 2 successes, up to 10s apart
      also       probed at each sync of its pod while it is not ready
      cost       6 probes a minute"""


def test_every_probe_is_explained_with_its_numbers() -> None:
    lines = list(explain_pod(a_pod(WEB, name="shop"), VIEW))

    assert "\n".join(lines) == EXPLAINED


def test_a_container_that_is_never_restarted_is_explained() -> None:
    container = a_container(liveness_probe=an_exec_probe("true", failure_threshold=1))
    pod = a_pod(container, restart_policy=RestartPolicy.NEVER)

    lines = [line.strip() for line in explain_pod(pod, VIEW)]

    assert "restart    none (restartPolicy Never)" in lines
    assert "noticed    0s to 11s after the app fails: 1 failure is enough" in lines


def test_containers_without_a_probe_and_others_than_regular_ones_are_named() -> None:
    pod = a_pod(
        a_container("app"),
        init_containers=(
            a_container("first"),
            a_container("log", restart_policy=RestartPolicy.ALWAYS),
        ),
        termination_grace_period_seconds=None,
    )

    lines = list(explain_pod(pod, VIEW))

    assert lines[0].endswith("grace period none")
    assert lines[1::2] == ["  first  (init container)", "  log  (sidecar)", "  app"]
    assert lines[2::2] == [
        "    no probe: it must exit with 0 before the next container starts",
        "    no probe: ready as soon as it runs, never killed",
        "    no probe: ready as soon as it runs, never killed",
    ]


def test_a_cost_that_is_no_whole_number_is_rounded() -> None:
    container = a_container(liveness_probe=an_exec_probe("true", period_seconds=7))

    assert "8.6 probes a minute" in list(explain_pod(a_pod(container), VIEW))[-1]


def test_names_and_commands_are_shown_and_never_obeyed() -> None:
    container = a_container(
        liveness_probe=an_exec_probe("echo", "\x1b[2J", "hunter2-secret")
    )
    view = View.timeless(Mask(["hunter2-secret"]))

    text = "\n".join(explain_pod(a_pod(container), view))

    assert "\x1b" not in text
    assert "hunter2" not in text


def test_json_has_the_same_facts() -> None:
    found = explain_pod_json(a_pod(WEB, name="shop"), VIEW)

    (container,) = json.loads(json.dumps(found))["containers"]
    startup, liveness, readiness = container["probes"]
    assert liveness["failureNoticed"] == {"least": 10.0, "most": 16.0}
    assert liveness["restarted"] == {"least": 10.0, "most": 46.0}
    assert startup["startupBudget"] == {"least": 58.0, "most": 61.0}
    assert (readiness["gracePeriodSeconds"], readiness["restarted"]) == (None, None)
    assert readiness["probesPerMinute"] == 6


def test_a_service_of_the_files_has_its_name() -> None:
    service = Service("web", "default", (("app", "shop"),))
    view = replace(VIEW, services=(service,))

    lines = list(explain_pod(a_pod(WEB, labels={"app": "shop"}), view))

    assert (
        "      endpoints  out of the endpoints of Service web; back in once the pod is "
        "ready again"
    ) in lines
