"""Declaration of `probetui rules`."""

from datetime import timedelta
from typing import Annotated

import click

from probetui.cli.option_groups import Opt, OptionGroup, takes_options
from probetui.cli.options import (
    ChosenPodOptions,
    ProgramOptions,
    Quiet,
    VersionOptions,
    output_forms,
)
from probetui.cli.parameters import (
    Duration,
    SectionedCommand,
    examples,
)


class ScrapeOptions(OptionGroup, section="Rules"):
    """How the store scrapes."""

    scrape_interval: Annotated[
        timedelta,
        Opt(
            type=Duration(),
            metavar="DUR",
            help="How often the kubelets and kube-state-metrics are scraped, in whole "
            "seconds.  [default: 30s]",
        ),
    ] = timedelta(seconds=30)


class RulesOutput(OptionGroup, section="Output"):
    """In which form the rules are printed."""

    output: Annotated[str, output_forms("text", "yaml", "json", "groups", "tests")] = (
        "text"
    )


class RulesOptions(
    ChosenPodOptions, VersionOptions, ScrapeOptions, RulesOutput, ProgramOptions
):
    """The options of `rules`."""

    quiet: Quiet = False


@click.command(
    "rules",
    cls=SectionedCommand,
    epilog=examples(
        "probetui rules -f k8s/ > probe-rules.yaml",
        "probetui rules -f k8s/ -o groups > rules.yaml",
        "probetui rules -f k8s/ -o tests > rules_test.yaml",
        "promtool test rules rules_test.yaml",
    ),
)
@takes_options
def rules(options: RulesOptions) -> int:
    """Print alert rules for the probes of pods, with each probe's own thresholds.

    A container is near a kill, was killed by a probe, has used 80 % of the time that it
    has to start, goes in and out of the endpoints, or answers hardly in time. The rules
    read what Prometheus scrapes from kubelets (/metrics/probes) and kube-state-metrics.
    They are printed as a PrometheusRule; `-o groups` is a rule file, and `-o tests` has
    cases for `promtool test rules` of a `rules.yaml` beside it: samples of these pods
    in simulations in which each alert has to fire, and of one in which none may.
    """
    from probetui.cli.commands.alert_rules_report import print_rules

    return print_rules(options)
