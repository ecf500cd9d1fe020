from __future__ import annotations
from typing import TYPE_CHECKING
from tests.conftest import Place, CONFIG


def test_one(place: Place) -> None:
    place.finds({})
    d = place.data("tick", "check")
    assert d["verdict"] == "wake"
    assert place.agent_calls


def test_two(place: Place) -> None:
    for _ in range(10):
        place.data("tick", "check")
