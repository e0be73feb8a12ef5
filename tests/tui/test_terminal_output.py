"""Writes to a terminal that is gone."""

from __future__ import annotations

import os
import pty

from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from probetui.tui.services.terminal import TerminalOutput


def test_a_write_to_a_closed_terminal_does_not_block() -> None:
    terminal, program = pty.openpty()
    with os.fdopen(program, "w", closefd=False) as file:
        os.close(terminal)
        writer = WriterThread(TerminalOutput(file))  # type: ignore[arg-type]  # as much of it as is used
        writer.start()

        for _ in range(2 * MAX_QUEUED_WRITES):
            writer.write("\x1b[2K" * 1000)
        writer.stop()

        assert not writer.is_alive()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, program)  # for data in the buffer of the file
        os.close(null)
    os.close(program)
