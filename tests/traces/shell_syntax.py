"""A parser of shell scripts: from text to commands as values.

It supports what pods of traces use; anything else is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NoReturn


class NotUnderstoodError(Exception):
    """A command that is not supported."""


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text."""

    text: str
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """`$NAME` or `${NAME}`, with what follows the name in braces."""

    name: str
    operator: str = ""
    operand: str = ""
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """`$(...)`: the output of commands."""

    script: Script
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Sum:
    """`$((...))`, with its expansions."""

    word: Word
    is_quoted: bool = False


Word = tuple[Text | Variable | Output | Sum, ...]


@dataclass(slots=True)
class Redirect:
    """Where a stream goes or comes from; a here-document has a body."""

    stream: int
    operator: str
    target: Word
    body: Word | None = None


@dataclass(slots=True)
class Simple:
    """A program with its words, or assignments."""

    assignments: list[tuple[str, Word]] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


@dataclass(slots=True)
class If:
    """Branches of a condition and a body each; the last one may have none."""

    branches: list[tuple[Script | None, Script]]


@dataclass(slots=True)
class Loop:
    """`while`, or `until`, with its condition and body."""

    condition: Script
    body: Script
    is_until: bool


@dataclass(slots=True)
class For:
    """`for NAME in WORDS`."""

    name: str
    words: list[Word]
    body: Script


@dataclass(slots=True)
class Group:
    """Commands in braces, or in a subshell."""

    body: Script
    is_subshell: bool
    redirects: list[Redirect] = field(default_factory=list)


Command = Simple | If | Loop | For | Group


@dataclass(slots=True)
class Pipeline:
    """Commands, each of which reads the output of the previous one."""

    commands: list[Command]
    is_negated: bool = False


@dataclass(slots=True)
class Item:
    """Pipelines joined by `&&` and `||`; `is_background` with `&` behind them."""

    first: Pipeline
    rest: list[tuple[str, Pipeline]]
    is_background: bool = False


Script = list[Item]

