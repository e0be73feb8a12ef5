"""Plain output and the reports of `check`."""
