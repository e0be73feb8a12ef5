"""What the pods of traces do, as scripts for the world on virtual time.

A script follows from the pod's manifest, read by `shell`; nothing is taken from the
trace but whether there was an image, and the words of errors that are the runtime's
own. Servers are beyond `shell`: what those of this project's traces do is written
here, and found again by their manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from probetui.drive.scenario.behavior import (
    IMMEDIATE,
    CallBehavior,
    InstanceBehavior,
    ProbeAnswer,
    ProbeBehavior,
    answer_success,
)
from probetui.drive.scenario.world import World
from probetui.k8s.probe import ExecAction, Probe, SleepAction
from probetui.kubelet.effects import (
    CreateContainer,
    Operation,
    Relist,
    RunHook,
    RunPodSandbox,
    RunProbe,
    StartContainer,
    StopContainer,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.kubelet_rules import KubeletRules
from tests.traces import shell
from tests.traces.shell import NotUnderstoodError, Run
from tests.traces.trace import Trace, a_pod_of, own_traces

COMMAND_TAKES = timedelta(milliseconds=30)
"""How long a command in a container or a request takes that does nothing."""

CALLS_TAKE: Mapping[type, timedelta] = {
    RunPodSandbox: timedelta(milliseconds=400),
    CreateContainer: timedelta(milliseconds=10),
    StartContainer: timedelta(milliseconds=50),
    StopContainer: timedelta(milliseconds=50),
    Relist: timedelta(milliseconds=30),
}
"""How long calls take beside what they wait for, about as on a machine at rest."""


def seconds(number: float) -> timedelta:
    """Return that many seconds."""
    return timedelta(seconds=number)


OK = ProbeAnswer(Attempt(ProbeResult.SUCCESS), COMMAND_TAKES)
FAILS = ProbeAnswer(Attempt(ProbeResult.FAILURE), COMMAND_TAKES)

UNAWARE = InstanceBehavior(stops_after=None)
"""A shell or `sleep` without a handler: as process 1 it gets no SIGTERM."""


def always(answer: ProbeAnswer) -> ProbeBehavior:
    """Answer every probe like this."""
    return lambda _effect, _age: answer


def by_age(answer: Callable[[timedelta], ProbeAnswer]) -> ProbeBehavior:
    """Answer probes by the age of the instance."""
    return lambda _effect, age: answer(age)


@dataclass(frozen=True, slots=True)
class Script:
    """What the containers of one pod do, its images and its hooks."""

    lives: Mapping[str, tuple[InstanceBehavior, ...]] = field(default_factory=dict)
    probing: ProbeBehavior = answer_success
    has_image: bool = True
    hooks: Callable[[RunHook], CallBehavior] = lambda _hook: IMMEDIATE

    def world(self) -> World:
        """Return a world with this pod in it."""
        return World(
            self.lives,
            self.probing,
            images=None if self.has_image else frozenset(),
            dealing=self._deal,
        )

    def _deal(self, call: Operation | Relist) -> CallBehavior:
        if isinstance(call, RunHook):
            return self.hooks(call)
        return CallBehavior(CALLS_TAKE.get(type(call), timedelta()))


STATUS_500 = ProbeAnswer(
    Attempt(ProbeResult.FAILURE, "HTTP probe failed with statuscode: 500"),
    COMMAND_TAKES,
)


def redirected(effect: RunProbe, _age: timedelta) -> ProbeAnswer:
    """Answer with a redirect to another host, without a body."""
    attempt = Attempt(ProbeResult.WARNING, effect.rules.redirect_warning)
    return ProbeAnswer(attempt, COMMAND_TAKES)


REFUSED = "connect: connection refused"
SERVERS: Mapping[str, Script] = {
    # The script answers with 200 until the server is 10 s old.
    "http-liveness": Script(
        {"liveness": (UNAWARE,)},
        by_age(lambda age: OK if age < seconds(10) else STATUS_500),
    ),
    # The answer is a redirect to another host, which is not followed.
    "http-redirect": Script({"app": (UNAWARE,)}, redirected),
    # It counts its starts in a file, and ends otherwise at the third.
    "1.36/restart-rules-in": Script(
        {"app": tuple(InstanceBehavior(seconds(2), code) for code in (42, 42, 1))}
    ),
    # It counts its starts in a file, and goes on from the third.
    "1.36/restart-all": Script(
        {
            "setup": (InstanceBehavior(seconds(1), 0),),
            "proxy": (InstanceBehavior(stops_after=seconds(1)),),
            "main": (InstanceBehavior(stops_after=seconds(1)),),
            "watcher": (
                *(InstanceBehavior(seconds(15), 88) for _ in range(2)),
                UNAWARE,
            ),
        }
    ),
    # Nothing listens at the hook's port.
    **dict.fromkeys(
        ("1.36/poststart-http", "1.20/poststart-http"),
        Script(
            {"app": (InstanceBehavior(stops_after=seconds(0.5)),)},
            hooks=lambda _hook: CallBehavior(COMMAND_TAKES, REFUSED),
        ),
    ),
    **dict.fromkeys(
        ("1.36/stop-signal",),
        Script(
            {"app": (InstanceBehavior(stops_after=seconds(0.5), stop_code=12),)},
            always(FAILS),
        ),
    ),
}
"""The scripts of this project's own traces that `shell` does not understand."""


