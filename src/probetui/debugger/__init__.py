"""Debugger commands: step, breakpoints, overrides, injection, dry runs, faults."""
