"""Cases: a pod, a script of what happens to it, and the answers that `why` must give.

A case is a file in `data`. Its first document has the script of the simulation, the
version of the kubelet and the questions; the others are the manifest. The names of
those that begin with `c` and a number have a question that was asked in public.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, convert

from probetui.analysis.causes.answer import explain, last_endings
from probetui.analysis.causes.cause import WhyAnswer
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import SessionHistory
from probetui.drive.scenario.reader import read_scenario
from probetui.drive.scenario.script import NO_SCENARIO, Scenario
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetObjects, SetPods
from probetui.engine.snapshot import Snapshot
from probetui.k8s.pod import Container, Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import KubeletRules, rules_for_kubelet
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import Manifests
from probetui.manifest.yaml.parser import SourceFile
from probetui.presentation.cause.answer import answer_clause
from probetui.presentation.container.table import state
from probetui.presentation.container.why import why_report
from probetui.presentation.text.view import TimeFormat, TimeFormatter, View
from probetui.presentation.tick.why import WhyContext

DATA = Path(__file__).parent / "data"
ANSWERS = Path(__file__).parent / "answers"
_SEPARATOR = "\n---\n"
_KUBELET = "1.36"


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """A question about a container at an instant, and what the answer must have.

    Attributes:
        container: the container, as `name` or `pod/name`.
        at: seconds after the start.
        chain: the kinds of the first cause and of what it is because of.
        says: texts that `why` prints in its first lines, up to the exits or ticks.
        never: texts that it does not print anywhere.
        row: the state in the container's row of the screen, if that matters.
        until: texts in what `--until ready` says when it was not met.
    """

    container: str
    at: float
    chain: tuple[CauseKind, ...]
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    row: str | None = None
    until: tuple[str, ...] = ()


class Case(Struct, frozen=True):
    """A case; `kubelet` is the version, empty for the default one."""

    name: str
    manifests: Manifests
    scenario: Scenario
    rules: KubeletRules
    answers: tuple[Question, ...]


class Reply(Struct, frozen=True):
    """The answer to a question, in each of its forms."""

    question: Question
    answer: WhyAnswer
    text: str
    row: str
    until: str

    @property
    def chain(self) -> tuple[CauseKind, ...]:
        """The kinds of the cause that is told first."""
        return tuple(cause.kind for cause in self.answer.causes[0].chain)

    @property
    def lead(self) -> str:
        """What `why` prints of the cause, before it goes through exits and ticks."""
        lines = self.text.split("\n")
        ends = [n for n, line in enumerate(lines) if line.startswith(_DETAILS)]
        return "\n".join(lines[: min(ends, default=len(lines))])

    def __str__(self) -> str:
        asked = self.question
        title = f"== {asked.container} at {asked.at:g}s: {self.row}"
        return f"{title}\n{self.text}\n-- until\n{self.until}\n"


_DETAILS = ("  Exit of ", "  Stop of ", "  Tick ", "  Back-off of ", "  Instances:")


def case_names() -> list[str]:
    """Return the names of all cases."""
    return sorted(path.stem for path in DATA.glob("*.yaml"))


def read_case(name: str) -> Case:
    """Read a case.

    Raises:
        AssertionError: its manifest has an error.
    """
    return case_of(name, (DATA / f"{name}.yaml").read_text())


def case_of(name: str, text: str) -> Case:
    """Return the case that a text has."""
    head, _, manifest = text.partition(_SEPARATOR)
    fields: dict[str, Any] = yaml.safe_load(head)
    rules = rules_for_kubelet(fields.get("kubelet", _KUBELET))
    source = SourceFile(f"{name}.yaml", manifest.encode())
    manifests = load_manifests([source], rules=rules)
    assert not manifests.errors, manifests.errors
    scenario = NO_SCENARIO
    if "script" in fields:
        script = yaml.safe_dump(fields["script"]).encode()
        scenario = read_scenario(SourceFile("script.yaml", script), manifests.pods)
    answers = convert(fields["answers"], tuple[Question, ...])
    return Case(name, manifests, scenario, rules, answers)


def simulation_of(case: Case) -> Simulation:
    """Return the simulation of a case at its start."""
    started_at = case.scenario.start
    config = KubeletConfig(
        version=case.rules.release,
        queues_while_waiting=True,
        counts_generations=True,
        tells_findings=False,
        keeps_evidence=True,
        finds_listeners=case.scenario.knows_listeners,
    )
    simulation = Simulation(
        Engine(config, started_at), case.scenario.world(), started_at
    )
    pods = case.manifests.pods
    simulation.schedule(SetObjects(case.manifests.config_objects), started_at)
    simulation.schedule(SetPods(pods), started_at)
    for at, command in case.scenario.commands(pods):
        simulation.schedule(command, at)
    return simulation


def replies(case: Case) -> Iterator[Reply]:
    """Simulate a case, and yield the answer to each of its questions."""
    simulation = simulation_of(case)
    for question in sorted(case.answers, key=lambda question: question.at):
        simulation.run_until(case.scenario.start + timedelta(seconds=question.at))
        yield _reply(case, simulation, question)


def _reply(case: Case, simulation: Simulation, question: Question) -> Reply:
    started_at = case.scenario.start
    pod, container = _named(case.manifests, question.container)
    past = SessionHistory(simulation.journal)
    past.add_entries(simulation.journal, 0)
    pods = {each.uid: each for each in case.manifests.pods}
    answer = explain(pod, container, past, simulation.now, case.rules, pods)
    times = TimeFormatter(simulation.now, started_at, TimeFormat.SINCE_START, UTC)
    view = View(times, rules=case.rules)
    context = WhyContext(
        pod,
        f"{pod.name}/{container.name}",
        container.name,
        past.pod_ip(pod.uid),
        past.container(pod.uid, container.name),
        view,
        answer,
        last_endings(pod, container, past, simulation.now, case.rules),
    )
    return Reply(
        question,
        answer,
        "\n".join(why_report(context, past, pod.uid)),
        _row(simulation.engine.snapshot(simulation.now), pod, container, view),
        answer_clause(answer, view),
    )


def _row(snapshot: Snapshot, pod: Pod, container: Container, view: View) -> str:
    """Return the state in the container's row of the screen."""
    for shown in snapshot.pods:
        for shown_container in shown.containers:
            if (shown.pod.uid, shown_container.container.name) == (
                pod.uid,
                container.name,
            ):
                return state(shown, shown_container, view).text
    return "gone"


def _named(manifests: Manifests, name: str) -> tuple[Pod, Container]:
    pod_name, _, container_name = name.rpartition("/")
    for pod in manifests.pods:
        container = pod.container(container_name)
        if pod_name in {"", pod.name} and container is not None:
            return pod, container
    raise AssertionError(f"{name} is not in the manifest")
