"""The program: `probetui`, or `python -m probetui`."""

from probetui.cli.main import main

if __name__ == "__main__":
    main()
