"""The program: `probetui`, or `python -m probetui`."""

from probetui.cli import gc_tuning


def main() -> None:
    """Run the program and exit with its status."""
    # Before anything is imported, none of which is garbage.
    gc_tuning.disable()
    from probetui.cli import main as program

    program.main()


def main_of_plugin() -> None:
    """Run as `kubectl probetui`, and exit with the status."""
    gc_tuning.disable()
    from probetui.cli import main as program

    program.main_of_plugin()


def complete_for_kubectl() -> None:
    """Print what may follow in `kubectl probetui ...`, when kubectl asks for it."""
    from probetui.cli import main as program

    program.complete_for_kubectl()


if __name__ == "__main__":
    main()