def script_of(trace: Trace) -> Script:
    """Return what the pod of a trace does.

    Raises:
        NotUnderstoodError: its manifest does not say so in words that are known here.
    """
    if trace.lacks_image:
        return Script(has_image=False)
    own = own_traces()
    for name, script in SERVERS.items():
        if own[name].manifest["spec"] == trace.manifest["spec"]:
            return script
    pod = a_pod_of(trace.manifest, trace.config.rules)
    runs = {
        container.name: shell.run((*container.command, *container.args))
        for container in pod.all_containers()
    }
    for container in pod.all_containers():
        probes = (
            container.startup_probe,
            container.liveness_probe,
            container.readiness_probe,
        )
        for probe in filter(None, probes):
            _answer(probe, runs[container.name], 0.0, trace.config.rules)
        for hook in (container.post_start, container.pre_stop):
            if hook is not None and not isinstance(hook, SleepAction):
                _end_of_hook(hook)
    return Script(
        {name: (_behavior(run),) for name, run in runs.items()},
        lambda effect, age: _answer(
            effect.probe,
            runs[effect.key.container_name],
            age.total_seconds(),
            effect.rules,
        ),
        hooks=lambda hook: _end_of_hook(hook.handler),
    )


def _behavior(run: Run) -> InstanceBehavior:
    if run.is_missing:
        raise NotUnderstoodError("a container without a program")
    return InstanceBehavior(
        None if run.lasts is None else seconds(run.lasts),
        run.exit_code,
        None if run.stops_after is None else seconds(run.stops_after),
        run.stop_code,
    )


def _answer(
    probe: Probe, container: Run, age: float, rules: KubeletRules
) -> ProbeAnswer:
    """Return what a probe meets in a container of that age (seconds)."""
    match probe.handler:
        case ExecAction(command):
            found = shell.run(command, container.files_at(age))
        case handler:
            raise NotUnderstoodError(handler)
    if found.is_missing:
        error = Attempt(ProbeResult.UNKNOWN, error="no such file or directory")
        return ProbeAnswer(error, 3 * COMMAND_TAKES)
    limit = probe.timeout_seconds
    if found.lasts is None or found.lasts >= limit:
        text = f'command timed out: "{" ".join(command)}" timed out after {limit}s'
        output = text if rules.tells_exec_timeout else ""
        return ProbeAnswer(Attempt(ProbeResult.FAILURE, output), seconds(limit))
    result = ProbeResult.FAILURE if found.exit_code else ProbeResult.SUCCESS
    takes = seconds(found.lasts) + COMMAND_TAKES
    return ProbeAnswer(Attempt(result, found.output), takes)


def _end_of_hook(handler: object) -> CallBehavior:
    if not isinstance(handler, ExecAction):
        raise NotUnderstoodError(handler)
    found = shell.run(handler.command)
    if found.lasts is None or found.is_missing:
        raise NotUnderstoodError(handler)
    error = ""
    if found.exit_code:
        joined = " ".join(handler.command)
        error = f"command '{joined}' exited with {found.exit_code}: {found.output}"
    return CallBehavior(max(seconds(found.lasts), COMMAND_TAKES), error)
