"""What a person types to see fewer lines: a regular expression, `!` turns it round."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that is in force; an empty one keeps everything.

    Upper and lower case are the same to it. `error` says what is wrong with the
    text; nothing is left out then.
    """

    text: str = ""
    error: str = ""
    pattern: re.Pattern[str] | None = None
    is_inverse: bool = False

    @classmethod
    def parse(cls, text: str) -> Filter:
        """Read what was typed; a text that is no regular expression is an error."""
        wanted = text.removeprefix("!")
        if not wanted:
            return cls(text)
        try:
            pattern = re.compile(wanted, re.IGNORECASE)
        except re.error as error:
            return cls(text, f"not a regular expression: {error}")
        return cls(text, "", pattern, is_inverse=text.startswith("!"))

    @property
    def is_active(self) -> bool:
        """Whether it can leave anything out."""
        return self.pattern is not None

    def keeps(self, text: str) -> bool:
        """Tell whether something with this text stays to be seen."""
        if self.pattern is None:
            return True
        return (self.pattern.search(text) is None) is self.is_inverse
