"""Plans of sessions: what each kind needs to know before anything is started.

What every session has stands in `Plan`; a kind adds what it alone needs, so that
nothing is None for the others:

- `EnginePlan`: an engine of ours probes the pods of manifests,
    - `SimPlan` on virtual time, by a script,
    - `LivePlan` on a runtime,
        - `RunPlan`: their containers are created (`run`, `demo`), and beside that
          `ServePlan` is an API, `NodePlan` a node of a cluster, `CasePlan` a case of
          `test`,
        - `AttachPlan`: containers that exist, of a runtime or as `ClusterPodPlan`;
- `ReplayPlan`: a record is played;
- `WatchPlan`: a cluster is observed.

`LivePlan.parts` lists the optional parts of a session (`parts.py`). `planning.py` makes
plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from msgspec import Struct
from msgspec.structs import asdict, replace

from probetui.cli.files import STDOUT, SourceReader
from probetui.cli.lessons import OpenLesson
from probetui.cli.option_values import RuntimeOptions, ScreenChoices, SessionOptions
from probetui.cli.options import NodeOptions, ServeOptions, WebOptions
from probetui.cli.pods import ManifestOptions, load_pods
from probetui.cli.printing import Notes
from probetui.cli.session.host_access_warning import HostAccessWarning
from probetui.cli.session.pod_registry import DesiredState
from probetui.cli.terminal import Form
from probetui.errors import NothingToDoError, UsageError
from probetui.headless.output import EntryFilter
from probetui.k8s.pod import Container, Pod, PullPolicy
from probetui.k8s.service import Service
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.manifests import (
    LoadedConfigObject,
    LoadedPod,
    Manifests,
    pod_of,
)
from probetui.manifest.problem import Problem
from probetui.record.writer import RecordWriter

if TYPE_CHECKING:
    from probetui.cli.session.attachment import AttachOptions
    from probetui.cli.session.cluster_attachment import ClusterTarget
    from probetui.cli.session.parts import PartMaker
    from probetui.cli.web.tab import Tab
    from probetui.drive.scenario.script import Scenario
    from probetui.headless.cases.progress import CaseProgress
    from probetui.headless.follow import EndCondition
    from probetui.k8s.runtime import Node

_PULL_POLICIES = {
    "missing": PullPolicy.IF_NOT_PRESENT,
    "always": PullPolicy.ALWAYS,
    "never": PullPolicy.NEVER,
}


class Stdout(Enum):
    """What goes to standard output."""

    LINES = "lines"
    SELECTED_RECORDS = "selected records"
    RECORDS = "records"
    NOTHING = "nothing"

    @classmethod
    def by(cls, options: SessionOptions, form: Form) -> Stdout:
        """Return what the options of a session say, in the form that it has."""
        if options.record == STDOUT:
            return cls.RECORDS
        if form is Form.SCREEN:
            return cls.NOTHING
        if options.output == "jsonl":
            return cls.SELECTED_RECORDS
        return cls.NOTHING if options.quiet else cls.LINES


class SessionManifests(Struct, frozen=True):
    """The manifests of a session; a session without any has the defaults.

    Attributes:
        loaded: the pods as they were read.
        objects: the ConfigMaps and Secrets that they may refer to.
        services: the Services that select pods.
        warnings: about what is likely a mistake; they have been printed, before a
            screen covers the terminal.
        source: how to read them again, None if they are in no files.
        reader: what read them, and reads them again; None for those of a lesson.
    """

    loaded: Sequence[LoadedPod] = ()
    objects: Sequence[LoadedConfigObject] = ()
    services: tuple[Service, ...] = ()
    warnings: tuple[Problem, ...] = ()
    source: ManifestOptions | None = None
    reader: SourceReader | None = None

    def pod_of(self, problem: Problem) -> Pod | None:
        """Return the pod that a problem is about, None if it is about no pod."""
        return pod_of(self.loaded, problem)


NO_MANIFESTS = SessionManifests()


class Plan(Struct, frozen=True, kw_only=True):
    """What a session of any kind needs to know before it begins.

    Attributes:
        pods: those that there are at first, with what the command line changes of them.
        manifests: what the pods were read from.
        watch: what the session is followed until, None for nothing.
        selection: which entries are printed.
        record: the file of `--record`, None for none.
        arguments: the options as they go into the record.
        rules: those of the kubelet's version.
        intro: printed before anything else.
        page: the lesson that the screen shows instead of `intro`, None for none.
        web: how screens are shown in a browser.
        tab: the tab that the screen is shown in, None for the terminal.
        has_shells: a shell can be opened in a container.
    """

    pods: Sequence[Pod]
    runtime: RuntimeOptions
    options: SessionOptions
    screen: ScreenChoices
    form: Form
    watch: EndCondition | None
    selection: EntryFilter
    stdout: Stdout
    record: RecordWriter | None
    notes: Notes
    arguments: Mapping[str, Any]
    rules: KubeletRules = PORTED_RULES
    manifests: SessionManifests = NO_MANIFESTS
    intro: str = ""
    page: OpenLesson | None = None
    web: WebOptions = WebOptions()
    tab: Tab | None = None

    has_shells: ClassVar[bool] = False

    @classmethod
    def of(cls, plan: Plan, **fields: Any) -> Self:
        """Return a plan as one of this kind.

        Args:
            plan: what is known by now.
            fields: what this kind has beyond that.
        """
        return cls(**asdict(plan), **fields)

    @property
    def desired(self) -> DesiredState:
        """The pods and objects that are asked for."""
        return DesiredState(tuple(self.pods))

    @property
    def is_lesson(self) -> bool:
        """Whether the session is a lesson of `demo`."""
        return self.page is not None

    @property
    def is_isolated(self) -> bool:
        """Whether what the manifests of a person say runs apart from this machine."""
        return True

    @property
    def covered_texts(self) -> Sequence[str]:
        """What was printed about access to this machine, where a screen covers it."""
        return ()

    def in_tab(self, tab: Tab) -> Self:
        """Return the plan of a session of its own that is shown in a tab."""
        return replace(
            self,
            form=Form.SCREEN,
            stdout=Stdout.NOTHING,
            tab=tab,
            notes=Notes(quiet=self.notes.is_quiet),
        )

    def without_screen(self) -> Self:
        """Return the plan of the same session, in plain lines from now on."""
        form = Form.LINES
        return replace(self, form=form, stdout=Stdout.by(self.options, form))

    def print_intro(self) -> None:
        """Print what there is to watch in a lesson."""
        if self.intro:
            self.notes.note(self.intro)


class ReplayPlan(Plan, frozen=True):
    """A record is played."""


class WatchPlan(Plan, frozen=True):
    """The pods of a cluster are observed."""


class EnginePlan(Plan, frozen=True):
    """An engine of ours probes the pods of manifests."""

    @property
    def desired(self) -> DesiredState:
        """The pods and objects that the manifests ask for."""
        manifests = self.manifests
        objects = [config.value for config in manifests.objects]
        return DesiredState.of(
            manifests.loaded, self.pods, objects, manifests.reader
        )._replace(warnings=manifests.warnings)

    @property
    def host(self) -> str:
        """The node's name for static pods, empty for this machine's."""
        return ""

    def kubelet_config(self, *, default_seed: int) -> KubeletConfig:
        """Return the kubelet's configuration by the options of the session."""
        options = self.options
        config = KubeletConfig(
            version=self.rules.release,
            feature_gates=self.rules.feature_gates,
            seed=default_seed if options.seed is None else options.seed,
            queues_while_waiting=True,
            counts_generations=True,
            max_container_restart_period=options.max_container_restart_period,
            kills=options.act,
            restarts=options.act,
            freezes=options.freeze,
            tells_findings=not options.no_findings,
            keeps_evidence=True,
            sources=self.desired.sources,
        )
        is_fresh = options.kubelet_age == "fresh"
        return replace(config, age=timedelta()) if is_fresh else config

    def reload(
        self, *, only_static: bool = False, may_be_empty: bool = False
    ) -> DesiredState:
        """Read the manifests again and return what they ask for.

        Args:
            only_static: read only the files of static pods again.
            may_be_empty: that nothing is left to run is no error.

        Raises:
            UsageError: there are no files to read again.
            ManifestError: what is wrong with the files, all of it.
            NothingToDoError: nothing is left to run.
        """
        source, reader = self.manifests.source, self.manifests.reader
        if source is None or reader is None:
            raise UsageError("the manifests cannot be read a second time")
        try:
            manifests = load_pods(
                source, reader, only_static=only_static, host=self.host
            )
        except NothingToDoError:
            if not may_be_empty:
                raise
            manifests = Manifests()
        self._report_reloaded(manifests)
        pods = pods_to_run(manifests, self.options)
        return DesiredState.of(
            manifests.loaded, pods, manifests.config_objects, reader
        )._replace(warnings=manifests.warnings, warned=manifests.warned)

    def _report_reloaded(self, manifests: Manifests) -> None:
        """Report what is new in manifests that were read again."""


