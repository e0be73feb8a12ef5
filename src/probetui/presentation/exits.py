"""How a container ended, and what its exit code does and does not say."""

from __future__ import annotations

from probetui.kubelet.journal import By, ContainerEntry
from probetui.kubelet.snapshot import LastExit

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
    By.LIVENESS: "liveness probe",
    By.STARTUP: "startup probe",
    By.USER: "restarted by hand",
    By.DELETE: "pod deleted",
    By.DEFINITION: "definition changed",
    By.POD: "its pod was stopped",
}

_IN_SHORT = {
    By.LIVENESS: "probe",
    By.STARTUP: "probe",
    By.USER: "user",
    By.DELETE: "pod",
    By.DEFINITION: "spec",
    By.POD: "pod",
}


def signal_of(exit_code: int, signal: int | None = None) -> str:
    """Return the name of the signal behind an exit code, empty if there is none."""
    number = signal or (exit_code - _SIGNALLED if exit_code > _SIGNALLED else 0)
    if number in _NAMES:
        return _NAMES[number]
    return f"signal {signal}" if signal else ""


def asked_by(by: By) -> str:
    """Return who asked for a container's end, in words."""
    return _ASKED.get(by, "ended by itself, no probe asked for it")


def exit_words(entry: ContainerEntry) -> str:
    """Return how an instance ended: `exit 137 (SIGKILL after 30s grace, not OOM)`."""
    code = entry.exit_code or 0
    by = entry.by or By.ITSELF
    ended = _ended(
        code,
        signal_of(code, entry.signal),
        by,
        entry.grace_period_seconds,
        oom_killed=entry.oom_killed,
    )
    return f"{ended}, {asked_by(by)}"


def last_exit_words(last_exit: LastExit) -> str:
    """Return how the instance before ended, without the time."""
    code = last_exit.exit_code
    ended = _ended(
        code, signal_of(code), last_exit.by, None, oom_killed=last_exit.oom_killed
    )
    return f"{ended}, {asked_by(last_exit.by)}"


def exit_in_short(last_exit: LastExit) -> str:
    """Return exit code and who asked for the end, in nine cells: `137 probe`."""
    by = "OOM" if last_exit.oom_killed else _IN_SHORT.get(last_exit.by, "itself")
    return f"{last_exit.exit_code} {by}"


def is_after_grace(entry: ContainerEntry) -> bool:
    """Tell whether an instance had to be killed when its grace period was over."""
    return (
        entry.grace_period_seconds is not None
        and not entry.oom_killed
        and signal_of(entry.exit_code or 0, entry.signal) == _NAMES[_SIGKILL]
    )


def _ended(
    code: int, signal: str, by: By, grace_seconds: int | None, *, oom_killed: bool
) -> str:
    """Return code and signal; out of memory is said only where the runtime says so."""
    if oom_killed:
        return f"exit {code} (OOM: out of memory)"
    if not signal:
        return f"exit {code}"
    if signal != _NAMES[_SIGKILL]:
        return f"exit {code} ({signal})"
    if by is By.ITSELF:
        return f"exit {code} (as by SIGKILL, not from here, no OOM flag)"
    if grace_seconds is None:
        return f"exit {code} (SIGKILL after the grace, not OOM)"
    return f"exit {code} (SIGKILL after {grace_seconds}s grace, not OOM)"
