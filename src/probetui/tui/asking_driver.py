"""Textual's driver, which also asks the terminal for the colour behind its text.

Textual takes the answer for keys (its issue 2419), so that it has to be taken out of
what is read before Textual sees it.
"""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from select import select
from threading import Event
from typing import Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from probetui.tui.background import AnswerSieve, Background, question
from probetui.tui.messages import BackgroundTold

_PAUSE_SECONDS = 0.1
_MOST_PAUSES = 3
"""Without an answer, after which the terminal is given back without one."""

_CHUNK = 4096


class AskingDriver(LinuxDriver):
    """Asks whenever it takes the terminal; posts a message when it is told."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sieve = AnswerSieve()
        self._told: Background | None = None
        self._is_settled = Event()

    def start_application_mode(self) -> None:
        self._sieve, self._told = AnswerSieve(), None
        self._is_settled.clear()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # the framework's
        if self._key_thread is not None:
            self.write(question(os.environ))
            self.flush()

    def stop_application_mode(self) -> None:
        # An answer that comes later would be typed into the shell.
        if self._key_thread is not None:
            self._is_settled.wait(_PAUSE_SECONDS * _MOST_PAUSES)
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Hand on what is typed, until the terminal is to be given back."""
        parser = XTermParser()
        decode = getincrementaldecoder("utf-8")("replace").decode
        for typed in self._typed():
            text = decode(typed)
            self._process(parser.feed(text) if text else ())
            self._process(parser.tick())
            self._look_at_answers()

    def _typed(self) -> Iterator[bytes]:
        """Go through what is read, without answers; empty where nothing came."""
        pauses = 0
        while not self.exit_event.is_set():
            if select([self.fileno], [], [], _PAUSE_SECONDS)[0]:
                yield self._sieve.feed(os.read(self.fileno, _CHUNK))
                continue
            pauses += 1
            if pauses == _MOST_PAUSES:
                self._is_settled.set()
            yield self._sieve.pause()

    def _look_at_answers(self) -> None:
        if self._sieve.is_settled:
            self._is_settled.set()
        if self._sieve.background != self._told:
            self._told = self._sieve.background
            assert self._told is not None  # noqa: S101  # it is never taken back
            self.process_message(BackgroundTold(self._told))

    def _process(self, messages: Iterable[Message]) -> None:
        for each in messages:
            self.process_message(each)
