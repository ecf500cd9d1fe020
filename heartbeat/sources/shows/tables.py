"""Artists in a Markdown table, such as the music list that LifeOS keeps (`| # | Artist | Track | … |`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_STARS = ("\N{WHITE MEDIUM STAR}", "\N{BLACK STAR}")
_HEADS = frozenset({"artist", "artists", "band", "musician", "name"})
_ID_HEADS = frozenset({"mbid", "musicbrainz", "musicbrainz id"})
_SEPARATOR = re.compile(r":?-+:?")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|\[\[(?:[^\]|]*\|)?([^\]]*)\]\]")
_CELL_END = re.compile(r"(?<!\\)\|")
_SECOND = 1
"""Where the artist stands in a table whose head does not say so."""


def is_table(lines: Sequence[str]) -> bool:
    return any(line.lstrip().startswith("|") for line in lines)


def rows_of(lines: Sequence[str]) -> list[tuple[str, str]]:
    """The artist of each row, with the MusicBrainz id if a column holds it.

    Where any row bears a star, the stars mark the favourites, and only they are followed.
    """
    rows = list(_rows(lines))
    starred = [row for row in rows if row[0]]
    return [(artist, mbid) for _, artist, mbid in starred or rows]


def _rows(lines: Sequence[str]) -> Iterator[tuple[bool, str, str]]:
    """Whether it is starred, the artist, the id."""
    column, id_column = _SECOND, -1
    for number, line in enumerate(lines):
        cells = _cells(line)
        if not cells:
            column, id_column = _SECOND, -1  # the table is over
        elif _is_separator(cells):
            continue
        elif number + 1 < len(lines) and _is_separator(_cells(lines[number + 1])):
            heads = [_bare(cell).casefold() for cell in cells]
            column = next((place for place, head in enumerate(heads) if head in _HEADS), _SECOND)
            id_column = next((place for place, head in enumerate(heads) if head in _ID_HEADS), -1)
        elif column < len(cells) and (artist := _bare(cells[column])) and artist.casefold() not in _HEADS:
            yield any(star in line for star in _STARS), artist, cells[id_column] if 0 <= id_column < len(cells) else ""


def _cells(line: str) -> list[str]:
    stripped = line.strip()
    if not stripped.startswith("|"):
        return []
    inner = stripped[1:-1] if stripped.endswith("|") and len(stripped) > 1 else stripped[1:]
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(inner)]


def _is_separator(cells: Sequence[str]) -> bool:
    return bool(cells) and all(_SEPARATOR.fullmatch(cell) for cell in cells)


def _bare(cell: str) -> str:
    """The text of a cell without links, emphasis and stars."""
    text = _LINK.sub(lambda match: match[1] or match[2] or "", cell)
    for mark in (*_STARS, "**", "__", "`", "\N{VARIATION SELECTOR-16}"):
        text = text.replace(mark, "")
    text = text.strip()
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "*_" else text  # noqa: PLR2004
