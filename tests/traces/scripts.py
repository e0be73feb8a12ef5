"""What the pods of the traces do, as scripts for the world on virtual time.

Every script follows from the pod's manifest alone; nothing is taken from the trace but
the words of errors that are the runtime's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from probetui.drive.scripted_lives import (
    SWIFT,
    Answer,
    Life,
    Manner,
    Probing,
    always_healthy,
)
from probetui.drive.world import World
from probetui.k8s.probe import ProbeType
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


OK = Answer(Attempt(ProbeResult.SUCCESS), COMMAND_TAKES)
FAILS = Answer(Attempt(ProbeResult.FAILURE), COMMAND_TAKES)

UNAWARE = Life(stops_after=None)
"""A shell or `sleep` without a handler: as process 1 it gets no SIGTERM."""


def always(answer: Answer) -> Probing:
    """Answer every probe like this."""
    return lambda _effect, _age: answer


def by_age(answer: Callable[[timedelta], Answer]) -> Probing:
    """Answer probes by the age of the instance."""
    return lambda _effect, age: answer(age)


def startup_fails(effect: RunProbe, _age: timedelta) -> Answer:
    """Let startup probes fail and all others succeed."""
    return FAILS if effect.key.probe_type is ProbeType.STARTUP else OK


@dataclass(frozen=True, slots=True)
class Script:
    """What the containers of one pod do, and its images and hooks.

    `hook` is how its hooks end, and how long they take.
    """

    lives: Mapping[str, Life] = field(default_factory=dict)
    probing: Probing = always_healthy
    has_image: bool = True
    hook: Manner = SWIFT

    def world(self) -> World:
        """Return a world with this pod in it."""
        return World(
            {name: (life,) for name, life in self.lives.items()},
            self.probing,
            images=None if self.has_image else frozenset(),
            dealing=self._deal,
        )

    def _deal(self, call: Operation | Relist) -> Manner:
        if isinstance(call, RunHook):
            return self.hook
        return Manner(CALLS_TAKE.get(type(call), timedelta()))


NO_SUCH_FILE = Answer(
    Attempt(
        ProbeResult.FAILURE,
        "cat: can't open '/tmp/healthy': No such file or directory\n",
    ),
    COMMAND_TAKES,
)
STATUS_500 = Answer(
    Attempt(ProbeResult.FAILURE, "HTTP probe failed with statuscode: 500"),
    COMMAND_TAKES,
)

SCRIPTS: Mapping[str, Script] = {
    # `sleep 1; exit 3`
    "crashloop": Script({"app": Life(lasts=seconds(1), exit_code=3)}),
    # The file is there for 30 s, then the shell sleeps on without a handler.
    "exec-liveness": Script(
        {"liveness": UNAWARE},
        by_age(lambda age: OK if age < seconds(30) else NO_SUCH_FILE),
    ),
    # A command that does not exist is an error in the runtime's words.
    "exec-missing-binary": Script(
        {"app": UNAWARE},
        always(
            Answer(
                Attempt(ProbeResult.UNKNOWN, error="no such file or directory"),
                3 * COMMAND_TAKES,
            )
        ),
    ),
    # `sleep 10` is cut off after timeoutSeconds: 1.
    "exec-timeout": Script(
        {"app": UNAWARE},
        always(
            Answer(
                Attempt(
                    ProbeResult.FAILURE,
                    'command timed out: "/bin/sh -c sleep 10" timed out after 1s',
                ),
                seconds(1),
            )
        ),
    ),
    # The script answers with 200 until the server is 10 s old.
    "http-liveness": Script(
        {"liveness": UNAWARE},
        by_age(lambda age: OK if age < seconds(10) else STATUS_500),
    ),
    # The answer is a redirect to another host, which is not followed.
    "http-redirect": Script(
        {"app": UNAWARE},
        always(
            Answer(
                Attempt(
                    ProbeResult.WARNING, "Probe terminated redirects, Response body: "
                ),
                COMMAND_TAKES,
            )
        ),
    ),
    # Nobody listens where the image should come from.
    "image-missing": Script(has_image=False),
    # The image is not here and may not be pulled.
    "image-never": Script(has_image=False),
    # `sleep 4`, then `sleep 2`, then a container that is ready at once.
    "init-then-main": Script(
        {
            "setup": Life(lasts=seconds(4)),
            "setup2": Life(lasts=seconds(2)),
            "main": UNAWARE,
        },
        always(OK),
    ),
    # `false`, in a pod that restarts nothing.
    "never-liveness": Script({"app": UNAWARE}, always(FAILS)),
    # preStop takes 1 s; the handler runs when `sleep 1` is over, and takes 2 s.
    "oneshot-delete": Script(
        {"app": Life(stops_after=seconds(2.5), stop_code=0)},
        always(OK),
        hook=Manner(seconds(1)),
    ),
    # `sleep 8; exit 0`
    "onfailure-success": Script({"app": Life(lasts=seconds(8))}, always(OK)),
    # postStart is `exit 7`.
    "poststart-fail": Script(
        {"app": UNAWARE},
        always(OK),
        hook=Manner(COMMAND_TAKES, "command '/bin/sh -c exit 7' exited with 7: "),
    ),
    # SIGTERM is ignored, and preStop takes 2 of the 6 seconds.
    "prestop-grace": Script({"app": UNAWARE}, always(FAILS), hook=Manner(seconds(2))),
    # The file is there for 9 s and gone for 9 s, in turn.
    "readiness-flap": Script(
        {"app": UNAWARE},
        by_age(lambda age: OK if age % seconds(18) < seconds(9) else FAILS),
    ),
    # The startup probe is `false`.
    "startup-never": Script({"app": UNAWARE}, startup_fails),
    # The file that all three probes look for is there after 20 s.
    "startup-slow": Script(
        {"app": UNAWARE},
        by_age(lambda age: OK if age >= seconds(20) else FAILS),
    ),
}
