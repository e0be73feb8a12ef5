"""An interpreter of the shell commands of pods, on virtual time.

It supports the parts of a shell, of busybox and of its httpd that pods of traces use,
and raises an error for anything else. No program is run: a sleep adds to the time, a
file is an entry in `files`, a server is a port and a folder.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from tests.traces.files import FOLDER, Files, Mounts
from tests.traces.shell_syntax import (
    Command,
    For,
    Group,
    If,
    Item,
    Loop,
    NotUnderstoodError,
    Output,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Sum,
    Text,
    Variable,
    Word,
    parse,
)

__all__ = ["NotUnderstoodError", "Run", "run"]

SHELLS = frozenset({"sh", "/bin/sh", "ash", "/bin/ash"})
_FOLDERS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/")

_OTHERS = frozenset(
    re.findall(
        r"\S+",
        """
adduser arch awk base64 basename bc bunzip2 bzcat cal cksum clear cmp comm crond cut dc
dd df diff dirname dmesg du ed egrep find fold free ftpd getty gzip id ifconfig install
ip ipcs join less link ln login logger losetup ls lsof md5sum microcom mkfifo
mknod mktemp more mount mpstat nanddump netstat nice nohup nproc nslookup od paste patch
ping pivot_root pgrep pkill printenv ps pwd readlink realpath rev rmdir route sed setsid
sha1sum sha256sum shuf sort split stat stty su sum sync sysctl tac tar tee telnet
telnetd tftpd time timeout top tr traceroute truncate tty tune2fs udhcpc umount uniq
unlink unzip uptime usleep vi watch wget which whoami xargs xxd yes zcat
""",
    )
)
"""Programs of busybox that exist but are not supported."""

NOT_FOUND = 127
HORIZON = 900.0
"""Seconds. A script that still runs then never ends."""

MOST_STEPS = 200_000


_CACHE: dict[tuple[object, ...], Run] = {}
"""Runs of commands that depend on neither files nor the time, mostly of probes."""


class _EndError(Exception):
    """The process ends."""


class _ForeverError(Exception):
    """The process never ends by itself."""


@dataclass(frozen=True, slots=True)
class Nap:
    """A time in which a shell waits for a program, or also for a signal."""

    begin: float
    end: float
    is_interruptible: bool = False


@dataclass(slots=True)
class Listening:
    """A port that is served from `begin` until `end`, seconds from the run's start.

    `root` is the folder that it serves; None for a server that only accepts
    connections.
    """

    begin: float
    root: str | None
    end: float = math.inf


@dataclass(slots=True)
class Run:
    """The result of one run of a command; times are seconds from its start.

    Attributes:
        lasts: until it ends; None if it never does.
        exit_code: its exit code.
        stdout: its standard output.
        stderr: its standard error.
        naps: when it waits, in order.
        steady: since when it repeats equal rounds, and the length of one.
        trap: its handler of SIGTERM; None if the signal ends it, or does nothing to the
            first process of a container; empty if it ignores it.
        listens: the ports it serves, by number.
        reads: the files that it read.
        is_missing: there is no such program.
    """

    lasts: float | None = 0.0
    exit_code: int = 0
    stdout: str = ""
    stderr: str = ""
    naps: list[Nap] = field(default_factory=list)
    steady: tuple[float, float] | None = None
    trap: str | None = None
    listens: dict[int, Listening] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)
    is_missing: bool = False
    _process: _Process | None = None

    def ends_after(self, age: float) -> tuple[float, int] | None:
        """Return how long after SIGTERM it ends, and its code; None if it does not.

        It is the first process of a container, which only a handler ends.
        """
        if not self.trap or self._process is None:
            return None
        delay = self._delay(age)
        if delay is None:
            return None
        handled = self._process.handle(self.trap, age + delay)
        return None if handled is None else (delay + handled[0], handled[1])

    def _delay(self, age: float) -> float | None:
        """Return how long the program in the foreground continues to run."""
        if self.steady is not None and age >= self.steady[0]:
            begin, length = self.steady
            age = begin + (age - begin) % length
        for nap in self.naps:
            if nap.begin <= age < nap.end:
                return 0.0 if nap.is_interruptible else _finite(nap.end - age)
        return 0.0


def _finite(seconds: float) -> float | None:
    return seconds if seconds < math.inf else None


def run(
    command: Sequence[str],
    mounts: Mounts | None = None,
    at: float = 0.0,
    owner: str = "",
    environment: Mapping[str, str] | None = None,
    begins_after: float = 0.0,
) -> Run:
    """Return the run of a command that starts at an instant.

    Its writes are added to the files. It begins after `begins_after` seconds.

    Raises:
        NotUnderstoodError: the command is not supported.
    """
    variables = dict(environment or {})
    key = (tuple(command), tuple(variables.items()), begins_after)
    if (builtin := _CACHE.get(key)) is not None:
        return builtin
    process = _Process(mounts or Mounts(Files()), at, owner, variables)
    result = process.main(command, begins_after)
    if process.is_cacheable:
        _CACHE[key] = result
    return result


def is_missing(command: Sequence[str]) -> bool:
    """Return whether there is no such program."""
    return not _exists(command[0])


class _Process:
    """Interprets a script once."""

    def __init__(
        self, mounts: Mounts, at: float, owner: str, variables: dict[str, str]
    ) -> None:
        self._all_mounts = mounts
        self._has_read = False
        self._at = at
        self._now = at
        self._owner = owner
        self._variables = variables
        self._status = 0
        self._stdin = ""
        self._out: list[str] = []
        self._err: list[str] = []
        self._background = 0.0
        self._steps = count()
        self._stops_at_error = False
        self.result = Run(_process=self)

    @property
    def _mounts(self) -> Mounts:
        self._has_read = True
        return self._all_mounts

    @property
    def is_cacheable(self) -> bool:
        """Whether it depended on neither files nor the time."""
        return not (self._has_read or self.result.trap or self.result.listens)

    def main(self, command: Sequence[str], begins_after: float) -> Run:
        result = self.result
        if is_missing(command) and self._read(command[0]) is None:
            result.is_missing = True
            return result
        try:
            self.pause(begins_after)
            self._program(list(command))
        except _EndError:
            result.lasts = self._now - self._at
        except _ForeverError:
            result.lasts = None
        else:
            result.lasts = self._now - self._at
        result.exit_code = self._status
        result.stdout, result.stderr = "".join(self._out), "".join(self._err)
        return result

    def handle(self, trap: str, age: float) -> tuple[float, int] | None:
        """Run a handler, and return how long until that ends the process."""
        self._now = self._at + age
        try:
            self._script(parse(trap))
        except _EndError:
            return self._now - self._at - age, self._status
        except _ForeverError:
            return None
        return None

    # -- scripts

    def _script(self, script: Script) -> None:
        for item in script:
            self._item(item)

    def _item(self, item: Item) -> None:
        if item.is_background:
            self._in_background(item)
            return
        self._pipeline(item.first)
        for joint, pipeline in item.rest:
            if (joint == "&&") == (self._status == 0):
                self._pipeline(pipeline)
        if self._stops_at_error and self._status and not item.rest:
            raise _EndError

    def _in_background(self, item: Item) -> None:
        begin = self._now
        naps = len(self.result.naps)
        try:
            self._pipeline(item.first)
            self._background = max(self._background, self._now)
        except _ForeverError:
            self._background = math.inf
        except _EndError:
            self._background = max(self._background, self._now)
        del self.result.naps[naps:]
        self.result.steady = None
        self._now, self._status = begin, 0

    def _pipeline(self, pipeline: Pipeline) -> None:
        stdin = self._stdin
        for command in pipeline.commands[:-1]:
            self._stdin = self._printed(partial(self._command, command))
        self._command(pipeline.commands[-1])
        self._stdin = stdin
        if pipeline.is_negated:
            self._status = int(not self._status)

    def _printed(self, act: Callable[[], None]) -> str:
        """Capture what a function prints."""
        outer, self._out = self._out, []
        try:
            act()
        finally:
            inner, self._out = self._out, outer
        return "".join(inner)

    def _command(self, command: Command) -> None:
        if next(self._steps) > MOST_STEPS or self._now - self._at > HORIZON:
            raise _ForeverError
        match command:
            case Simple():
                self._simple(command)
            case If(branches):
                self._if(branches)
            case Loop():
                self._loop(command)
            case For(name, words, body):
                for value in self._fields(words):
                    self._variables[name] = value
                    self._script(body)
            case Group():
                self._redirected(command.redirects, lambda: self._group(command))

    def _group(self, group: Group) -> None:
        if not group.is_subshell:
            self._script(group.body)
            return
        variables = dict(self._variables)
        with suppress(_EndError):
            self._script(group.body)
        self._variables = variables

    def _if(self, branches: Sequence[tuple[Script | None, Script]]) -> None:
        for condition, body in branches:
            if condition is not None:
                self._script(condition)
                if self._status:
                    continue
            self._script(body)
            return
        self._status = 0

    def _loop(self, loop: Loop) -> None:
        while True:
            begin, state = self._now, self._state()
            self._script(loop.condition)
            if (self._status == 0) is loop.is_until:
                self._status = 0
                return
            self._script(loop.body)
            if self._state() == state:
                length = self._now - begin
                if not length:
                    raise NotUnderstoodError("a loop that takes no time")
                self.result.steady = begin - self._at, length
                raise _ForeverError

    def _state(self) -> tuple[object, ...]:
        return self._all_mounts.count, tuple(self._variables.items()), len(self._out)

    # -- words

    def _fields(self, words: Sequence[Word]) -> list[str]:
        """Return words as a shell splits them."""
        fields: list[str] = []
        for word in words:
            open_field: str | None = None
            for part in word:
                text = self._part(part)
                if isinstance(part, Text) or part.is_quoted:
                    open_field = (open_field or "") + text
                    continue
                pieces = text.split()
                if text[:1].isspace() and open_field is not None:
                    fields.append(open_field)
                    open_field = None
                for index, piece in enumerate(pieces):
                    if index and open_field is not None:
                        fields.append(open_field)
                        open_field = None
                    open_field = (open_field or "") + piece
            if open_field is not None:
                fields.append(open_field)
        return fields

    def _text(self, word: Word) -> str:
        return "".join(map(self._part, word))

    def _part(self, part: Text | Variable | Output | Sum) -> str:
        match part:
            case Text(text):
                return text
            case Variable():
                return self._value(part)
            case Output(script):
                return self._printed(lambda: self._script(script)).rstrip("\n")
            case Sum(word):
                return str(self._sum(self._text(word)))

    def _value(self, variable: Variable) -> str:
        if variable.name == "?":
            return str(self._status)
        value = self._variables.get(variable.name, "")
        match variable.operator:
            case "":
                return value
            case ":-" | "-":
                return value or variable.operand
            case "%%" | "%":
                return _without_end(value, variable.operand, variable.operator)
            case "##" | "#":
                return _without_end(
                    value[::-1], variable.operand[::-1], "%" * len(variable.operator)
                )[::-1]
            case _:
                raise NotUnderstoodError(variable)

    def _sum(self, text: str) -> int:
        numbers = re.sub(
            r"[A-Za-z_]\w*", lambda name: self._variables.get(name[0]) or "0", text
        )
        if not re.fullmatch(r"[\d\s+\-*/%()<>=!]+", numbers):
            raise NotUnderstoodError(text)
        return int(eval(numbers.replace("/", "//"), {}))  # of digits and signs

    # -- programs

    def _simple(self, command: Simple) -> None:
        values = [(name, self._text(word)) for name, word in command.assignments]
        words = self._fields(command.words)
        if not words:
            self._variables.update(values)
            if not command.assignments or self._status == 0:
                self._status = 0
            self._redirected(command.redirects, lambda: None)
            return
        before = dict(self._variables)
        self._variables.update(values)
        self._redirected(command.redirects, lambda: self._program(words))
        if values and words[0] != "exec":
            self._variables = before

    def _redirected(
        self, redirects: Sequence[Redirect], act: Callable[[], None]
    ) -> None:
        stdin, errors = self._stdin, self._err
        target: Redirect | None = None
        for redirect in redirects:
            where = "" if redirect.body is not None else self._text(redirect.target)
            if redirect.body is not None:
                self._stdin = self._text(redirect.body)
            elif redirect.operator == "<":
                content = self._read(where)
                if content is None:
                    self._complain(f"/bin/sh: can't open {where}: no such file")
                    self._status = 1
                    return
                self._stdin = content
            elif redirect.operator in {">", ">>"} and redirect.stream == 1:
                target = redirect
            elif redirect.stream == 2 and where == "/dev/null":
                self._err = []
            elif redirect.operator == ">&" and redirect.stream == 2 and where == "1":
                self._err = self._out if target is None else []
            elif redirect.operator != ">&" or where != "2":
                raise NotUnderstoodError(redirect)
        try:
            if target is None:
                act()
            else:
                self._print_to(self._text(target.target), target.operator, act)
        finally:
            self._stdin, self._err = stdin, errors

    def _print_to(self, path: str, operator: str, act: Callable[[], None]) -> None:
        begin = self._now
        try:
            text = self._printed(act)
        except _ForeverError:
            text = ""
            raise
        before = (self._read(path) or "") if operator == ">>" else ""
        self._mounts.write(path, before + text, begin, self._owner)

    def _read(self, path: str) -> str | None:
        if path == "/dev/null":
            return ""
        self.result.reads.add(path)
        content = self._mounts.read(path, self._now)
        return None if content == FOLDER else content

    def _complain(self, text: str) -> None:
        self._err.append(f"{text}\n")

    def _program(self, words: list[str]) -> None:
        """Run a program and set the status."""
        name = words[0].rpartition("/")[2]
        if next(self._steps) > MOST_STEPS:
            raise _ForeverError
        if words[0] in SHELLS:
            self._shell(words[1:])
            return
        builtin = _PROGRAMS.get(name)
        if builtin is not None and (words[0] == name or words[0].startswith(_FOLDERS)):
            self._status = builtin(self, words[1:])
        elif _exists(words[0]):
            raise NotUnderstoodError(shlex.join(words))
        elif (script := self._read(words[0])) is not None and "/" in words[0]:
            self._script(parse(script))
        else:
            self._complain(f"/bin/sh: {words[0]}: not found")
            self._status = NOT_FOUND

    def _shell(self, words: list[str]) -> None:
        match words:
            case ["-c", text, *_]:
                script = parse(text)
            case ["-ec" | "-exc", text, *_]:
                script = parse(text)
                self._stops_at_error = True
            case [path] if (content := self._read(path)) is not None:
                script = parse(content)
            case _:
                raise NotUnderstoodError(shlex.join(["sh", *words]))
        self._status = 0
        self._script(script)

    def pause(self, seconds: float, *, is_interruptible: bool = False) -> None:
        """Let time pass."""
        begin = self._now - self._at
        nap = Nap(begin, begin + seconds, is_interruptible)
        self.result.naps.append(nap)
        if seconds == math.inf:
            raise _ForeverError
        self._now += seconds

    # -- busybox

    def _sleep(self, words: list[str]) -> int:
        units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
        total = 0.0
        for word in words:
            if word in {"inf", "infinity"}:
                total = math.inf
                break
            number = re.fullmatch(r"([\d.]+)([smhd]?)", word)
            if number is None:
                raise NotUnderstoodError(word)
            total += float(number[1]) * units.get(number[2], 1)
        self.pause(total)
        return 0

    def _wait(self, _words: list[str]) -> int:
        if self._background > self._now:
            self.pause(self._background - self._now, is_interruptible=True)
        return 0

    def _succeed(self, _words: list[str]) -> int:
        return 0

    def _fail(self, _words: list[str]) -> int:
        return 1

    def _exit(self, words: list[str]) -> int:
        self._status = int(words[0]) if words else self._status
        raise _EndError

    def _exec(self, words: list[str]) -> int:
        if words:
            self.result.trap = None
            self._program(words)
            raise _EndError
        return 0

    def _trap(self, words: list[str]) -> int:
        for signal in words[1:]:
            if signal in {"TERM", "SIGTERM", "15"}:
                self.result.trap = None if words[0] == "-" else words[0]
        return 0

    def _touch(self, words: list[str]) -> int:
        for path in _paths(words):
            if self._mounts.read(path, self._now) is None:
                self._mounts.write(path, "", self._now, self._owner)
        return 0

    def _remove(self, words: list[str]) -> int:
        status = 0
        for path in _paths(words):
            if self._mounts.read(path, self._now) is not None:
                self._mounts.write(path, None, self._now, self._owner)
            elif "-f" not in words and "-rf" not in words:
                self._complain(f"rm: can't remove '{path}': No such file or directory")
                status = 1
        return status

    def _make_directory(self, words: list[str]) -> int:
        for path in _paths(words):
            parts = path.strip("/").split("/")
            for end in range(1, len(parts) + 1):
                folder = "/" + "/".join(parts[:end])
                if self._mounts.read(folder, self._now) is None:
                    self._mounts.write(folder, FOLDER, self._now, self._owner)
        return 0

    def _move(self, words: list[str]) -> int:
        source, target = _paths(words)
        content = self._read(source)
        if content is None:
            self._complain(f"mv: can't rename '{source}': No such file or directory")
            return 1
        self._mounts.write(target, content, self._now, self._owner)
        self._mounts.write(source, None, self._now, self._owner)
        return 0

    def _copy(self, words: list[str]) -> int:
        source, target = _paths(words)
        content = self._read(source)
        if content is None:
            self._complain(f"cp: can't stat '{source}': No such file or directory")
            return 1
        self._mounts.write(target, content, self._now, self._owner)
        return 0

    def _bracket(self, words: list[str]) -> int:
        if words[-1:] != ["]"]:
            raise NotUnderstoodError(words)
        return self._test(words[:-1])

    def _test(  # noqa: C901  # one arm per form
        self, words: list[str]
    ) -> int:
        for joint, both in (("-o", any), ("-a", all)):
            if joint in words:
                at = words.index(joint)
                sides = words[:at], words[at + 1 :]
                return int(not both([self._test(side) == 0 for side in sides]))
        match words:
            case ["!", *rest]:
                return int(self._test(rest) == 0)
            case []:
                return 1
            case [text]:
                return int(not text)
            case ["-z", text]:
                return int(bool(text))
            case ["-n", text]:
                return int(not text)
            case [flag, path] if flag in {"-e", "-f", "-d", "-s", "-x", "-r", "-w"}:
                return int(not self._has(flag, path))
            case [one, "=" | "==", other]:
                return int(one != other)
            case [one, "!=", other]:
                return int(one == other)
            case [one, sign, other] if sign in _COMPARISONS:
                return int(not _COMPARISONS[sign](int(one), int(other)))
        raise NotUnderstoodError(shlex.join(["test", *words]))

    def _has(self, flag: str, path: str) -> bool:
        self.result.reads.add(path)
        content = self._mounts.read(path, self._now)
        match flag:
            case "-d":
                return content == FOLDER
            case "-f":
                return content is not None and content != FOLDER
            case "-s":
                return bool(content)
            case _:
                return content is not None

    def _cat(self, words: list[str]) -> int:
        if not words:
            self._out.append(self._stdin)
        status = 0
        for path in words:
            content = self._read(path)
            if content is None:
                text = f"cat: can't open '{path}': No such file or directory"
                self._complain(text)
                status = 1
            else:
                self._out.append(content)
        return status

    def _echo(self, words: list[str]) -> int:
        end = "\n"
        while words and re.fullmatch("-[neE]+", words[0]):
            end = "" if "n" in words[0] else end
            words = words[1:]
        self._out.append(" ".join(words) + end)
        return 0

    def _printf(self, words: list[str]) -> int:
        form, *values = words
        text = re.sub(
            r"\\([nt\\])",
            lambda found: {"n": "\n", "t": "\t"}.get(found[1], "\\"),
            form,
        )
        left = iter(values)
        printed = re.sub(
            r"%([sd%])",
            lambda found: "%" if found[1] == "%" else next(left, ""),
            text,
        )
        self._out.append(printed)
        return 0

    def _count_words(self, words: list[str]) -> int:
        paths = [word for word in words if not word.startswith("-")]
        content = self._read(paths[0]) if paths else self._stdin
        if content is None:
            self._complain(f"wc: {paths[0]}: No such file or directory")
            return 1
        sizes = {"-l": content.count("\n"), "-c": len(content)}
        sizes["-w"] = len(content.split())
        flag = next((word for word in words if word in sizes), None)
        if flag is None:
            raise NotUnderstoodError(words)
        self._out.append(" ".join([str(sizes[flag]), *paths]) + "\n")
        return 0

    def _grep(self, words: list[str]) -> int:
        flags = {word for word in words if word.startswith("-")}
        pattern, *paths = [word for word in words if not word.startswith("-")]
        if flags - {"-q", "-c"}:
            raise NotUnderstoodError(words)
        content = self._read(paths[0]) if paths else self._stdin
        lines = [line for line in (content or "").splitlines() if pattern in line]
        if "-c" in flags:
            self._out.append(f"{len(lines)}\n")
        elif "-q" not in flags:
            self._out += [f"{line}\n" for line in lines]
        return int(not lines)

    def _head(self, words: list[str]) -> int:
        return self._some_lines(words, from_end=False)

    def _tail(self, words: list[str]) -> int:
        if words == ["-f", "/dev/null"]:
            self.pause(math.inf)
        return self._some_lines(words, from_end=True)

    def _some_lines(self, words: list[str], *, from_end: bool) -> int:
        match words:
            case ["-n" | "-c" as unit, number, *paths]:
                content = self._read(paths[0]) if paths else self._stdin
            case _:
                raise NotUnderstoodError(words)
        size = int(number)
        text = content or ""
        pieces = [*text] if unit == "-c" else text.splitlines(keepends=True)
        kept = pieces[-size:] if from_end else pieces[:size]
        self._out.append("".join(kept))
        return int(content is None)

    def _sequence(self, words: list[str]) -> int:
        first, last = (1, int(words[0])) if len(words) == 1 else map(int, words)
        self._out += [f"{number}\n" for number in range(first, last + 1)]
        return 0

    def _date(self, words: list[str]) -> int:
        if words != ["+%s"]:
            raise NotUnderstoodError(words)
        self._has_read = True
        self._out.append(f"{1_700_000_000 + int(self._now)}\n")
        return 0

    def _read_line(self, words: list[str]) -> int:
        line = self._stdin.partition("\n")[0].split()
        for index, name in enumerate(words):
            rest = line[index:] if index == len(words) - 1 else line[index : index + 1]
            self._variables[name] = " ".join(rest)
        return int(not self._stdin)

    def _export(self, words: list[str]) -> int:
        for word in words:
            name, sign, value = word.partition("=")
            if sign:
                self._variables[name] = value
        return 0

    def _set(self, words: list[str]) -> int:
        if words not in (["-e"], ["+e"], ["-x"], ["-u"]):
            raise NotUnderstoodError(words)
        self._stops_at_error = words == ["-e"]
        return 0

    def _environment(self, words: list[str]) -> int:
        if words:
            raise NotUnderstoodError(words)
        self._out += [f"{name}={value}\n" for name, value in self._variables.items()]
        return 0

    def _kill(self, words: list[str]) -> int:
        raise NotUnderstoodError(shlex.join(["kill", *words]))

    def _kill_all(self, words: list[str]) -> int:
        """End the servers of this script; others and other signals are not known."""
        served = [it for it in self.result.listens.values() if it.end == math.inf]
        if words != ["httpd"] or not served:
            raise NotUnderstoodError(shlex.join(["killall", *words]))
        for listening in served:
            if listening.root is not None:
                listening.end = self._now - self._at
        return 0

    def _serve_http(self, words: list[str]) -> int:
        options = dict(_options(words, "ph"))
        port = int(options.get("p", "80").rpartition(":")[2])
        root = options.get("h", "/")
        self.result.listens[port] = Listening(self._now - self._at, root)
        if "f" in options:
            self.pause(math.inf)
        return 0

    def _serve(self, words: list[str]) -> int:
        options = dict(_options(words, "pew"))
        if "l" not in options or "p" not in options or "k" not in options:
            raise NotUnderstoodError(shlex.join(["nc", *words]))
        self.result.listens[int(options["p"])] = Listening(self._now - self._at, None)
        self.pause(math.inf)
        return 0


def _exists(program: str) -> bool:
    folder, slash, name = program.rpartition("/")
    builtin = name in _PROGRAMS or name in _OTHERS or name in SHELLS
    return builtin and (not slash or f"{folder}/" in _FOLDERS)


def _options(words: Sequence[str], with_value: str) -> Iterator[tuple[str, str]]:
    left = iter(words)
    for word in left:
        if not word.startswith("-"):
            raise NotUnderstoodError(word)
        for index, letter in enumerate(word[1:], 2):
            if letter in with_value:
                yield letter, word[index:] or next(left, "")
                break
            yield letter, ""


def _paths(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.startswith(("-", "+"))]


def _without_end(value: str, pattern: str, operator: str) -> str:
    """Return a value without a suffix that matches a pattern like `.*`."""
    parts = (".*" if char == "*" else re.escape(char) for char in pattern)
    form = re.compile("".join(parts), re.DOTALL)
    places = range(len(value) + 1)
    for at in places if operator == "%%" else reversed(places):
        if form.fullmatch(value, at):
            return value[:at]
    return value


_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": int.__eq__,
    "-ne": int.__ne__,
    "-lt": int.__lt__,
    "-le": int.__le__,
    "-gt": int.__gt__,
    "-ge": int.__ge__,
}

_Builtin = Callable[[_Process, list[str]], int]
_PROGRAMS: Mapping[str, _Builtin] = {
    "[": _Process._bracket,
    ":": _Process._succeed,
    "cat": _Process._cat,
    "cd": _Process._succeed,
    "chmod": _Process._succeed,
    "cp": _Process._copy,
    "date": _Process._date,
    "echo": _Process._echo,
    "env": _Process._environment,
    "exec": _Process._exec,
    "exit": _Process._exit,
    "export": _Process._export,
    "false": _Process._fail,
    "grep": _Process._grep,
    "head": _Process._head,
    "httpd": _Process._serve_http,
    "kill": _Process._kill,
    "killall": _Process._kill_all,
    "mkdir": _Process._make_directory,
    "mv": _Process._move,
    "nc": _Process._serve,
    "printf": _Process._printf,
    "read": _Process._read_line,
    "rm": _Process._remove,
    "seq": _Process._sequence,
    "set": _Process._set,
    "sleep": _Process._sleep,
    "tail": _Process._tail,
    "test": _Process._test,
    "touch": _Process._touch,
    "trap": _Process._trap,
    "true": _Process._succeed,
    "wait": _Process._wait,
    "wc": _Process._count_words,
}
