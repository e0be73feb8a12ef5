"""The program: `probetui`, or `python -m probetui`."""

import signal
from types import ModuleType

from probetui.cli import gc_tuning


def main() -> None:
    """Run the program and exit with its status."""
    _load_program().main()


def main_of_plugin() -> None:
    """Run as `kubectl probetui`, and exit with the status."""
    _load_program().main_of_plugin()


def _load_program() -> ModuleType:
    """Import the program; ^C meanwhile ends the process, without a traceback."""
    # Before anything is imported, none of which is garbage.
    gc_tuning.disable()
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from probetui.cli import main as program

    if is_default:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return program


def complete_for_kubectl() -> None:
    """Print what may follow in `kubectl probetui ...`, when kubectl asks for it."""
    from probetui.cli import main as program

    program.complete_for_kubectl()


if __name__ == "__main__":
    main()
