"""What somebody sees who says too little: the two commands to begin with."""

from __future__ import annotations

from probetui.cli.printing import print_text

_GREETING = """\
probetui runs pods without a cluster and shows their probes as the kubelet sees them.

  probetui demo              watch a liveness probe fail: no engine, no files needed
  probetui -f pod.yaml       run the pods of a file on Docker
  probetui --help            all commands
"""
_USAGE = 2


def greet() -> int:
    """Print a short help on standard error; return the status of a usage error."""
    print_text(_GREETING, err=True)
    return _USAGE
