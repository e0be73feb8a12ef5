"""The signals that a manifest may name to stop a container with.

Source: pkg/apis/core/types.go, pkg/apis/core/validation/validation.go, v1.36.2,
supportedStopSignalsLinux.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_NAMES = (
    "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE",
    "SIGKILL", "SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM",
    "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU",
    "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",
    "SIGPWR", "SIGSYS",
)  # fmt: skip
_FIRST_REAL_TIME, _LAST_REAL_TIME = 34, 64
_HALF = 15
_OTHER_NAMES = {"SIGIOT": 6, "SIGCLD": 17, "SIGPOLL": 29}


def _real_time() -> Mapping[str, int]:
    return {
        "SIGRTMIN": _FIRST_REAL_TIME,
        **{f"SIGRTMIN+{n}": _FIRST_REAL_TIME + n for n in range(1, _HALF + 1)},
        **{f"SIGRTMAX-{n}": _LAST_REAL_TIME - n for n in range(_HALF - 1, 0, -1)},
        "SIGRTMAX": _LAST_REAL_TIME,
    }


LINUX_STOP_SIGNALS: Mapping[str, int] = MappingProxyType({
    **{name: number for number, name in enumerate(_NAMES, start=1)},
    **_OTHER_NAMES,
    **_real_time(),
})  # fmt: skip
"""The numbers of the signals on Linux, by name."""

WINDOWS_STOP_SIGNALS = ("SIGKILL", "SIGTERM")
