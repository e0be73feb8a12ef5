from __future__ import annotations

from probetui.kubelet.runtime.lru_cache import LRUCache


def test_beyond_the_limit_the_one_unused_for_longest_goes() -> None:
    values: LRUCache[str, int] = LRUCache(2)
    values.set("a", 1)
    values.set("b", 2)

    values.get("a")
    values.set("c", 3)

    assert [values.get(key) for key in "abc"] == [1, None, 3]


def test_setting_again_counts_as_using() -> None:
    values: LRUCache[str, int] = LRUCache(2)
    values.set("a", 1)
    values.set("b", 2)

    values.set("a", 4)
    values.set("c", 3)

    assert [values.get(key) for key in "abc"] == [4, None, 3]


def test_what_is_removed_is_gone_and_may_be_removed_again() -> None:
    values: LRUCache[str, int] = LRUCache(2)
    values.set("a", 1)

    values.remove("a")
    values.remove("a")

    assert values.get("a") is None
