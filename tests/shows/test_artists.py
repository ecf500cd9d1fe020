"""Who is followed: from the options, a music table and plain lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heartbeat.sources.shows.artists import LONGEST_NAME, MOST_ARTISTS, MOST_BYTES, Followed, read_followed
from heartbeat.sources.shows.show import Artist

MBID = "0383dadf-2a4e-4d10-a46a-e9e041da8eb3"
OTHER = "79491354-3d83-40e3-9d8e-7592d58d790a"
LIFEOS = """# Music reference

| # | Artist | Track | Album | Type | Source |
|---|--------|-------|-------|------|--------|
| 1 | Big Thief | Not | Two Hands | song ⭐ | radio |
| 2 | Somebody Else | Loop | Loops | song | radio |
| 3 ⭐ | **Björk** | Jóga | Homogenic | song | a friend |
| 4 ⭐ | [Low](https://example.org/low) | Lies | Ones and Sixes | song | |
| 5 ⭐ | Big Thief | Shark Smile | Capacity | song | |
| 6 ⭐ | Various Artists | Intro | Mix | song | |
| 7 ⭐ | Moderat feat. Someone | Bad Kingdom | II | song | |

Some prose with a | in it ⭐.
"""


def followed(given: Any = (), lists: Any = ()) -> Followed:
    return read_followed(list(given), list(lists))


def names(found: Followed) -> list[str]:
    return [artist.name for artist in found.artists]


@pytest.fixture
def listed(tmp_path: Path) -> Any:
    """What a list with this content makes of whom is followed."""

    def write(content: str | bytes, name: str = "music.md") -> Followed:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return followed(lists=[str(path)])

    return write


def test_the_starred_rows_of_a_music_table(listed: Any) -> None:
    assert names(listed(LIFEOS)) == ["Big Thief", "Björk", "Low", "Moderat"]


def test_without_a_star_anywhere_all_rows_are_followed(listed: Any) -> None:
    found = listed(LIFEOS.replace("⭐", ""))
    assert names(found) == ["Big Thief", "Somebody Else", "Björk", "Low", "Moderat"]
    assert found.faults == ()


@pytest.mark.parametrize(
    ("table", "artists"),
    [
        ("| Artist | MBID |\n|:--|--:|\n| Queen | " + MBID + " |\n", [Artist("Queen", MBID)]),
        ("| Year | Band |\r\n| --- | --- |\r\n| 1999 | Air |\r\n", [Artist("Air")]),
        ("| 1 | Air | x | y | z | w |\n", [Artist("Air")]),
        ("| # | Artist | x |\n| 1 | Air | x |\n", [Artist("Air")]),
        ("| Artist |\n|---|\n| A \\| B |\n", [Artist("A | B")]),
        ("|Artist\n|---\n|Air\n", [Artist("Air")]),
        (
            "| Track | Artist |\n|--|--|\n| t | Air |\n\n| Artist | Track |\n|--|--|\n| Low | t |\n",
            [Artist("Air"), Artist("Low")],
        ),
        (
            "| Artist |\n|---|\n| *Air* |\n| [[music/Low\\|Low]] |\n| `!!!` |\n",
            [Artist("Air"), Artist("Low"), Artist("!!!")],
        ),
    ],
)
def test_tables_of_other_shapes(listed: Any, table: str, artists: list[Artist]) -> None:
    assert list(listed(table).artists) == artists


def test_a_plain_list_has_one_name_a_line(listed: Any) -> None:
    found = listed(
        "\ufeff# mine\n\nBig Thief\r\n- Low\n  * Air  \n#1 Dads\nBIG THIEF\nFlorence + The Machine", "list.txt"
    )
    assert names(found) == ["Big Thief", "Low", "Air", "Florence + The Machine"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "names no artist"),
        (b"# nobody yet\n\n", "names no artist"),
        (b"| # | Artist |\n|---|---|\n", "names no artist"),
        (b"Bj\xf6rk\n", "not UTF-8"),
        (b"a\n" * (MOST_BYTES // 2) + b"b", "over 1 MiB"),
    ],
)
def test_a_list_that_is_none_is_a_fault(listed: Any, content: bytes, fault: str) -> None:
    found = listed(content)
    assert found.artists == ()
    (told,) = found.faults
    assert told.startswith("cannot ")
    assert fault in told


def test_a_list_may_be_as_long_as_its_limit(listed: Any) -> None:
    assert names(listed(b"a\n" * (MOST_BYTES // 2))) == ["a"]


def test_a_lost_list_costs_only_itself(tmp_path: Path) -> None:
    found = followed(["Air"], [str(tmp_path / "gone.md"), str(tmp_path), 7])
    assert names(found) == ["Air"]
    assert [fault.partition(":")[0] for fault in found.faults] == [
        "cannot read 'gone.md'", f"cannot read '{tmp_path.name}'", "cannot use an entry of artists_from",
    ]  # fmt: skip
    assert str(tmp_path) not in " ".join(found.faults)


def test_names_are_followed_once_and_the_one_with_an_id_counts() -> None:
    found = followed(["Queen", {"name": "QUEEN", "mbid": MBID.upper()}, "The Queen", "Air"])
    assert found.artists == (Artist("QUEEN", MBID), Artist("Air"))
    assert list(found.idents().values()) == ["queen", "air"]


def test_two_of_one_name_are_two() -> None:
    found = followed([{"name": "Queen", "mbid": MBID}, {"name": "Queen", "mbid": OTHER}])
    assert list(found.idents().values()) == [f"queen {MBID}", f"queen {OTHER}"]


@pytest.mark.parametrize(
    "wrong",
    ["", "   ", "\u202e", "a" * (LONGEST_NAME + 1), 7, None, [], {}, {"name": 7}, {"name": "A", "mbid": "x"},
     {"name": "A", "mbid": 7}, {"name": "A", "id": "x"}],
)  # fmt: skip
def test_an_entry_that_is_none_costs_only_itself(wrong: Any) -> None:
    found = followed([wrong, "Air", "b" * LONGEST_NAME])
    assert names(found) == ["Air", "b" * LONGEST_NAME]
    assert [fault.partition(":")[0] for fault in found.faults] == ["cannot use artist 1"]


@pytest.mark.parametrize(("count", "faults"), [(MOST_ARTISTS, 0), (MOST_ARTISTS + 1, 1)])
def test_the_number_of_artists_is_bounded(count: int, faults: int) -> None:
    found = followed([f"artist {n}" for n in range(count)])
    assert (len(found.artists), len(found.faults)) == (MOST_ARTISTS, faults)


@pytest.mark.parametrize("wrong", ["Air", {"name": "Air"}, 7])
def test_options_of_a_wrong_shape_are_faults(wrong: Any) -> None:
    assert len(read_followed(wrong, wrong).faults) == 2