_CLOSING = frozenset({"then", "elif", "else", "fi", "do", "done", "}"})
_UNKNOWN = frozenset({"case", "esac", "function", "[[", "select"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9?$#!@*]")
_BRACED = re.compile(r"([A-Za-z_]\w*|[0-9?$#!@*])(%%|%|##|#|:-|:=|-)?([^{}]*)\}")
_REDIRECT = re.compile(r"(\d?)(<<-?|>>|>&|<&|>|<)")
_BLANKS = re.compile(r"(?:[ \t]|\\\n|(?<![^\s;&|])#[^\n]*)+")
_ENDS_WORD = " \t\n;&|<>()"


@lru_cache(maxsize=1024)
def parse(text: str) -> Script:
    """Return the commands of a script, which are immutable.

    Raises:
        NotUnderstoodError: it has unsupported syntax.
    """
    parser = _Parser(text)
    script = parser.script()
    if parser.at < len(text):
        parser.refuse()
    return script


class _Parser:
    def __init__(self, text: str, at: int = 0) -> None:
        self._text = text
        self.at = at
        self._documents: list[tuple[Redirect, str, bool]] = []

    def refuse(self) -> NoReturn:
        raise NotUnderstoodError(self._text[self.at :] or f"the end of {self._text}")

    # -- commands

    def script(self) -> Script:
        items: Script = []
        while True:
            self._skip_empty()
            if self._is_end():
                return items
            first, rest = self._pipeline(), []
            while joint := self._next_character("&&", "||"):
                self._skip_empty()
                rest.append((joint, self._pipeline()))
            item = Item(first, rest)
            items.append(item)
            self._blanks()
            if self._next_character("&"):
                item.is_background = True
            elif (
                not self._next_character(";")
                and not self._newline()
                and not self._is_end()
            ):
                self.refuse()

    def _is_end(self) -> bool:
        self._blanks()
        rest = self._text[self.at :]
        return not rest or rest[0] == ")" or self._reserved() in _CLOSING

    def _pipeline(self) -> Pipeline:
        is_negated = self._reserved() == "!"
        if is_negated:
            self._word()
        commands = [self._command()]
        while self._is_pipe():
            self.at += 1
            self._skip_empty()
            commands.append(self._command())
        return Pipeline(commands, is_negated)

    def _is_pipe(self) -> bool:
        self._blanks()
        return self._text.startswith("|", self.at) and not self._text.startswith(
            "||", self.at
        )

    def _command(self) -> Command:
        self._blanks()
        word = self._reserved()
        if word in _UNKNOWN:
            self.refuse()
        if word == "if":
            return self._if()
        if word in {"while", "until"}:
            self._word()
            condition = self.script()
            self._expect("do")
            body = self.script()
            self._expect("done")
            return Loop(condition, body, is_until=word == "until")
        if word == "for":
            return self._for()
        if word == "{":
            self._word()
            group = Group(self.script(), is_subshell=False)
            self._expect("}")
            return self._redirected(group)
        if self._next_character("("):
            group = Group(self.script(), is_subshell=True)
            if not self._next_character(")"):
                self.refuse()
            return self._redirected(group)
        return self._simple()

    def _if(self) -> If:
        self._expect("if")
        branches: list[tuple[Script | None, Script]] = []
        condition: Script | None = self.script()
        while True:
            if condition is not None:
                self._expect("then")
            branches.append((condition, self.script()))
            word = self._reserved()
            self._expect("fi" if condition is None else word)
            if word == "fi":
                return If(branches)
            condition = self.script() if word == "elif" else None

    def _for(self) -> For:
        self._expect("for")
        self._blanks()
        found = _NAME.match(self._text, self.at)
        if found is None:
            self.refuse()
        self.at = found.end()
        self._expect("in")
        words = []
        while not self._is_word_end():
            words.append(self._word())
        if not self._next_character(";") and not self._newline():
            self.refuse()
        self._skip_empty()
        self._expect("do")
        body = self.script()
        self._expect("done")
        return For(found[0], words, body)

    def _redirected(self, group: Group) -> Group:
        while redirect := self._redirect():
            group.redirects.append(redirect)
        return group

    def _simple(self) -> Simple:
        command = Simple()
        while True:
            if redirect := self._redirect():
                command.redirects.append(redirect)
                continue
            if self._is_word_end():
                break
            found = _ASSIGNMENT.match(self._text, self.at)
            if found and not command.words:
                self.at = found.end()
                is_empty = self._text[self.at : self.at + 1] in {"", *_ENDS_WORD}
                command.assignments.append((found[1], () if is_empty else self._word()))
                continue
            command.words.append(self._word())
        if not (command.words or command.assignments or command.redirects):
            self.refuse()
        return command

    def _redirect(self) -> Redirect | None:
        self._blanks()
        found = _REDIRECT.match(self._text, self.at)
        if found is None:
            return None
        self.at = found.end()
        operator = found[2]
        stream = int(found[1] or (0 if operator.startswith("<") else 1))
        target = self._word()
        redirect = Redirect(stream, operator, target)
        if operator.startswith("<<"):
            end = "".join(part.text for part in target if isinstance(part, Text))
            is_quoted = any(part.is_quoted for part in target)
            self._documents.append((redirect, end, is_quoted))
        return redirect

    # -- words

    def _is_word_end(self) -> bool:
        self._blanks()
        return self.at >= len(self._text) or self._text[self.at] in "\n;&|()"

    def _reserved(self) -> str:
        """Return the plain word that comes next; empty if none does."""
        self._blanks()
        found = re.compile(r"(?:[a-z]+|\[\[|[!{}])(?=[\s;&|)]|$)").match(
            self._text, self.at
        )
        return "" if found is None else found[0]

    def _expect(self, word: str) -> None:
        if self._reserved() != word or not word:
            self.refuse()
        self.at += len(word)

    def _word(self) -> Word:
        self._blanks()
        parts: list[Text | Variable | Output | Sum] = []
        begin = self.at
        while self.at < len(self._text) and self._text[self.at] not in _ENDS_WORD:
            parts += self._part()
        if self.at == begin:
            self.refuse()
        return tuple(parts)

    def _part(self) -> list[Text | Variable | Output | Sum]:
        text, at = self._text, self.at
        match text[at]:
            case "'":
                end = self._find("'", at + 1)
                self.at = end + 1
                return [Text(text[at + 1 : end], is_quoted=True)]
            case '"':
                self.at += 1
                parts = self._until('"', is_quoted=True)
                self.at += 1
                return parts or [Text("", is_quoted=True)]
            case "\\":
                self.at += 2
                return [Text(text[at + 1 : at + 2], is_quoted=True)]
            case "$" | "`":
                return [self._expansion(is_quoted=False)]
            case _:
                end = at
                while end < len(text) and text[end] not in _ENDS_WORD + "'\"\\$`":
                    end += 1
                self.at = end
                return [Text(text[at:end])]

    def _until(
        self, end: str, *, is_quoted: bool
    ) -> list[Text | Variable | Output | Sum]:
        """Return the text before a character, with expansions."""
        parts: list[Text | Variable | Output | Sum] = []
        plain = ""
        while self.at < len(self._text):
            char = self._text[self.at]
            if char == end:
                break
            if char == "\\" and self._text[self.at + 1 : self.at + 2] in {*'$`"\\'}:
                plain += self._text[self.at + 1]
                self.at += 2
            elif char in "$`":
                parts.append(Text(plain, is_quoted))
                plain = ""
                parts.append(self._expansion(is_quoted=is_quoted))
            else:
                plain += char
                self.at += 1
        else:
            if end:
                self.refuse()
        return [*parts, Text(plain, is_quoted)]

    def _expansion(self, *, is_quoted: bool) -> Text | Variable | Output | Sum:
        text, at = self._text, self.at
        if text[at] == "`":
            end = self._find("`", at + 1)
            self.at = end + 1
            return Output(parse(text[at + 1 : end]), is_quoted)
        if text.startswith("$((", at):
            end = self._find("))", at)
            self.at = end + 2
            inside = _Parser(text[at + 3 : end])._until("", is_quoted=True)
            return Sum(tuple(inside), is_quoted)
        if text.startswith("$(", at):
            inner = _Parser(text, at + 2)
            script = inner.script()
            if not inner._next_character(")"):
                self.refuse()
            self.at = inner.at
            return Output(script, is_quoted)
        if text.startswith("${", at):
            found = _BRACED.match(text, at + 2)
            if found is None:
                self.refuse()
            self.at = found.end()
            return Variable(found[1], found[2] or "", found[3], is_quoted)
        found = _NAME.match(text, at + 1)
        if found is None:
            self.at += 1
            return Text("$", is_quoted)
        self.at = found.end()
        return Variable(found[0], is_quoted=is_quoted)

    # -- characters

    def _find(self, what: str, at: int) -> int:
        found = self._text.find(what, at)
        if found < 0:
            self.refuse()
        return found

    def _blanks(self) -> None:
        found = _BLANKS.match(self._text, self.at)
        if found is not None:
            self.at = found.end()

    def _next_character(self, *texts: str) -> str:
        self._blanks()
        for text in texts:
            if self._text.startswith(text, self.at):
                self.at += len(text)
                return text
        return ""

    def _newline(self) -> bool:
        """Skip the end of a line, and read the here-documents after it."""
        self._blanks()
        if not self._text.startswith("\n", self.at):
            return False
        self.at += 1
        for redirect, end, is_quoted in self._documents:
            body = ""
            while not re.compile(rf"\t*{re.escape(end)}(\n|$)").match(
                self._text, self.at
            ):
                stop = self._find("\n", self.at) + 1
                body += self._text[self.at : stop]
                self.at = stop
            self.at = min(self.at + len(end), len(self._text))
            if is_quoted:
                redirect.body = (Text(body),)
            else:
                redirect.body = tuple(_Parser(body)._until("", is_quoted=True))
        if self._documents:
            self._documents.clear()
            self._newline()
        return True

    def _skip_empty(self) -> None:
        while self._newline():
            pass
