"""Every mail of tests/mails through the command: each lies unread in a Maildir."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Done, Place

MAILS = Path(__file__).parent.parent / "mails"
CASES = [json.loads(line) for line in (MAILS / "cases.jsonl").read_text().splitlines()]
AGENT = '[agent]\nkind = "command"\ncommand = ["{home}/agent.sh"]\n'
KINDS = {"vip-mail": "vip", "pattern-mail": "pattern", "spoof-suspect": "spoof-suspect"}


def configure(place: Place, case: dict[str, Any]) -> None:
    for folder in ("cur", "new", "tmp"):
        (place.folder / "Maildir" / folder).mkdir(parents=True)
    (place.folder / "Maildir/new/1781078102.1.host").write_bytes((MAILS / case["file"]).read_bytes())
    options = {
        "vips": case["vip_senders"],
        "patterns": case["patterns"],
        "max_age": f"{case['max_age_hours']}h",
        "authserv_id": case["authserv_id"] or "",
    }
    # A JSON string or list of them is the same in TOML.
    lines = [f"{name} = {json.dumps(value)}" for name, value in options.items()]
    place.configure(
        "\n".join([AGENT, "[jobs.vip-mail.options]", *lines, 'sources = [{ maildir = "Maildir", name = "home" }]', ""])
    )


def words(case: dict[str, Any]) -> list[str]:
    return ["tick", "vip-mail", "--dry-run", "--json", "--now", case["now"]]


def check(case: dict[str, Any], done: Done) -> None:
    assert done.status == 0, done
    data = done.envelope["data"]
    found = [KINDS[one["kind"]] for one in data["findings"]] or ["none"]
    assert found in [[one] for one in case.get("acceptable", [case["expected"]])], case["why"]
    assert found == [case["expected"]], "the better one of what is acceptable"
    assert [(source["name"], source["ok"], source["items"]) for source in data["sources"]] == [("home", True, 1)]
    actions = [one["action"] for one in data["findings"]]
    assert actions == {"none": [], "spoof-suspect": ["brief"]}.get(case["expected"], ["wake"])
    for hidden in case.get("must_not_appear", []):
        assert hidden not in done.out + done.err
        assert json.dumps(hidden)[1:-1] not in done.out + done.err


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_every_case_is_told_as_expected(case: dict[str, Any], place: Place) -> None:
    configure(place, case)
    started = time.process_time()
    done = place.call(*words(case))
    assert time.process_time() - started < case.get("time_limit_s", 60)
    check(case, done)


@pytest.mark.parametrize("name", ["033-encoded-nul.eml", "061-idn-u-label.eml", "109-subject-gb2312.eml"])
def test_the_installed_command_tells_the_same(name: str, place: Place) -> None:
    (case,) = [case for case in CASES if case["file"] == name]
    configure(place, case)
    check(case, place.run(*words(case)))
    assert [path.name for path in (place.folder / "Maildir").rglob("*") if path.is_file()] == ["1781078102.1.host"]
