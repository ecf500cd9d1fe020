#!/usr/bin/env python3
"""Stands in for Google's `gws`: `calendar events list` as gws 0.22 does it, from the calendars in $GWS_CALENDARS.

That file maps the id of a calendar to its `events`, or to a `status` with an `error`, to `raw` output, or to
`hang: true`. Each call is noted beside it.
"""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import Any


def main() -> int:
    print("Using keyring backend: keyring", file=sys.stderr)
    place = os.environ["GWS_CALENDARS"]
    with open(f"{place}.calls", "a", encoding="utf-8") as log:
        log.write(json.dumps(sys.argv[1:]) + "\n")
    with open(place, encoding="utf-8") as file:
        calendars = json.load(file)
    words, flags = sys.argv[1:4], sys.argv[4:]
    if words != ["calendar", "events", "list"] or flags[0] != "--params" or "--page-all" not in flags:
        return fail(3, {"code": 400, "message": "bad arguments", "reason": "validationError"})
    params = json.loads(flags[1])
    limit = int(flags[flags.index("--page-limit") + 1]) if "--page-limit" in flags else 10
    calendar = calendars.get(params["calendarId"])
    if calendar is None:
        return fail(1, {"code": 404, "message": "Not Found", "reason": "notFound"})
    if calendar.get("hang"):
        child = subprocess.Popen(["sleep", "600"])
        with open(f"{place}.pid", "w", encoding="utf-8") as file:
            file.write(str(child.pid))
        time.sleep(600)
    if "raw" in calendar:
        sys.stdout.write(calendar["raw"])
        return int(calendar.get("status", 0))
    if "error" in calendar:
        return fail(calendar["status"], calendar["error"])
    return answer(calendar["events"], params, limit)


def answer(events: list[dict[str, Any]], params: dict[str, Any], limit: int) -> int:
    """As the API: timeMin is compared with the end, timeMax with the start, both exclusive."""
    low, high = instant(params["timeMin"]), instant(params["timeMax"])
    found = [one for one in events if not is_dated(one) or (moment(one["end"]) > low and moment(one["start"]) < high)]
    size = params["maxResults"]
    pages = [found[at : at + size] for at in range(0, len(found), size)] or [[]]
    for number, items in enumerate(pages[:limit], 1):
        page = {"kind": "calendar#events", "items": items}
        if number < len(pages):
            page["nextPageToken"] = f"token{number}"
        print(json.dumps(page, separators=(",", ":")))
    return 0


def is_dated(one: dict[str, Any]) -> bool:
    return all(set(one.get(name) or {}) & {"date", "dateTime"} for name in ("start", "end"))


def moment(value: dict[str, Any]) -> datetime:
    return instant(value.get("dateTime") or f"{value['date']}T00:00:00Z")


def instant(text: str) -> datetime:
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def fail(status: int, error: dict[str, Any]) -> int:
    print(json.dumps({"error": error}))
    print("error[api]: " + error["message"], file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
