"""Those who want to be told that a session has changed."""

from __future__ import annotations

from collections.abc import Callable


class Subscribers:
    """Callbacks, each as often as it was added; owned by the session."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        """Tell whether there is anybody to tell."""
        return bool(self._callbacks)

    def add(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Add one; returns what ends it, which may be called again and again."""
        self._callbacks.append(callback)
        has_ended = False

        def end() -> None:
            nonlocal has_ended
            if not has_ended:
                has_ended = True
                self._callbacks.remove(callback)

        return end

    def tell(self) -> None:
        """Call each; they may come and go meanwhile."""
        for callback in tuple(self._callbacks):
            callback()
