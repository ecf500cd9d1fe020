"""The words of a call that belong to every verb. Imports nothing: the probe's answer waits for it."""

from __future__ import annotations


def take_globals(words: list[str]) -> tuple[str | None, bool, list[str]]:
    """`--home DIR` and `--json` may stand anywhere before `--`; returns them and the other words."""
    home: str | None = None
    as_json = False
    rest: list[str] = []
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            rest += [word, *remaining]
            break
        if word == "--json":
            as_json = True
        elif word == "--home":
            home = remaining.pop(0) if remaining and not remaining[0].startswith("-") else ""
        elif word.startswith("--home="):
            home = word.removeprefix("--home=")
        else:
            rest.append(word)
    # An empty one is `--home "$UNSET"`: to take the user's own home for it would be a surprise.
    return (None, as_json, ["--home"]) if home == "" else (home, as_json, rest)
