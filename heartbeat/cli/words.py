"""The words of a call that belong to every verb. Imports nothing: the probe's answer waits for it."""

from __future__ import annotations


def take_globals(words: list[str]) -> tuple[str | None, bool, list[str]]:
    """`--home DIR` and `--json` may stand anywhere before `--`; returns them and the other words."""
    home: str | None = None
    as_json = False
    rest: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word == "--":
            return home, as_json, [*rest, word, *remaining]
        if word == "--json":
            as_json = True
        elif word == "--home":
            home = next(remaining, "")
            if not home:
                return None, as_json, ["--home"]
        elif word.startswith("--home="):
            home = word.removeprefix("--home=")
        else:
            rest.append(word)
    return home, as_json, rest
