"""Log lines: an event word and bound fields, to stderr, one line each whatever the values hold."""

from __future__ import annotations

import json
import logging
import sys

_LOGGER = logging.getLogger("heartbeat")


def start_logging(level: str = "info") -> None:
    """Send heartbeat's own lines to stderr; other libraries' only from warning up."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    _LOGGER.setLevel(level.upper())


def event(word: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Log one state change, such as `event("run_ended", job="vip-mail", verdict="quiet")`."""
    # json.dumps keeps a stranger's newline or escape sequence from forging a second log line.
    bound = (f"{name}={_value(value)}" for name, value in fields.items() if value is not None)
    _LOGGER.log(level, "%s", " ".join((word, *bound)))


def warn(word: str, **fields: object) -> None:
    """Log a state change that somebody should look at."""
    event(word, level=logging.WARNING, **fields)


def _value(value: object) -> str:
    text = str(value)
    plain = text.isascii() and text.isprintable() and " " not in text and '"' not in text and text
    return text if plain else json.dumps(text)
