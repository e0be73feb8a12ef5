"""What to type here for commands and options that people know from other tools."""

from __future__ import annotations

from collections.abc import Mapping

MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")

_RUN = "probetui -f FILE"
_LIST = "probetui ls"
_REMOVE = "probetui down -f FILE"

_COMMANDS: Mapping[str, str] = {
    "apply": _RUN,
    "create": _RUN,
    "start": _RUN,
    "up": f"{_RUN}; it stays in the foreground until you leave it",
    "get": f"{_LIST}; -o wide, json or yaml for more",
    "list": _LIST,
    "ps": _LIST,
    "top": _LIST,
    "delete": _REMOVE,
    "rm": _REMOVE,
    "stop": _REMOVE,
    "describe": "probetui explain -f FILE, or d on the screen of a session",
    "events": f"{_RUN} --plain prints them; on the screen they are below the pods",
    "wait": f"{_RUN} --until ready --timeout 90s",
    "kill": "probetui down POD removes a pod; ctrl+k on the screen of a session kills "
    "a container",
    "lint": "probetui check -f FILE",
    "validate": "probetui check -f FILE",
    "simulate": "probetui sim -f FILE",
    "watch": f"{_RUN} --watch",
    "debug": f"{_RUN} --paused",
    "uninstall": "probetui down --all removes your pods",
}

_OPTIONS: Mapping[str, str] = {
    "--dry-run": "probetui check validates, probetui sim simulates; neither starts "
    "anything",
    "-d": "a session stays in the foreground; --keep leaves its containers at the end",
    "--detach": "a session stays in the foreground; --keep leaves its containers at "
    "the end",
    "-k": "kubectl kustomize DIR | probetui -f -",
    "--kustomize": "kubectl kustomize DIR | probetui -f -",
    "-w": "--watch reloads the files when they change",
    "--file": "-f FILE",
    "--wait": "--until ready",
    "--json": "-o json, or -o jsonl for a session",
    "--allow-url": "-f reads URLs without it",
    "--kubeconfig": "pods of -f run on this machine; `probetui watch` "
    "reads a cluster's",
}


def hint_for_command(name: str) -> str:
    """Return what to type for another tool's command, empty if none is known."""
    return _COMMANDS.get(name, "")


def hint_for_option(name: str) -> str:
    """Return what to type for another tool's option, empty if none is known."""
    return _OPTIONS.get(name, "")


def is_filename(word: str) -> bool:
    """Return whether a word can only be meant as the name of a manifest."""
    return word.endswith(MANIFEST_SUFFIXES) or "/" in word
