"""Describe how a container is stopped and how it ended: signals, exit codes, causes."""

from __future__ import annotations

from probetui.k8s.pod import Container
from probetui.k8s.runtime import START_ERRORS
from probetui.kubelet.journal import PROBE_CAUSES, ContainerEntry, ExitCause, LastExit

NEVER_STARTED = "could not be started"

_SIGNALLED = 128
_SIGKILL, _SIGTERM = 9, 15
_NAMES = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    _SIGKILL: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    _SIGTERM: "SIGTERM",
}
_ASKED = {
    ExitCause.LIVENESS: "liveness probe",
    ExitCause.STARTUP: "startup probe",
    ExitCause.USER: "stopped by you",
    ExitCause.DELETE: "pod deleted",
    ExitCause.DEFINITION: "spec changed",
    ExitCause.POD: "pod stopped",
    ExitCause.POST_START_HOOK: "postStart hook failed",
    ExitCause.RESTART_ALL: "all restarted",
    ExitCause.UNSEEN: "not watched then",
    ExitCause.UNKNOWN: "not by its probe",
    ExitCause.UNCERTAIN: "perhaps by its probe",
}

_IN_SHORT = {
    ExitCause.LIVENESS: "killed by probe",
    ExitCause.STARTUP: "killed by probe",
    ExitCause.POST_START_HOOK: "hook failed",
}
EXIT_CELLS = 22
"""The cells of the longest short form of an exit: `not watched then (137)`."""


def signal_name(exit_code: int, signal: int | None = None) -> str:
    """Return the name of the signal behind an exit code, empty if there is none."""
    number = signal or (exit_code - _SIGNALLED if exit_code > _SIGNALLED else 0)
    if number in _NAMES:
        return _NAMES[number]
    return f"signal {signal}" if signal else ""


def never_started(end: ContainerEntry | LastExit) -> bool:
    """Return whether the exit code stands for a container that failed to start."""
    return end.by in {ExitCause.ITSELF, None} and end.reason in START_ERRORS


def stop_reason_text(by: ExitCause) -> str:
    """Describe who ended a container."""
    return _ASKED.get(by, "exited by itself")


def format_exit(entry: ContainerEntry) -> str:
    """Format the end of an instance: `exit 137 (SIGKILL after 30s grace, not OOM)`."""
    code = entry.exit_code or 0
    if never_started(entry):
        return f"exit {code}, {NEVER_STARTED}"
    by = entry.by or ExitCause.ITSELF
    if entry.exit_code is None:
        return _with_asker("exit code not known", by, "")
    signal = signal_name(code, entry.signal)
    ended = _ended(
        code, signal, by, entry.grace_period_seconds, oom_killed=entry.oom_killed
    )
    return _with_asker(ended, by, signal)


def format_last_exit(last_exit: LastExit) -> str:
    """Format the end of the previous instance, without the time."""
    code = last_exit.exit_code
    if never_started(last_exit):
        return f"exit {code}, {NEVER_STARTED}"
    signal = signal_name(code)
    ended = _ended(code, signal, last_exit.by, None, oom_killed=last_exit.oom_killed)
    return _with_asker(ended, last_exit.by, signal)


def may_be_stopped_by_others(signal: str) -> bool:
    """Return whether somebody else may have sent a signal to stop the container."""
    return signal in {_NAMES[_SIGKILL], _NAMES[_SIGTERM]}


def format_exit_cell(last_exit: LastExit) -> str:
    """Format cause and exit code in `EXIT_CELLS`: `exited by itself (1)`."""
    code, cause = last_exit.exit_code, last_exit.by
    by = _IN_SHORT.get(cause) or stop_reason_text(cause)
    if cause is ExitCause.ITSELF and may_be_stopped_by_others(signal_name(code)):
        by = "exited"
    if never_started(last_exit):
        by = "start failed"
    return f"{'out of memory' if last_exit.oom_killed else by} ({code})"


def is_after_grace(entry: ContainerEntry) -> bool:
    """Return whether an instance was killed at the end of its grace period."""
    return (
        entry.grace_period_seconds is not None
        and not entry.oom_killed
        and signal_name(entry.exit_code or 0, entry.signal) == _NAMES[_SIGKILL]
    )


def exit_cause(entry: ContainerEntry) -> str:
    """Describe why an instance ended, without its exit code."""
    if never_started(entry):
        return NEVER_STARTED
    by = entry.by or ExitCause.ITSELF
    signal = signal_name(entry.exit_code or 0, entry.signal)
    cause = _cause(signal, by, entry.grace_period_seconds, oom_killed=entry.oom_killed)
    if cause:
        return cause
    asked = stop_reason_text(by)
    has_grace = by is not ExitCause.ITSELF and entry.grace_period_seconds is not None
    return f"ended within its grace, {asked}" if has_grace else asked


def is_failure(entry: ContainerEntry) -> bool:
    """Return whether an exit is a crash or a kill, not an orderly end."""
    by = entry.by or ExitCause.ITSELF
    if by is ExitCause.ITSELF:
        return bool(entry.exit_code) or entry.oom_killed
    return by in PROBE_CAUSES or by in {ExitCause.USER, ExitCause.POST_START_HOOK}


def _with_asker(ended: str, by: ExitCause, signal: str) -> str:
    """Append who ended the container, unless the signal may have another sender."""
    if by is ExitCause.ITSELF and may_be_stopped_by_others(signal):
        return ended
    return f"{ended}, {stop_reason_text(by)}"


def _ended(
    code: int,
    signal: str,
    by: ExitCause,
    grace_seconds: int | None,
    *,
    oom_killed: bool,
) -> str:
    """Format exit code and cause."""
    cause = _cause(signal, by, grace_seconds, oom_killed=oom_killed)
    return f"exit {code} ({cause})" if cause else f"exit {code}"


def _cause(
    signal: str, by: ExitCause, grace_seconds: int | None, *, oom_killed: bool
) -> str:
    """Describe the signal; `OOM` appears only if the runtime reports it."""
    if oom_killed:
        return "OOM: out of memory"
    if signal != _NAMES[_SIGKILL]:
        return signal
    if by is ExitCause.ITSELF:
        return "SIGKILL not sent by the kubelet, no OOM flag"
    if grace_seconds is None:
        # A user's kill may send it without SIGTERM, so there may be no grace period.
        grace = "" if by is ExitCause.USER else " after the grace"
        return f"SIGKILL{grace}, not OOM"
    return f"SIGKILL after {grace_seconds}s grace, not OOM"


def runs_pre_stop(container: Container | None, grace_seconds: int | None) -> bool:
    """Return whether a preStop hook runs; with a grace period of 0 there is no time.

    Source: kuberuntime_container.go, v1.32.10, killContainer.
    """
    has_hook = container is not None and container.pre_stop is not None
    return has_hook and grace_seconds != 0


def first_signal_text(container: Container | None, grace_seconds: int | None) -> str:
    """Return `SIGTERM`, with the hook before it.

    No time: only the runtime knows when SIGTERM follows a hook.
    """
    hooked = runs_pre_stop(container, grace_seconds)
    return "preStop, then SIGTERM" if hooked else "SIGTERM"


def grace_fields(container: Container | None, grace_seconds: int) -> str:
    """Format the grace period for a plain line: `grace=6s`, `grace=6s pre-stop`."""
    hook = " pre-stop" if runs_pre_stop(container, grace_seconds) else ""
    return f"grace={grace_seconds}s{hook}"
