"""From the text of a phrase to its tokens, and what a token says as a time of the day."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from heartbeat.schedule.phrases.words import EXAMPLES, KNOWN, NUMBERS, REFUSED, TIMES, ZONE, Unclear

HOUR = 60
DAY = 24 * HOUR
"""In minutes, as all times of the day are."""
T = TypeVar("T")

_TOKEN = re.compile(
    r"(?P<precise>[0-9]+:[0-9]+:[0-9:]+)"
    r"|(?P<decimal>[0-9]+[.][0-9]+)"
    r"|(?P<time>[0-9]+(?::[0-9]+)? ?[ap]m\b|[0-9]+:[0-9]*)"
    r"|(?P<minute>:[0-9]+)"
    r"|(?P<duration>(?:[0-9]+[wdhms])+(?![0-9a-z]))"
    r"|(?P<ordinal>[0-9]+(?:st|nd|rd|th)\b)"
    r"|(?P<number>[0-9]+)"
    r"|(?P<zone>[a-z]+/[a-z_/]+)"
    r"|(?P<word>[a-z]+)"
    r"|(?P<mark>[,-])"
)
_LONGEST_SHOWN = 20
_CLOSE = 0.8
"""So alike is a slip of the pen; what is less alike is another word, and a guess at it would mislead."""
_TIME_WITH_POINT = re.compile(r"([01]?[0-9]|2[0-3])[.]([0-5][0-9])")
_TIME = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))? ?([ap]m)?")


class Token(NamedTuple):
    kind: str
    """`word`, `number`, `ordinal` (1st), `duration` (2h30m), `time` (9:30, 9am), `minute` (:15), `mark` or `end`."""
    text: str


@dataclass(frozen=True, slots=True)
class Time:
    """A time of the day, in minutes since midnight, and how it was written."""

    minute: int
    half: bool = False
    """With am or pm."""
    either: bool = False
    """It could be of either half of the day if the clock had only twelve hours."""
    midnight: bool = False
    """By that word or as 12am, which may be the start or the end of a day."""


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text in small letters with single spaces; raises Unclear for what no phrase may hold."""
    tokens: list[Token] = []
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            if text[place] != " ":
                raise Unclear(f"{text[place]!r} has no meaning here", EXAMPLES)
            place += 1
            continue
        tokens.append(_known(Token(str(found.lastgroup), found[0]), tokens[-1:]))
        place = found.end()
    return tokens


def _known(token: Token, before: Sequence[Token]) -> Token:
    kind, text = token.kind, token.text
    shown = text[:_LONGEST_SHOWN]
    if kind == "precise":
        remedy = "write a cron expression of six fields, seconds first, such as '15 30 9 * * *' for 09:30:15 each day"
        raise Unclear(f"the time {shown!r} has seconds", remedy)
    if kind == "decimal":
        time = _TIME_WITH_POINT.fullmatch(text)
        shown_time = f"{time[1]}:{time[2]}" if time else "9:30"
        remedy = f"write {shown_time} for a time, 90m for a duration, '9, 17' for two times"
        raise Unclear(f"{shown!r} is no whole number", remedy)
    if kind == "zone":
        raise Unclear(*ZONE)
    if kind == "word" and text in NUMBERS:
        return Token("number", NUMBERS[text])
    if kind == "word" and text in REFUSED:
        why, remedy = REFUSED[text]
        raise Unclear(why.format(text), remedy)
    if kind == "word" and text not in KNOWN:
        close = difflib.get_close_matches(text, sorted(KNOWN), n=1, cutoff=_CLOSE)
        remedy = f"did you mean {close[0]!r}?" if close else EXAMPLES
        if not close and before and before[0].text == "in":
            remedy = "write a month after 'in', such as 'daily in june at 9', and for a place set the job's zone"
        raise Unclear(f"the word {shown!r} is not known", remedy)
    return token


def time_of(token: Token) -> Time:
    """The time that a token says; raises Unclear when it is none."""
    if token.text in TIMES:
        return Time(TIMES[token.text], midnight=token.text == "midnight")
    if token.kind == "end":
        raise Unclear("it ends where a time must follow", "write hours and minutes, such as 9, 09:30 or 9:30pm")
    found, shown = _TIME.fullmatch(token.text), token.text[:_LONGEST_SHOWN]
    if found is None:
        raise Unclear(f"{shown!r} is no time", "write hours and minutes, such as 9, 09:30 or 9:30pm")
    hour, minute, half = int(found[1]), int(found[2] or 0), found[3]
    if minute > 59:  # noqa: PLR2004 - the last minute of an hour
        raise Unclear(f"{shown!r} is no time: its minutes go up to 59", "write hours and minutes, such as 9:30")
    if half:
        if not 1 <= hour <= 12:  # noqa: PLR2004 - the hours of half a day
            raise Unclear(f"{shown!r} is no time: with am or pm hours are 1 to 12", "write 24 hours without am or pm")
        of_day = hour % 12 * HOUR + minute + (DAY // 2 if half == "pm" else 0)
        return Time(of_day, half=True, midnight=of_day == 0)
    if hour > 23:  # noqa: PLR2004 - the last hour of a day
        raise Unclear(f"{shown!r} is no time: hours are 0 to 23", "write 00:00 for midnight, 18 for 6pm")
    return Time(hour * HOUR + minute, either=1 <= hour <= 12 and found[1][0] != "0")  # noqa: PLR2004 - see above


def check_halves(times: tuple[Time, ...]) -> None:
    """Refuse `between 1 and 6pm`: the 1 may be of the morning or of the afternoon."""
    if any(time.half for time in times) and any(time.either for time in times):
        raise Unclear("only some of its times have am or pm", "write am or pm with each of them, or with none")


_END = Token("end", "")


class Cursor:
    """A place among the tokens."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens, self._place = tokens, 0

    @property
    def at_end(self) -> bool:
        return self._place >= len(self._tokens)

    def peek(self, ahead: int = 0) -> Token:
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else _END

    def take(self) -> Token:
        token = self.peek()
        self._place += 1
        return token

    def skip(self, *texts: str) -> bool:
        """Whether the next token is one of these; then it is behind us."""
        found = self.peek().text in texts
        self._place += found
        return found

    def many(self, starts: Callable[[int], bool], read: Callable[[], T]) -> list[T]:
        """What *read* gives, once and again after each comma or `and` with a beginning of another so far ahead."""
        found = [read()]
        while True:
            between = int(self.peek().text == ",")
            between += self.peek(between).text == "and"
            if not between or not starts(between):
                return found
            self._place += between
            found.append(read())
