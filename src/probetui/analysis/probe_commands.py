"""What is unwise in the commands of exec probes and hooks.

The kubelet starts the program itself. It expands `$(NAME)` in a probe's command from
the container's plain variables alone, and nothing at all in a hook's. All else that
looks like a variable or an operator needs a shell.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from probetui.k8s.pod import EnvVar
from probetui.manifest.problem import quote_short

_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh"})
_RUNNERS = frozenset({"busybox", "env", "nsenter", "su", "sudo", "timeout"})
"""Programs that run another one: what comes after them may be a shell."""

_LANGUAGES = re.compile(
    r"(g|m|n)?awk|jq|lua|node|perl|php|pwsh|python[0-9.]*|ruby|sed|tclsh"
)
"""Programs whose arguments may be a script with variables of its own."""

_SHELL_WORDS = re.compile(r"[|;<>`*]|&&|\$[A-Za-z_{]")
_OPERATORS = frozenset({"|", "||", "&&", ";", ">", ">>", "<"})

_VARIABLE = re.compile(r"(?<![$\\])\$(?:([A-Z_][A-Z0-9_]*)\b|\{([A-Z_][A-Z0-9_]*)\})")
_EXPANSION = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_SHOUTED = re.compile(r"[A-Z_][A-Z0-9_]*")
"""A name that no program has: in a shell `$(date)` runs one, `$(POD_IP)` is a slip."""


_ASSIGNED = re.compile(
    r"(?:^|[\s;&|(])(?:(\w+)\+?=|(?:for|read|local|export|declare)\s+([\w\s-]*))"
)
_ALWAYS_SET = re.compile(
    r"HOME|HOSTNAME|PATH|PWD|OLDPWD|SHELL|USER|TERM|LANG|IFS|PPID|RANDOM|SECONDS|"
    r"LINENO|UID|EUID|BASH\w*|KUBERNETES_\w+|\w+_SERVICE_(HOST|PORT)\w*|\w+_PORT(_\w+)?"
)
"""Variables of shells, of runtimes and of Services."""

_DEFAULTED = re.compile(r"\$\{[A-Z_][A-Z0-9_]*:?[-=+?]")
_SOURCES = re.compile(r"(?:^|[\s;&|({])(?:\.|source|eval)\s")
_SINGLE_QUOTED = re.compile(r"'[^']*'")


def find_in_command(
    command: Sequence[str], env: Sequence[EnvVar], *, is_hook: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the rule and the message of each finding about a command.

    Args:
        command: the program and its arguments.
        env: the container's variables.
        is_hook: whether a hook runs it, for which the kubelet expands nothing.
    """
    if not command:
        return
    script = shell_script(command)
    runs_shell = _runs_shell(command)
    if not runs_shell and (message := _missing_shell(command)):
        yield "exec-needs-shell", message
    variables = {variable.name: variable for variable in env}
    for word in command:
        if message := _not_expanded(word, variables, runs_shell, is_hook=is_hook):
            yield "variable-not-expanded", message
            break
    else:
        if not runs_shell and (message := _needs_shell_for_variable(command)):
            yield "variable-not-expanded", message
    if script is not None and (program := replacing_program(script)):
        message = (
            f"exec replaces the shell by {quote_short(program)}: what comes after it "
            "in the script is never run"
        )
        yield "exec-ends-script", message


def undefined_variable(command: Sequence[str], env: Sequence[EnvVar]) -> str:
    """Return a variable of a shell's script that nothing but the image can set.

    Empty if there is none: each is one of the container's, of a shell's or a Service's,
    or is set or has a default in the script. A script that reads another one may get
    any variable from it.
    """
    script = shell_script(command)
    if script is None or _SOURCES.search(script):
        return ""
    words = [word for match in _ASSIGNED.finditer(script) for word in match.groups("")]
    is_set = {variable.name for variable in env} | set(" ".join(words).split())
    used = _SINGLE_QUOTED.sub("", _DEFAULTED.sub("", script))
    for match in _VARIABLE.finditer(used):
        name = match[1] or match[2]
        if name not in is_set and not _ALWAYS_SET.fullmatch(name):
            return name
    return ""


def _runs_shell(command: Sequence[str]) -> bool:
    for word in command:
        name = word.rpartition("/")[2]
        if name in _SHELLS:
            return True
        if name not in _RUNNERS:
            return False
    return False


def shell_script(command: Sequence[str]) -> str | None:
    """Return the script of `sh -c`, None if it is something else."""
    if not _runs_shell(command):
        return None
    for option, script in itertools.pairwise(command):
        if re.fullmatch(r"-[a-z]*c", option):
            return script
    return None


def _missing_shell(command: Sequence[str]) -> str | None:
    if len(command) == 1 and " " in command[0].strip():
        return f"{quote_short(command[0])} is one word: a program with this name"
    for word in command[1:]:
        if word in _OPERATORS:
            return f'{quote_short(word)} only works in a shell: ["sh", "-c", …]'
    if _SHELL_WORDS.search(command[0]):
        return f"{quote_short(command[0])} needs a shell, but no shell is run"
    return None


def _not_expanded(
    word: str,
    variables: Mapping[str, EnvVar],
    runs_shell: bool,  # noqa: FBT001  # what the word means depends on it
    *,
    is_hook: bool,
) -> str | None:
    """Return what becomes of a `$(NAME)` that somebody expects to be expanded."""
    for match in _EXPANSION.finditer(word):
        name, text = match[1], quote_short(match[0])
        variable = variables.get(name)
        is_meant = variable is not None or not runs_shell or _SHOUTED.fullmatch(name)
        if not is_meant:
            continue
        advice = f'; in a shell it is "${name}"'
        if is_hook:
            return f"the kubelet expands nothing in a hook: {text} stays{advice}"
        if variable is None:
            return f"{text} stays as it is: the container has no such variable{advice}"
        if variable.has_value_from:
            return (
                f"{text} becomes nothing: the kubelet expands plain values only, and "
                f"{name} is taken from elsewhere (valueFrom){advice}"
            )
    return None


def _needs_shell_for_variable(command: Sequence[str]) -> str | None:
    if _LANGUAGES.fullmatch(command[0].rpartition("/")[2]):
        return None
    for word in command[1:]:
        if match := _VARIABLE.search(word):
            name = match[1] or match[2]
            return (
                f"{quote_short(match[0])} needs a shell, and none is run; the kubelet "
                f"expands $({name}) only"
            )
    return None


def replacing_program(script: str) -> str | None:
    """Return the program by which `exec` replaces a shell that has more to run.

    None where nothing comes after it, where it only redirects (`exec 3<>FILE`), where
    it depends on a condition or has a shell of its own in a pipeline or group, and for
    a script that cannot be split.
    """
    line = script.replace("\\\n", " ").replace("\n", " ; ")
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # A quote is not closed.
        return None
    starts = True
    for index, word in enumerate(words):
        if word == "exec" and starts:
            return _program_with_successor(words[index + 1 :])
        if word in {"(", "{", "if", "while", "until", "case", "for"} or ")" in word:
            return None  # What is conditional may be meant so.
        starts = word == ";"
    return None


def _program_with_successor(words: Sequence[str]) -> str | None:
    if not words or set(words[0]) <= set("<>&") or words[0].startswith("{"):
        return None
    program, *rest = words
    if program.isdigit() and rest and set(rest[0]) <= set("<>&"):
        return None
    for index, word in enumerate(rest):
        if word in {"|", "&", "|&"} or ")" in word:
            return None
        if word in {";", "&&", "||"}:
            has_more = any(set(later) - set(";&|") for later in rest[index + 1 :])
            return program if has_more else None
    return None