class SimPlan(EnginePlan, frozen=True, kw_only=True):
    """Pods run on virtual time.

    `scenario` is the script of what containers and probes do, None if all is well.
    """

    scenario: Scenario | None = None

    def kubelet_config(self, *, default_seed: int) -> KubeletConfig:
        """Return the kubelet's configuration; the script may know what listens."""
        config = super().kubelet_config(default_seed=default_seed)
        knows = self.scenario is not None and self.scenario.knows_listeners
        return replace(config, finds_listeners=knows)


class LivePlan(EnginePlan, frozen=True):
    """Pods have their containers on a runtime."""

    has_shells: ClassVar[bool] = True

    @property
    def exec_errors(self) -> str:
        """What a command is on Docker that cannot be started."""
        return self.options.exec_errors or self.rules.exec_errors_on_docker

    @property
    def ends_with_pods(self) -> bool:
        """Whether the session is over once all its pods have ended for good."""
        options = self.options
        return self.form is Form.LINES and not (options.watch or options.step)

    def name_node(self, node: Node) -> Node:
        """Return what the kubelet knows of a runtime's machine as its node."""
        return node

    def parts(self) -> Iterator[PartMaker]:
        """Yield what makes the optional parts of the session, in their order."""
        # Late, as all parts are: few sessions have them.
        from probetui.cli.session.state_socket import StatePart

        if self.options.metrics is not None:
            from probetui.cli.session.metrics_server import MetricsPart

            yield partial(MetricsPart, self.options.metrics)
        yield StatePart


