"""Pods stopped and removed, whoever left them, as long as nobody runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from probetui.cli.leases import SessionLease
from probetui.cli.listing import FoundPod, Search
from probetui.cli.locks import PodLocks
from probetui.cli.notes import Notes
from probetui.cli.pods import ManifestOptions, load_pods
from probetui.cli.printing import print_line
from probetui.cli.runtimes import remove_pods
from probetui.cli.session_options import RuntimeOptions, pick
from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError, PodHeldError
from probetui.k8s.pod import Pod
from probetui.ports import Claim, SharedEngine

_GRACE_SECONDS = 10
"""For pods of which no manifest says how long they may take; as `docker stop`."""

_REFUSED = 1

_FLAGS = {Claim.ANOTHERS: "--all-users", Claim.UNVERIFIED: "--unverified"}


async def remove(params: Mapping[str, Any]) -> int:
    """Remove the pods of the manifests, or all without any; return the exit status."""
    notes = Notes(quiet=params["quiet"])
    wanted = _grace_periods(params)
    claims = _claims(params)
    async with Search(pick(RuntimeOptions, params), SystemClock()) as search:
        for sentence in search.undone:
            notes.note(sentence)
        meant = [
            each for each in await search.pods() if each.name in wanted or not wanted
        ]
        taken = [
            each
            for each in meant
            if each.unowned is None or each.unowned.claim in claims
        ]
        statuses = await asyncio.gather(
            *(
                _remove(each, wanted.get(each.name, _GRACE_SECONDS), notes)
                for each in taken
            )
        )
        for pod in meant:
            if pod not in taken:
                _tell_left(pod, notes)
    if search.problem is not None:
        notes.error(str(search.problem))
        return search.problem.exit_status
    if not meant:
        notes.note("no pods to remove")
    return max(statuses, default=0)


def _claims(params: Mapping[str, Any]) -> frozenset[Claim]:
    """Return which of the pods that are not noted as ours are meant too."""
    asked = {
        Claim.ANOTHERS: params["all_users"],
        Claim.UNVERIFIED: params["unverified"],
    }
    return frozenset(claim for claim, is_asked in asked.items() if is_asked)


def _tell_left(pod: FoundPod, notes: Notes) -> None:
    """Say of a pod that is not ours whose it is and how it can be removed."""
    assert pod.unowned is not None, "it is not ours"  # noqa: S101  # for the type
    flag = _FLAGS[pod.unowned.claim]
    if pod.unowned.claim is Claim.UNVERIFIED:
        whose = "it looks as if version 0.1 made it, which noted nothing"
    else:
        whose = f"{pod.owner} made it"
    held = f", and {pod.holder} runs it" if pod.holder else ""
    notes.note(
        f"left {pod.name} ({pod.runtime.name}): {whose}{held}; "
        f"`probetui down {flag}` removes it too"
    )


def _grace_periods(params: Mapping[str, Any]) -> dict[str, int]:
    """Return the grace periods of the pods that are meant; none stands for all pods."""
    if not params["filenames"]:
        return {}
    options = ManifestOptions(params["filenames"], params["recursive"])
    return {
        f"{each.namespace}/{each.name}": each.termination_grace_period_seconds or 0
        for each in load_pods(options).pods
    }


async def _remove(pod: FoundPod, grace_period_seconds: int, notes: Notes) -> int:
    if pod.holder:
        notes.error(f"{pod.name} is run by {pod.holder}: end that one")
        return _REFUSED
    own = Pod(pod.status.pod_uid, pod.status.name, pod.status.namespace)
    try:
        with PodLocks(pod.runtime.name, [own]):
            async with SessionLease(pod.runtime, [own], notes):
                await _remove_held(pod, grace_period_seconds)
    except PodHeldError as error:
        notes.error(f"{error}: end that one")
        return _REFUSED
    except ContainerRuntimeError as error:
        notes.error(f"{pod.name}: {error}")
        return error.exit_status
    print_line(f"removed {pod.name} ({pod.runtime.name})")
    return 0


async def _remove_held(pod: FoundPod, grace_period_seconds: int) -> None:
    """Remove a pod that nobody else can begin to run meanwhile."""
    if pod.unowned is not None and isinstance(pod.runtime, SharedEngine):
        await pod.runtime.take_over(pod.unowned)
    await remove_pods(pod.runtime, [pod.status], grace_period_seconds)
