"""Each case is explained: by the right causes, in words that name them."""

from __future__ import annotations

import pytest

from tests.cases.case_files import case_names, read_case, replies


@pytest.mark.parametrize("name", case_names())
def test_a_case_is_explained(name: str) -> None:
    for reply in replies(read_case(name)):
        asked = reply.question
        where = f"{asked.container} at {asked.at}s:\n{reply.text}\n{reply.until}"
        assert reply.chain == asked.chain, where
        assert [text for text in asked.says if text not in reply.lead] == [], where
        assert [text for text in asked.never if text in reply.text] == [], where
        assert [text for text in asked.until if text not in reply.until] == [], where
        assert asked.row in {None, reply.row}, f"{reply.row}, {where}"
