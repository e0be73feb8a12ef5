"""Each case is explained: by the right causes, in words that name them.

`answers` has all that is said of each, as it would be read, and how the answers change
from second to second: a change of wording or of what is told shows there.
`PROBETUI_UPDATE_GOLDEN=1` writes them anew.
"""

from __future__ import annotations

import os

import pytest

from tests.cases.case_files import ANSWERS, case_names, read_case, replies
from tests.cases.courses import course

UPDATES = "PROBETUI_UPDATE_GOLDEN" in os.environ


@pytest.mark.parametrize("name", case_names())
def test_a_case_is_explained(name: str) -> None:
    case = read_case(name)
    told = [*replies(case)]
    for reply in told:
        asked = reply.question
        where = f"{asked.container} at {asked.at}s:\n{reply.text}\n{reply.until}"
        assert reply.chain == asked.chain, where
        assert [text for text in asked.says if text not in reply.lead] == [], where
        assert [text for text in asked.never if text in reply.text] == [], where
        assert [text for text in asked.until if text not in reply.until] == [], where
        assert asked.row in {None, reply.row}, f"{reply.row}, {where}"
    golden = ANSWERS / f"{name}.txt"
    text = "\n".join([*map(str, told), "== second by second", *course(case), ""])
    if UPDATES:
        golden.write_text(text)
    assert text == golden.read_text()
