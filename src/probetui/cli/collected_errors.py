"""Errors kept until every step of an end was taken: none of them skips another step."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from contextlib import contextmanager


class CollectedErrors:
    """What went wrong in steps that all have to be taken; owned by who takes them."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Keep the error that ends a step."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # it is raised after the last step
            self.errors.append(error)

    async def watch(self, work: Awaitable[None]) -> None:
        """Keep the error that ends what goes on beside."""
        with self.caught():
            await work

    def raise_first(self) -> None:
        """Raise the first error, if there is any, with notes of the others."""
        if not self.errors:
            return
        first, *others = self.errors
        for error in others:
            first.add_note(f"after that: {type(error).__name__}: {error}")
        raise first