class RunPlan(LivePlan, frozen=True, kw_only=True):
    """Pods are created on a runtime and removed at the end.

    Attributes:
        host_access: reports what the pods may do to this machine.
        warn_for_runtime: reports the fields that a kind of runtime does not support,
            None if the kind was known and they have been reported.
    """

    host_access: HostAccessWarning
    warn_for_runtime: Callable[[str], None] | None = None

    @property
    def is_isolated(self) -> bool:
        """Whether what the manifests of a person say runs apart from this machine."""
        return self.host_access.is_isolated

    @property
    def covered_texts(self) -> Sequence[str]:
        """What was printed about access to this machine, where a screen covers it."""
        return self.host_access.texts

    def _report_reloaded(self, manifests: Manifests) -> None:
        """Report what is new in manifests that were read again."""
        self.host_access.warn_again(manifests.loaded)

    def parts(self) -> Iterator[PartMaker]:
        """Yield what makes the optional parts of the session, in their order."""
        yield from super().parts()
        reader = self.manifests.reader
        if self.manifests.source is None or reader is None:
            return
        # Without --watch only the files of static pods and URLs are followed.
        paths = reader.paths(only_static=not self.options.watch)
        if paths or reader.has_urls:
            from probetui.cli.session.manifest_watch import FollowedManifests

            yield partial(FollowedManifests, reader, paths)


class ServePlan(RunPlan, frozen=True, kw_only=True):
    """Pods run as they do otherwise, and a read-only Kubernetes API shows them."""

    serve: ServeOptions

    @property
    def ends_with_pods(self) -> bool:
        """Return False: the API shows pods that have ended, too."""
        return False

    def parts(self) -> Iterator[PartMaker]:
        """Yield what makes the optional parts of the session, in their order."""
        yield from super().parts()
        from probetui.cli.session.api_serving import ServedApi

        yield partial(ServedApi, self.serve)


class NodePlan(RunPlan, frozen=True, kw_only=True):
    """The session is a node of a cluster, called `name`."""

    name: str
    node: NodeOptions

    @property
    def desired(self) -> DesiredState:
        """The static pods; the API server has others."""
        return super().desired.beside_api()

    @property
    def host(self) -> str:
        """The node's name."""
        return self.name

    @property
    def ends_with_pods(self) -> bool:
        """Return False: the cluster may assign others."""
        return False

    def name_node(self, node: Node) -> Node:
        """Return what the kubelet knows of a runtime's machine as its node."""
        return replace(node, name=self.name)

    def kubelet_config(self, *, default_seed: int) -> KubeletConfig:
        """Return the kubelet's configuration; the API server counts generations."""
        config = super().kubelet_config(default_seed=default_seed)
        return replace(config, counts_generations=False, has_api_server=True)


class CasePlan(RunPlan, frozen=True, kw_only=True):
    """The session is a case of `probetui test`, followed until `case` is decided."""

    case: CaseProgress

    def parts(self) -> Iterator[PartMaker]:
        """Yield the case: many run at once, and `probetui ls` shows none of them."""
        from probetui.cli.session.case_runs import CasePart

        yield partial(CasePart, self.case)


class AttachPlan(LivePlan, frozen=True, kw_only=True):
    """Containers that exist are probed; none is ever removed."""

    attachment: AttachOptions


class ClusterPodPlan(AttachPlan, frozen=True, kw_only=True):
    """The containers of a cluster's pod are probed."""

    has_shells: ClassVar[bool] = False

    target: ClusterTarget


SessionPlan = (
    RunPlan
    | ServePlan
    | NodePlan
    | CasePlan
    | AttachPlan
    | ClusterPodPlan
    | SimPlan
    | ReplayPlan
    | WatchPlan
)


def pods_to_run(manifests: Manifests, options: SessionOptions) -> list[Pod]:
    """Return the pods of manifests with the pull policy of `--pull`."""
    if options.pull is None:
        return list(manifests.pods)
    policy = _PULL_POLICIES[options.pull]

    def changed(containers: Sequence[Container]) -> tuple[Container, ...]:
        return tuple(
            replace(container, image_pull_policy=policy) for container in containers
        )

    return [
        replace(
            pod,
            init_containers=changed(pod.init_containers),
            containers=changed(pod.containers),
        )
        for pod in manifests.pods
    ]
