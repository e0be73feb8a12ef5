"""The pages of the catalogue: one for each kind of cause, or for related kinds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from probetui.analysis.causes.kinds import CauseKind

K = CauseKind

_SHARED: Mapping[CauseKind, CauseKind] = MappingProxyType({
    K.WAITS_FOR_START_BEFORE: K.WAITS_FOR_POST_START_HOOK,
    K.POST_START_HOOK_RUNNING: K.WAITS_FOR_POST_START_HOOK,
    K.RESTART_DUE: K.NOT_SYNCED,
    K.BETWEEN_SAMPLES: K.NOT_SYNCED,
    K.NOT_STARTED_YET: K.NOT_SYNCED,
    K.IMAGE_PULLING: K.IMAGE_PULL_FAILED,
    K.IMAGE_NAME_INVALID: K.IMAGE_PULL_FAILED,
    K.IMAGE_NOT_INSPECTED: K.IMAGE_PULL_FAILED,
    K.MISSING_SECRET: K.MISSING_CONFIG_MAP,
    K.MISSING_KEY: K.MISSING_CONFIG_MAP,
    K.MISSING_TOKEN: K.MISSING_CLAIM,
    K.VOLUME_NOT_MOUNTED: K.MISSING_CLAIM,
    K.NETWORK_NOT_READY: K.SANDBOX_FAILED,
    K.CONFIG_REFUSED: K.RUNTIME_REFUSED,
    K.START_FAILED: K.START_ERROR,
    K.STARTUP_NOT_PROBED: K.READINESS_NOT_PROBED,
    K.STARTUP_PROBE_FAILS: K.KILLED_BY_STARTUP,
    K.STARTUP_PROBE_ERRORS: K.READINESS_PROBE_ERRORS,
    K.READINESS_TOO_FEW_SUCCESSES: K.READINESS_PROBE_FAILS,
    K.OTHER_CONTAINER_NOT_READY: K.READINESS_PROBE_FAILS,
    K.KILLED_BY_DELETION: K.POD_BEING_DELETED,
    K.POD_DELETED: K.POD_BEING_DELETED,
    K.EXEC_CANCELED: K.POD_BEING_DELETED,
    K.LIVENESS_PROBE_FAILS: K.KILLED_BY_LIVENESS,
    K.LIVENESS_PROBE_ERRORS: K.READINESS_PROBE_ERRORS,
    K.PROBE_MUTED: K.PROBE_FAILED,
    K.PROBE_HANGS: K.OUTPUT_HELD_OPEN,
    K.RUNNING: K.READY,
    K.KILLED_BY_USER: K.KILLED_BY_EDIT,
    K.KILLED_BY_DRAIN: K.KILLED_BY_EDIT,
    K.ENDED_BY_SIGNAL: K.KILLED_BY_ANOTHER,
    K.ENDED_UNSEEN: K.KILLED_BY_ANOTHER,
    K.BACK_OFF: K.EXITED,
    K.INIT_CONTAINER_COMPLETED: K.READY,
    K.POD_SUCCEEDED: K.RESTART_POLICY_NEVER,
    K.POD_FAILED: K.RESTART_POLICY_NEVER,
    K.POD_ENDED_FIRST: K.RESTART_POLICY_NEVER,
    K.KILLED_WITH_POD: K.RESTART_POLICY_NEVER,
    K.PRE_STOP_HOOK_RUNNING: K.PRE_STOP_HOOK_CUT_OFF,
    K.PORT_SPEAKS_OTHER: K.CONNECTION_RESET,
    K.TLS_REFUSED: K.PORT_SPEAKS_TLS,
    K.COMMAND_NOT_EXECUTABLE: K.COMMAND_NOT_FOUND,
    K.CONNECTION_REFUSED: K.NOTHING_LISTENS,
    K.LISTENS_ELSEWHERE: K.NOTHING_LISTENS,
    K.HOST_UNREACHABLE: K.HOST_NOT_RESOLVED,
    K.REDIRECT_NOT_FOLLOWED: K.REDIRECT_FOLLOWED,
    K.GRPC_NO_HEALTH_SERVICE: K.GRPC_NOT_SERVING,
    K.PROBE_NOT_SENT: K.RUNTIME_ERROR,
    K.RESULT_INJECTED: K.PROBE_FAILED,
})  # fmt: skip
"""Kinds whose page is that of another kind; any other kind has its own."""

PAGES_OF_FINDINGS: Mapping[str, CauseKind] = MappingProxyType({
    "startup-window": K.STARTUP_WINDOW,
    "startup-budget": K.KILLED_BY_STARTUP,
    "liveness-without-startup": K.KILLED_BY_LIVENESS,
    "liveness-same-as-readiness": K.KILLED_BY_LIVENESS,
    "liveness-faster-than-readiness": K.KILLED_BY_LIVENESS,
    "timeout-at-default": K.TIMED_OUT,
    "port-not-declared": K.NOTHING_LISTENS,
    "port-not-tcp": K.PORT_IS_UDP,
    "port-name": K.PORT_NAME_UNKNOWN,
    "scheme-against-port": K.PORT_SPEAKS_TLS,
    "grpc-tls": K.PORT_SPEAKS_TLS,
    "exec-needs-shell": K.COMMAND_NOT_FOUND,
    "exec-missing-in-image": K.COMMAND_NOT_FOUND,
    "exec-ends-script": K.COMMAND_FAILED,
    "host-set": K.HOST_NOT_RESOLVED,
    "redirect-seen": K.REDIRECT_FOLLOWED,
    "liveness-grace-long": K.SIGTERM_IGNORED,
    "readiness-gate-unset": K.READINESS_GATE_UNSET,
    "init-waits-for-service": K.WAITS_FOR_INIT_CONTAINER,
    "variable-not-expanded": K.VARIABLE_NOT_EXPANDED,
    "variable-unset": K.VARIABLE_NOT_EXPANDED,
    "no-object": K.MISSING_CONFIG_MAP,
    "no-key": K.MISSING_CONFIG_MAP,
})  # fmt: skip
"""The page of what a finding or a problem of a manifest leads to, by its rule."""


def page_of(kind: CauseKind) -> CauseKind:
    """Return the kind that the page about a kind is named after."""
    return _SHARED.get(kind, kind)


def page_names() -> tuple[CauseKind, ...]:
    """Return the pages, in the order of the kinds."""
    return tuple(kind for kind in CauseKind if kind not in _SHARED)
