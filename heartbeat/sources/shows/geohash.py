"""A place as a geohash: by turns a bit of longitude and of latitude, five bits a character."""

from __future__ import annotations

_ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz"
LENGTH = 9
"""Five metres."""


def geohash(place: tuple[float, float], length: int = LENGTH) -> str:
    """The cell that holds *place*, latitude and longitude in degrees."""
    latitude, longitude = place
    spans = [[-180.0, 180.0, longitude], [-90.0, 90.0, latitude]]
    bits = 0
    for step in range(length * 5):
        span = spans[step % 2]
        middle = (span[0] + span[1]) / 2
        upper = span[2] >= middle
        span[0 if upper else 1] = middle
        bits = bits * 2 + upper
    return "".join(_ALPHABET[bits >> 5 * place & 31] for place in reversed(range(length)))
