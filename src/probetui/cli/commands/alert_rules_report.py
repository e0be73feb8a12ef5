"""`probetui rules`: alert rules for the probes of pods, and their tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from probetui.cli.option_groups import pick_options
from probetui.cli.options import StubMissing
from probetui.cli.pods import ManifestOptions, load_pods, report_problems
from probetui.cli.printing import Notes
from probetui.cli.reports import emit
from probetui.cluster.prometheus.probe_rules import LeftOutRule, ProbeRule, RuleMaker
from probetui.cluster.prometheus.rule_cases import RuleCase, SimulatedPod
from probetui.errors import NothingToDoError, UsageError
from probetui.manifest.manifests import LoadedPod, Manifests
from probetui.manifest.yaml.dump import dump_in_order
from probetui.presentation.report import Document

if TYPE_CHECKING:
    from probetui.cli.commands.alert_rules import RulesOptions

RULES_FILE = "rules.yaml"
"""What the tests call the file of the rules."""


class _RulesManifests(ManifestOptions):
    """Pods whose ConfigMaps and Secrets may be elsewhere."""

    stub_missing: StubMissing = True


class _WorkloadRules(Struct, frozen=True):
    """The rules of one workload; without a namespace they are for any."""

    loaded: LoadedPod
    namespace: str | None
    rules: Sequence[ProbeRule]
    left_out: Sequence[LeftOutRule]

    @property
    def workload(self) -> str:
        """What has made the pods."""
        return f"{self.loaded.object.workload.kind}/{self.name}"

    @property
    def name(self) -> str:
        """The name of the object, of the pod if it has none."""
        return self.loaded.object.name or self.loaded.pod.name


class RulesReport(Struct, frozen=True):
    """Alert rules of workloads."""

    workloads: Sequence[_WorkloadRules]
    pods: Sequence[SimulatedPod]

    def value(self) -> dict[str, object]:
        """Return the PrometheusRule."""
        namespaces = {each.loaded.pod.namespace for each in self.workloads}
        metadata = {"name": "probetui-probes"}
        if len(namespaces) == 1:
            metadata["namespace"] = namespaces.pop()
        return {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": metadata,
            "spec": self._groups(),
        }

    def parts(self, form: str) -> Iterator[Document]:
        """Yield the one document of a form."""
        values = {
            "text": self.value,
            "groups": self._groups,
            "tests": self._tests,
        }
        yield Document(dump_in_order(values[form]()))

    def _groups(self) -> dict[str, object]:
        return {
            "groups": [
                {
                    "name": f"probetui {each.loaded.pod.namespace} {each.workload}",
                    "rules": [_rule(each, rule) for rule in each.rules],
                }
                for each in self.workloads
            ]
        }

    def _tests(self) -> dict[str, object]:
        return {
            "rule_files": [RULES_FILE],
            "evaluation_interval": f"{self.pods[0].scrape}s",
            "tests": [
                _case(each, pod, case)
                for each, pod in zip(self.workloads, self.pods, strict=True)
                for case in pod.cases(each.rules)
            ],
        }


def print_rules(options: RulesOptions) -> int:
    """Print rules and return the exit status, which is 0.

    Raises:
        UsageError: scrapes cannot be so far apart.
        NothingToDoError: no pod has a probe.
    """
    scrape = int(options.scrape_interval.total_seconds())
    if scrape < 1 or scrape != options.scrape_interval.total_seconds():
        raise UsageError("--scrape-interval: write whole seconds, at least 1s")
    files = pick_options(_RulesManifests, options)
    manifests = load_pods(files)
    notes = Notes(quiet=options.quiet)
    report_problems(manifests, notes)
    workloads = list(_workload_rules(manifests, files, scrape, options.namespace))
    for each in workloads:
        for left_out in each.left_out:
            notes.note(
                f"{each.workload} {left_out.container}, "
                f"{left_out.probe_type.value.lower()} probe: {left_out.reason}"
            )
    workloads = [each for each in workloads if each.rules]
    if not workloads:
        raise NothingToDoError(f"{files.names}: no probe that a rule can be made of")
    objects = manifests.config_objects
    pods = [
        SimulatedPod(each.loaded, objects, files.rules, scrape) for each in workloads
    ]
    # For people it is as YAML, with expressions of several lines.
    form = "text" if options.output == "yaml" else options.output
    emit(RulesReport(workloads, pods), form)
    return 0


def _workload_rules(
    manifests: Manifests, files: ManifestOptions, scrape: int, namespace: str | None
) -> Iterator[_WorkloadRules]:
    names = Counter(_name(loaded) for loaded in manifests.loaded)
    for loaded in manifests.loaded:
        is_named = bool(
            namespace or loaded.object.namespace or names[_name(loaded)] > 1
        )
        made = list(
            RuleMaker(
                loaded,
                files.rules,
                scrape,
                has_namespace=is_named,
            ).make()
        )
        yield _WorkloadRules(
            loaded,
            loaded.pod.namespace if is_named else None,
            [each for each in made if isinstance(each, ProbeRule)],
            [each for each in made if isinstance(each, LeftOutRule)],
        )


def _name(loaded: LoadedPod) -> tuple[str, str]:
    return loaded.object.workload.kind, loaded.object.name


def _labels(each: _WorkloadRules, rule: ProbeRule) -> dict[str, str]:
    own = {} if each.namespace is None else {"namespace": each.namespace}
    return {
        **own,
        "severity": "warning",
        "container": rule.container.name,
        "probe": rule.probe_type.value.lower(),
        "workload": each.workload,
    }


def _annotations(rule: ProbeRule, where: str) -> dict[str, str]:
    summary = f"{where}: {rule.container.name} {rule.summary}"
    return {"summary": summary, "description": rule.description}


def _rule(each: _WorkloadRules, rule: ProbeRule) -> dict[str, object]:
    where = "{{ $labels.namespace }}/{{ $labels.pod }}"
    return {
        "alert": rule.alert,
        "expr": rule.expression,
        "labels": _labels(each, rule),
        "annotations": _annotations(rule, where),
    }


def _case(each: _WorkloadRules, pod: SimulatedPod, case: RuleCase) -> dict[str, object]:
    return {
        "name": case.name,
        "interval": f"{pod.scrape}s",
        "input_series": [
            {"series": series, "values": values}
            for series, values in case.values.items()
        ],
        "alert_rule_test": [
            _expectation(each, pod, at, rule, fires=fires)
            for at, rule, fires in case.expected
        ],
    }


def _expectation(
    each: _WorkloadRules, pod: SimulatedPod, at: int, rule: ProbeRule, *, fires: bool
) -> dict[str, object]:
    namespace = pod.loaded.pod.namespace
    own = {"namespace": namespace, "pod": pod.name}
    alert = {
        "exp_labels": {**own, **_labels(each, rule)},
        "exp_annotations": _annotations(rule, f"{namespace}/{pod.name}"),
    }
    return {
        "eval_time": f"{at}s",
        "alertname": rule.alert,
        "exp_alerts": [alert] if fires else [],
    }
