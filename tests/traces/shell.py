"""What the commands of pods do, read from their text: sleep, files, codes, traps.

It understands as much of a shell as traces use, and says so of anything else.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

SHELLS = frozenset({"sh", "/bin/sh"})
PROGRAMS = ("/bin/", "/sbin/", "/usr/")
"""Where programs are; one that is named elsewhere does not exist."""

SHORT_LOOP = 2.0
"""Seconds. A shell looks for signals between commands: in a loop it does so soon."""


class NotUnderstoodError(Exception):
    """A command that is beyond this."""


@dataclass(slots=True)
class Run:
    """What one run of a command comes to.

    Attributes:
        lasts: seconds until it ends; None if it never does.
        exit_code: with which it ends.
        files: what it makes or removes, and when: seconds, path, whether it is there.
        loop: when its endless loop begins and how long a round takes (seconds).
        stops_after: seconds from SIGTERM to its end; None if it ignores it.
        stop_code: its exit code then.
        output: what it prints.
        is_missing: there is no such program.
    """

    lasts: float | None = 0.0
    exit_code: int = 0
    files: list[tuple[float, str, bool]] = field(default_factory=list)
    loop: tuple[float, float] | None = None
    stops_after: float | None = None
    stop_code: int = 0
    output: str = ""
    is_missing: bool = False

    def files_at(self, age: float) -> frozenset[str]:
        """Return the files that are there when it has run for so many seconds."""
        if self.loop is not None and age >= self.loop[0]:
            begins_at, length = self.loop
            age = begins_at + (age - begins_at) % length
        there = {path: is_there for at, path, is_there in self.files if at <= age}
        return frozenset(path for path, is_there in there.items() if is_there)


def run(command: Sequence[str], files: frozenset[str] = frozenset()) -> Run:
    """Return what a command does where there are some files.

    Raises:
        NotUnderstoodError: nobody knows.
    """
    match list(command):
        case [shell, "-c", text] if shell in SHELLS:
            return _Shell(files).run(list(_statements(text)))
        case [program, *_] if program.startswith("/") and not program.startswith(
            PROGRAMS
        ):
            return Run(is_missing=True)
        case words:
            return _Shell(files).run([words])


def _statements(text: str) -> Iterator[list[str]]:
    """Yield the commands of a script, each in words."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if set(word) == {";"}:
            yield words
            words = []
        elif word == "do" and not words:
            yield [word]
        else:
            words.append(word)
    if words:
        yield words


class _Shell:
    """Goes through a script once."""

    def __init__(self, files: frozenset[str]) -> None:
        self._files = set(files)
        self._now = 0.0
        self._trap: Run | None = None
        self._done = Run()

    def run(self, statements: list[list[str]]) -> Run:
        done = self._done
        for index, words in enumerate(statements):
            match words:
                case ["while", "true"]:
                    self._loop(statements[index + 1 :])
                    return done
                case ["exit", code]:
                    done.exit_code = int(code)
                    break
                case _:
                    self._one(words)
        done.lasts = self._now
        return done

    def _loop(self, rest: list[list[str]]) -> None:
        if rest[:1] != [["do"]] or rest[-1:] != [["done"]]:
            raise NotUnderstoodError(rest)
        begins_at = self._now
        for words in rest[1:-1]:
            self._one(words)
        length = self._now - begins_at
        if not length:
            raise NotUnderstoodError(rest)
        self._done.lasts, self._done.loop = None, (begins_at, length)
        trap = self._trap
        if trap is not None and trap.lasts is not None and length <= SHORT_LOOP:
            self._done.stops_after = length / 2 + trap.lasts
            self._done.stop_code = trap.exit_code

    def _one(  # noqa: C901  # one arm per command
        self, words: list[str]
    ) -> None:
        done = self._done
        done.exit_code = 0
        match words:
            case ["sleep", number]:
                self._now += float(number)
            case ["true"]:
                pass
            case ["false"]:
                done.exit_code = 1
            case ["touch", *paths]:
                self._change(paths, is_there=True)
            case ["rm", *paths]:
                self._change([path for path in paths if path != "-f"], is_there=False)
            case ["test", "-f", path]:
                done.exit_code = int(path not in self._files)
            case ["cat", path] if path not in self._files:
                done.exit_code = 1
                done.output += f"cat: can't open '{path}': No such file or directory\n"
            case ["cat", _]:
                pass
            case ["trap", "", "TERM"]:
                self._trap = None
            case ["trap", text, "TERM"]:
                self._trap = run(["sh", "-c", text])
            case _:
                raise NotUnderstoodError(shlex.join(words))

    def _change(self, paths: Sequence[str], *, is_there: bool) -> None:
        for path in paths:
            self._done.files.append((self._now, path, is_there))
            (self._files.add if is_there else self._files.discard)(path)
