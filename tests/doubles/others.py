"""Stand-ins for Bandsintown, ListenBrainz and Last.fm, from their documented parameters and fields."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from tests.doubles.server import Answer, Asked, Double


def concert(number: int, *lineup: str, **more: Any) -> dict[str, Any]:
    """An event of Bandsintown's."""
    return {
        "id": f"{number}",
        "artist_id": "438314",
        "url": f"https://www.bandsintown.com/e/{number}?app_id=the-app-id&came_from=267",
        "on_sale_datetime": "",
        "datetime": "2026-09-18T20:00:00",
        "title": "",
        "description": "",
        "venue": {
            "name": "Lido",
            "city": "Berlin",
            "region": "",
            "country": "Germany",
            "latitude": "52.499",
            "longitude": "13.445",
        },
        "offers": [
            {"type": "Tickets", "url": "https://www.bandsintown.com/t/1?app_id=the-app-id", "status": "available"}
        ],
        "lineup": list(lineup),
        **more,
    }


class Bandsintown(Double):
    """`events` are those of each artist, by name."""

    def __init__(self, app_id: str) -> None:
        super().__init__()
        self.app_id = app_id
        self.events: dict[str, list[Any]] = {}

    def answer(self, asked: Asked) -> Answer:
        if asked.query.get("app_id") != self.app_id:
            return Answer({"Message": "User is not authorized to access this resource"}, 403)
        _, what, name, events = asked.path.split("/")
        assert (what, events) == ("artists", "events")
        wanted = unquote(unquote(name))
        if wanted not in self.events:
            return Answer({"errorMessage": "[NotFound] The artist was not found"}, 404)
        return Answer(self.events[wanted])


class ListenBrainz(Double):
    """`alike` has rows of name, id and score, by the id of whom they resemble."""

    def __init__(self) -> None:
        super().__init__()
        self.alike: dict[str, list[tuple[str, str, int]]] = {}

    def answer(self, asked: Asked) -> Answer:
        assert asked.path == "/similar-artists/json"
        if not asked.query["algorithm"].startswith("session_based_"):
            return Answer({"error": "value is not a valid enumeration member"}, 400)
        reference = asked.query["artist_mbids"]
        rows = [
            {"artist_mbid": mbid, "name": name, "comment": "", "type": "Group", "gender": None, "score": score}
            for name, mbid, score in self.alike.get(reference, [])
        ]
        return Answer([{**row, "reference_mbid": reference} for row in rows])


class LastFm(Double):
    """`alike` has rows of name, id and match, by the name or id of whom they resemble; `error` is for all questions."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key
        self.alike: dict[str, list[tuple[str, str, str]]] = {}
        self.error: int | None = None

    def answer(self, asked: Asked) -> Answer:
        query = asked.query
        assert query["method"] == "artist.getsimilar"
        assert query["format"] == "json"
        error = self.error or (10 if query.get("api_key") != self.key else None)
        wanted = query.get("mbid") or query.get("artist", "")
        if not error and wanted not in self.alike:
            error = 6
        if error:
            return Answer({"error": error, "message": "Some words", "links": []})
        rows = [
            {"name": name, "mbid": mbid, "match": match, "url": "https://www.last.fm/music/x"}
            for name, mbid, match in self.alike[wanted]
        ]
        return Answer({"similarartists": {"artist": rows, "@attr": {"artist": wanted}}})
