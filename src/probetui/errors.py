"""The exceptions that probetui raises, as one tree.

    ProbetuiError                     a message for people; has an exit status
    ├── UsageError                    an option or a file is wrong (2)
    │   └── PodInUseError             another probetui runs the pod
    ├── ManifestError                 pod YAML that cannot be used, all problems (2)
    ├── NothingToDoError              no pod, no probe, selector matched nothing (5)
    ├── RuntimeUnavailableError       no daemon or socket answers; what was tried (3)
    ├── ContainerRuntimeError         a runtime refused one call
    │   ├── IncompleteRemovalError    some of what was to be removed is left
    │   ├── ImageNotFoundError        the image is not there and was not pulled
    │   ├── ContainerConfigError      what a container asks for cannot be prepared
    │   ├── UnsupportedError          this kind of runtime never does it (2)
    │   └── ExecutableMissingError    the command of an exec is not there
    ├── ExecTimeoutError              an exec ran longer than its limit
    ├── GoError                       a prober's step failed; in the kubelet's words
    ├── LocalResourceError            this process lacks a descriptor, thread or time
    └── RecordError                   a record cannot be written or read (2)

A probe that fails is a value (`ProbeOutcome`), never an exception.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class ProbetuiError(Exception):
    """The root: a message for people and the exit status it leads to."""

    exit_status = 1


class UsageError(ProbetuiError):
    """An option, a file name or a configuration value cannot be used."""

    exit_status = 2


class OutputError(ProbetuiError):
    """Standard output takes no more, as on a full disk."""

    exit_status = 2

    def __init__(self, error: OSError) -> None:
        super().__init__(f"cannot write to standard output: {error.strerror or error}")


class PodInUseError(UsageError):
    """Another probetui runs a pod.

    Args:
        namespace: the pod's.
        name: the pod's.
        holder: who runs it, for people.
    """

    def __init__(self, namespace: str, name: str, holder: str) -> None:
        super().__init__(
            f"pod {namespace}/{name} is run by another probetui ({holder})"
        )
        self.namespace = namespace
        self.name = name


class ManifestError(ProbetuiError):
    """Pod YAML that cannot be used; every problem found, in file and line order.

    Args:
        problems: one finished line each, `file:line:col: path: message`.
        lines: the same with warnings between them, in order: the severity, the text.
        consequence: what the command did not do.
    """

    exit_status = 2

    def __init__(
        self,
        problems: Sequence[str],
        lines: Sequence[tuple[str, str]] = (),
        consequence: str = "nothing was started",
    ) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)
        self.lines = tuple(lines) or tuple(("error", problem) for problem in problems)
        self.consequence = consequence


class NothingToDoError(ProbetuiError):
    """There is no pod, no probe, or the selector matched nothing."""

    exit_status = 5


class RuntimeUnavailableError(ProbetuiError):
    """No container runtime answers.

    Args:
        message: what is the matter and what to do, one line.
        tried: each endpoint tried, in order, with its outcome.
    """

    exit_status = 3

    def __init__(self, message: str, tried: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.tried = tuple(tried)


class ContainerRuntimeError(ProbetuiError):
    """A runtime refused one call, or could not be reached for it.

    Args:
        message: the runtime's own words.
        unreachable: the runtime did not answer at all (daemon gone).
    """

    exit_status = 6

    def __init__(self, message: str, *, unreachable: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable


class UnsupportedError(ContainerRuntimeError):
    """A runtime does not do what an optional call of `ports.Runtime` asks for.

    Args:
        runtime: its name.
        problem: what it does not do, as the rest of a sentence.
    """

    exit_status = 2

    def __init__(self, runtime: str, problem: str) -> None:
        super().__init__(f"{runtime} {problem}")


@contextmanager
def wrap_os_errors() -> Iterator[None]:
    """Raise `ContainerRuntimeError` instead of `OSError`."""
    try:
        yield
    except OSError as error:
        raise ContainerRuntimeError(str(error)) from error


class IncompleteRemovalError(ContainerRuntimeError):
    """Some of what was to be removed is left; all else is gone.

    Args:
        left: the first paths that are left, each with the reason.
        count: how many are left in all.
    """

    def __init__(self, left: Sequence[tuple[object, str]], count: int) -> None:
        listed = "; ".join(f"{path}: {reason}" for path, reason in left)
        more = f"; and {count - len(left)} more" if count > len(left) else ""
        super().__init__(f"not removed: {listed}{more}")
        self.left = tuple(left)
        self.count = count


class ImageNotFoundError(ContainerRuntimeError):
    """The image does not exist, here or where it was pulled from."""


class ContainerConfigError(ContainerRuntimeError):
    """Something that a container needs, such as a subPath, cannot be prepared.

    The kubelet's reason is CreateContainerConfigError: no runtime was asked yet.
    """


class ExecutableMissingError(ContainerRuntimeError):
    """The executable of a command does not exist in the container."""


class ExecTimeoutError(ProbetuiError):
    """A command in a container ran longer than its limit.

    Args:
        killed: its process was killed; False when it had to be left running.
    """

    def __init__(self, message: str, *, killed: bool) -> None:
        super().__init__(message)
        self.killed = killed


class ForwardRefusedError(ProbetuiError):
    """The far end of a port-forward could not connect to the pod; its own words."""


class GoError(ProbetuiError):
    """A step of a probe failed; the message is what the kubelet, in Go, would say.

    It never leaves `probers/`: there it becomes the text of an `Attempt`.
    """


class LocalResourceError(ProbetuiError):
    """This process could not probe: no descriptor, no thread, no time.

    That says nothing of the container: it becomes the error of an `Attempt`, which the
    kubelet throws away, and never a failure.
    """


class RecordError(ProbetuiError):
    """A record cannot be written or read."""

    exit_status = 2
