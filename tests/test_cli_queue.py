"""`heartbeat queue`: items that must be told at their time, from the command line to the agent."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from heartbeat.cli import queue as queue_verbs
from heartbeat.stores.sqlite import open_ledger
from tests.conftest import CONFIG, Place, at


def iso(minutes: float) -> str:
    return at(minutes).isoformat()


class Clock:
    """What the verbs take as now."""

    now: datetime = at(-60)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(queue_verbs, "utc_now", lambda: clock.now)
    return clock


@pytest.fixture
def queued(place: Place) -> Place:
    place.configure(CONFIG + "[jobs.due-queue]\n")
    return place


def add(place: Place, message: str = "Call the garage", due: str = iso(0), **more: str) -> Any:
    options = [word for name, value in more.items() for word in (f"--{name}", value)]
    return place.data("queue", "add", "--message", message, "--due", due, *options)


def states(place: Place) -> list[str]:
    return [item["state"] for item in place.data("queue", "list")["items"]]


def test_an_item_is_shown_as_it_was_given(place: Place) -> None:
    item = add(place, key="garage", source="phone", urgency="high", until=iso(60))
    assert item.pop("id").startswith("item_")
    assert item == {
        "key": "garage",
        "message": "Call the garage",
        "due_at": "2026-06-10T08:00:00+00:00",
        "source": "phone",
        "urgency": "high",
        "until": "2026-06-10T09:00:00+00:00",
        "state": "waiting",
        "schedule": None,
        "snoozed_until": None,
        "next_at": "2026-06-10T08:00:00+00:00",
        "created": True,
    }


def test_without_more_an_item_has_its_id_as_key(place: Place) -> None:
    item = add(place)
    assert (item["key"], item["source"], item["urgency"], item["until"]) == (item["id"], "", "normal", None)


def test_the_list_is_in_order_of_the_due_instant_and_the_owners_zone(place: Place) -> None:
    add(place, "second", iso(1))
    add(place, "first", "2026-06-10T10:00:00+02:00")
    assert [item["message"] for item in place.data("queue", "list")["items"]] == ["first", "second"]
    lines = place.call("queue", "list").out.splitlines()
    assert lines[0].split() == ["ID", "STATE", "DUE", "KEY", "MESSAGE"]
    assert "2026-06-10 10:00:00" in lines[1]


@pytest.mark.parametrize(
    ("option", "limit"), [("message", 4000), ("key", 500), ("source", 200)], ids=["message", "key", "source"]
)
def test_a_text_at_its_limit_is_taken_and_one_past_it_refused(queued: Place, option: str, limit: int) -> None:
    letter = "\U0001f600"
    texts = {"message": "m", option: letter * limit}
    add(queued, **texts)
    (finding,) = queued.data("tick", "due-queue", "--now", iso(0))["findings"]
    assert finding["action"] == "wake"
    texts[option] += letter
    words = [word for name, value in texts.items() for word in (f"--{name}", value)]
    message = queued.error("queue", "add", *words, "--due", iso(0), status=4)
    assert f"its {option} has {limit + 1} characters; at most {limit} are kept" in message


@pytest.mark.parametrize("message", ["", " ", "\n\t"])
def test_an_empty_message_is_refused(place: Place, message: str) -> None:
    assert "its message is empty" in place.error("queue", "add", "--message", message, "--due", iso(0), status=4)
    assert not place.state.exists()


@pytest.mark.parametrize("option", ["--due", "--until"])
@pytest.mark.parametrize("text", ["tomorrow", "2026-06-10T08:00:00", "2026-06-10", "2026-02-30T08:00:00Z", "", "1e9"])
def test_an_instant_that_is_none_is_refused_and_quoted(place: Place, option: str, text: str) -> None:
    given = {"--due": iso(0), "--until": iso(1), option: text}
    words = [word for pair in given.items() for word in pair]
    message = place.error("queue", "add", "--message", "x", *words, status=4)
    assert message.startswith(f"{option}: cannot ")
    assert repr(text) in message
    assert "2026-06-10T08:00:00+02:00" in message


def test_until_may_be_the_due_instant_and_not_before_it(place: Place) -> None:
    add(place, until=iso(0))
    message = place.error("queue", "add", "--message", "x", "--due", iso(0), "--until", iso(-1), status=4)
    assert "lies before --due" in message


def test_the_same_key_twice_is_one_item(place: Place) -> None:
    first, again = add(place, key="k"), add(place, key="k")
    assert (again["id"], again["created"]) == (first["id"], False)
    changed = add(place, "Another text", key="k")
    assert (changed["id"], changed["message"], changed["created"]) == (first["id"], "Another text", False)
    assert len(place.data("queue", "list")["items"]) == 1


def test_an_item_is_cancelled_by_its_id_or_its_key(queued: Place) -> None:
    by_id, _ = add(queued), add(queued, key="k")
    assert queued.data("queue", "cancel", by_id["id"])["state"] == "cancelled"
    assert queued.call("queue", "cancel", "k").out.endswith(" cancelled\n")
    assert states(queued) == ["cancelled", "cancelled"]
    assert queued.data("queue", "list", "--waiting")["items"] == []
    assert "cancelled already" in queued.error("queue", "cancel", "k", status=5)
    assert queued.data("tick", "due-queue", "--now", iso(0))["findings"] == []


def test_adding_a_cancelled_item_again_says_how_it_stands(place: Place) -> None:
    add(place, key="k")
    place.data("queue", "cancel", "k")
    again = place.call("queue", "add", "--message", "Call the garage", "--due", iso(0), "--key", "k").out
    (state,) = states(place)
    assert f"was there already and is {state}" in again


def test_a_queue_item_goes_from_the_command_line_to_the_agent_once(queued: Place) -> None:
    add(queued, key="garage")
    told = queued.data("tick", "due-queue", "--now", iso(0))
    assert [(finding["title"], finding["action"]) for finding in told["findings"]] == [("Call the garage", "wake")]
    assert '"title": "Call the garage"' in (queued.folder / "prompt.txt").read_text()
    assert states(queued) == ["told"]
    again = queued.data("tick", "due-queue", "--now", iso(1))
    assert [finding["action"] for finding in again["findings"]] == ["duplicate"]
    assert len(queued.agent_calls) == 1
    assert "told already" in queued.error("queue", "cancel", "garage", status=5)


def test_an_item_is_not_told_before_it_is_due_whatever_the_clock_says(queued: Place) -> None:
    add(queued, due=iso(60))
    assert queued.data("tick", "due-queue", "--now", iso(59))["findings"] == []
    assert queued.data("tick", "due-queue", "--now", iso(60), "--dry-run")["findings"] != []
    assert states(queued) == ["waiting"]


def test_an_item_of_the_future_is_due_when_now_is_put_there(queued: Place) -> None:
    add(queued, due="2100-01-01T08:00:00Z")
    assert queued.data("tick", "due-queue")["findings"] == []
    (finding,) = queued.data("tick", "due-queue", "--now", "2100-01-01T08:00:00Z")["findings"]
    assert finding["action"] == "wake"


@pytest.mark.parametrize("change", [{"message": "Call the other garage"}, {"due": iso(1)}])
def test_a_changed_item_is_told_as_an_update(queued: Place, change: dict[str, str]) -> None:
    add(queued, key="garage")
    queued.data("tick", "due-queue", "--now", iso(0))
    add(queued, key="garage", **change)
    assert states(queued) == ["waiting"]
    (finding,) = queued.data("tick", "due-queue", "--now", iso(2))["findings"]
    assert (finding["change"], finding["action"]) == ("update", "wake")
    assert '"change": "update"' in (queued.folder / "prompt.txt").read_text()
    assert states(queued) == ["told"]


def test_cancelling_takes_back_what_waits_for_an_agent_that_failed(queued: Place) -> None:
    add(queued, key="garage")
    queued.file("agent.status", "1")
    queued.data("tick", "due-queue", "--now", iso(0))
    queued.data("queue", "cancel", "garage")
    assert [wake["state"] for wake in queued.data("wakes", "list")["wakes"]] == ["cancelled"]
    assert queued.data("brief")["items"] == []


def test_an_item_whose_until_has_passed_is_in_the_brief_as_missed(queued: Place) -> None:
    add(queued, until=iso(5))
    queued.data("tick", "due-queue", "--now", iso(6))
    (item,) = queued.data("brief")["items"]
    assert "missed" in item["why_not_told"]


@pytest.mark.parametrize("due", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-03-29T02:30:00+01:00"])
def test_the_ends_of_the_calendar_are_due_instants_like_any_other(queued: Place, due: str) -> None:
    add(queued, due=due)
    for words in (("queue", "list"), ("queue", "add", "--message", "x", "--due", due)):
        done = queued.call(*words)
        assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize("words", [("--every", "1m"), ("--schedule", "every 3 days")])
def test_nothing_can_come_again_from_the_first_instant_of_the_calendar_on(
    queued: Place, words: tuple[str, str]
) -> None:
    first, later = "0001-01-01T00:00:00Z", "0001-01-01T00:00:01Z"
    said = queued.error("queue", "add", "--message", "x", *words, "--due", first, status=4)
    assert said == f"--due: cannot count from {first!r}; give a later instant"
    queued.data("queue", "add", "--message", "x", *words, "--due", later)
    assert [finding["action"] for finding in queued.data("tick", "due-queue")["findings"]] == ["wake"]


def test_a_message_that_is_not_utf_8_is_kept_as_far_as_it_goes(queued: Place) -> None:
    done = queued.call("queue", "add", "--message", "caf\udce9", "--due", iso(0))
    assert done.status == 0
    assert queued.data("tick", "due-queue", "--now", iso(0))["verdict"] == "wake"


def test_adding_from_many_processes_at_once_loses_nothing(queued: Place) -> None:
    adding = [queued.start("queue", "add", "--message", f"item {number}", "--due", iso(0)) for number in range(4)]
    assert [process.communicate(timeout=60)[1] for process in adding] == [b""] * 4
    assert {process.returncode for process in adding} == {0}
    assert {item["message"] for item in queued.data("queue", "list")["items"]} == {f"item {n}" for n in range(4)}


# Instants


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-01-10T08:00", "your zone is Europe/Berlin: write 2026-01-10T08:00:00+01:00"),
        ("2026-10-25T02:30", "write 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00"),
        ("2026-03-29T02:30", "there the clock skips that time"),
        ("2026-06-10", "it has no time of the day; write date, time and offset"),
        ("20260610", "it has no time of the day"),
        ("0001-01-01T00:00", "your zone is Europe/Berlin"),
    ],
)
def test_a_time_without_offset_is_refused_with_what_it_would_be_for_the_owner(
    place: Place, text: str, said: str
) -> None:
    assert said in place.error("queue", "add", "--message", "x", "--due", text, status=4)


def test_without_an_instant_and_a_schedule_it_is_wrong_usage(place: Place) -> None:
    assert "give --due 20m (from now), --due 09:00" in place.error("queue", "add", "--message", "x", status=2)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("20m", "2026-06-10T07:20:00+00:00"),
        ("0s", "2026-06-10T07:00:00+00:00"),
        ("09:30", "2026-06-10T07:30:00+00:00"),
        ("9:00", "2026-06-11T07:00:00+00:00"),
        ("2026-06-10T12:00:00+02:00", "2026-06-10T10:00:00+00:00"),
    ],
)
def test_when_may_be_so_long_from_now_or_a_time_of_day_where_the_owner_is(
    place: Place, text: str, instant: str
) -> None:
    assert add(place, due=text, key="k")["due_at"] == instant
    assert add(place, due="2026-06-10T07:00:00Z", until=text, key="u")["until"] == instant
    if text != "0s":
        add(place, due="2026-06-10T06:00:00Z", key="s")
        assert place.data("queue", "snooze", "s", "--until", text)["next_at"] == instant


def test_a_time_of_day_is_that_of_the_zone_the_owner_is_in(place: Place) -> None:
    place.data("zone", "Asia/Tokyo")
    assert add(place, due="17:00")["due_at"] == "2026-06-10T08:00:00+00:00"


def test_a_snoozed_item_comes_again_and_is_no_change(queued: Place, clock: Clock) -> None:
    diary = '[channels.diary]\nkind = "file"\npath = "diary.md"\n'
    queued.configure(CONFIG + "[jobs.due-queue]\nnotify = true\n" + diary)
    add(queued, "Take pills", key="pills")
    queued.data("tick", "due-queue", "--now", iso(0))
    clock.now = at(1)
    queued.data("queue", "snooze", "pills", "--for", "1m")
    queued.data("tick", "due-queue", "--now", iso(2))
    titles = [message["title"] for message in queued.data("messages", "list")["messages"]]
    assert titles == ["again: Take pills", "Take pills"]


@pytest.mark.parametrize("key", ["a\nb", "\x1b[1m", "\x7f"])
def test_a_key_holds_no_control_characters(place: Place, key: str) -> None:
    assert "its key holds the character" in place.error(
        "queue", "add", "--message", "x", "--due", iso(0), "--key", key, status=4
    )


# Items that come again


def recur(place: Place, **more: str) -> Any:
    options = [word for name, value in {"key": "pills", **more}.items() for word in (f"--{name}", value)]
    return place.data("queue", "add", "--message", "Take the pills", *options)


def told(place: Place, minute: float) -> list[tuple[str, str]]:
    findings = place.data("tick", "due-queue", "--now", iso(minute))["findings"]
    return [(finding["change"], finding["action"]) for finding in findings]


DAY = 24 * 60


def test_an_item_that_comes_again_is_told_once_each_time_and_each_time_as_new(queued: Place) -> None:
    item = recur(queued, schedule="every day at 10:00")
    assert (item["schedule"], item["next_at"]) == ("every day at 10:00", iso(0))
    assert told(queued, -1) == []
    assert told(queued, 0) == [("new", "wake")]
    assert told(queued, DAY - 1) == [("same", "duplicate")]
    assert told(queued, DAY) == [("new", "wake")]
    assert len(queued.agent_calls) == 2


def test_of_the_times_that_passed_unseen_the_latest_is_told(queued: Place) -> None:
    recur(queued, schedule="every day at 10:00")
    assert told(queued, 30 * DAY + 5) == [("new", "wake")]
    assert told(queued, 30 * DAY + 6) == [("same", "duplicate")]


def test_an_interval_counts_from_its_first_time_and_else_from_now(queued: Place, clock: Clock) -> None:
    assert recur(queued, every="3d", due=iso(5))["next_at"] == iso(5)
    assert recur(queued, every="90m", key="other")["next_at"] == (clock.now + timedelta(minutes=90)).isoformat()


def test_the_list_shows_when_it_comes_next(queued: Place, clock: Clock) -> None:
    clock.now = at(-61)
    recur(queued, schedule="weekdays at 9")
    clock.now = at(0)  # a Wednesday, 10:00 in Berlin
    (item,) = queued.data("queue", "list")["items"]
    assert (item["state"], item["next_at"]) == ("due", "2026-06-10T07:00:00+00:00")
    told(queued, 0)
    (item,) = queued.data("queue", "list", "--waiting")["items"]
    assert (item["state"], item["next_at"]) == ("told", "2026-06-11T07:00:00+00:00")
    assert "2026-06-11 09:00:00 (weekdays at 9)" in queued.call("queue", "list").out


def test_adding_it_again_changes_nothing_and_counts_on(queued: Place, clock: Clock) -> None:
    first = recur(queued, every="2h")
    clock.now = at(0)
    again = recur(queued, every="2h")
    assert (again["id"], again["created"], again["next_at"]) == (first["id"], False, first["next_at"])
    assert recur(queued, every="3h")["next_at"] == iso(180)


def test_it_ends_with_its_until(queued: Place, clock: Clock) -> None:
    recur(queued, schedule="every day at 10:00", until=iso(DAY))
    assert told(queued, DAY) == [("new", "wake")]
    assert told(queued, 5 * DAY) == [("same", "duplicate")]
    clock.now = at(5 * DAY)
    (item,) = queued.data("queue", "list")["items"]
    assert (item["state"], item["next_at"]) == ("told", None)
    assert queued.data("queue", "list", "--waiting")["items"] == []
    assert "told already" in queued.error("queue", "cancel", "pills", status=5)


def test_a_told_one_can_be_cancelled_while_it_would_come_again(queued: Place, clock: Clock) -> None:
    recur(queued, schedule="every day at 10:00")
    told(queued, 0)
    clock.now = at(1)
    assert queued.data("queue", "cancel", "pills")["state"] == "cancelled"
    assert told(queued, DAY) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schedule": "sometimes"}, "--schedule: cannot use 'sometimes'"),
        ({"every": "often"}, "--every: cannot use 'every often'"),
        ({"every": "1d", "schedule": "daily at 9"}, "both --every and --schedule"),
        ({"schedule": "at 2020-01-01T00:00:00Z"}, "never comes due"),
        ({"schedule": "every day at 10:00", "until": iso(-30)}, "never comes due"),
    ],
)
def test_a_schedule_that_means_nothing_is_refused(place: Place, options: dict[str, str], said: str) -> None:
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    assert said in place.error("queue", "add", "--message", "x", *words, status=4)


# Snooze


def test_a_told_item_that_is_snoozed_is_told_again_then(queued: Place, clock: Clock) -> None:
    add(queued, key="garage")
    told(queued, 0)
    clock.now = at(10)
    snoozed = queued.data("queue", "snooze", "garage", "--for", "1h")
    assert (snoozed["state"], snoozed["snoozed_until"], snoozed["next_at"]) == ("snoozed", iso(70), iso(70))
    assert told(queued, 69) == []
    assert told(queued, 70) == [("update", "wake")]
    assert told(queued, 71) == [("same", "duplicate")]
    assert len(queued.agent_calls) == 2
    assert states(queued) == ["told"]


def test_a_waiting_item_that_is_snoozed_is_told_then_and_not_before(queued: Place) -> None:
    add(queued)
    (item,) = queued.data("queue", "list")["items"]
    queued.data("queue", "snooze", item["id"], "--until", iso(5))
    assert told(queued, 0) == []
    assert told(queued, 5) == [("new", "wake")]


def test_snoozing_takes_back_what_waits_for_an_agent_that_failed(queued: Place, clock: Clock) -> None:
    add(queued, key="garage")
    queued.file("agent.status", "1")
    queued.data("tick", "due-queue", "--now", iso(0))
    clock.now = at(1)
    assert states(queued) == ["due"]
    queued.data("queue", "snooze", "garage", "--for", "9m")
    assert [wake["state"] for wake in queued.data("wakes", "list")["wakes"]] == ["cancelled"]
    queued.file("agent.status", "0")
    assert told(queued, 10) == [("new", "wake")]


def test_of_an_item_that_comes_again_only_this_time_is_snoozed(queued: Place, clock: Clock) -> None:
    recur(queued, schedule="every day at 10:00")
    told(queued, 0)
    clock.now = at(1)
    queued.data("queue", "snooze", "pills", "--for", "2h")
    assert told(queued, 100) == []
    assert told(queued, 121) == [("update", "wake")]
    assert told(queued, DAY) == [("new", "wake")]


@pytest.mark.parametrize(
    ("until", "status", "said"),
    [(iso(1), 4, "that instant has passed"), (iso(DAY), 5, "it comes again by itself"), (iso(DAY - 1), 0, "")],
)
def test_a_snooze_ends_after_now_and_before_it_comes_again(
    queued: Place, clock: Clock, until: str, status: int, said: str
) -> None:
    recur(queued, schedule="every day at 10:00")
    clock.now = at(1)
    words = ("queue", "snooze", "pills", "--until", until)
    assert said in (queued.error(*words, status=status) if status else str(queued.data(*words)))


def test_a_snooze_that_makes_no_sense_is_refused(queued: Place, clock: Clock) -> None:
    add(queued, key="k", until=iso(30))
    for options, status, said in (
        (("--until", iso(-1)), 4, "it is due later anyway"),
        (("--until", iso(31)), 5, "it is not worth telling"),
        (("--for", "soon"), 4, "--for: cannot read 'soon'"),
        (("--for", "0s"), 4, "that instant has passed"),
        (("--for", "999999w"), 4, "it ends after the year 9999"),
        (("--until", "2026-06-10T10:10"), 4, "write 2026-06-10T10:10:00+02:00"),
        ((), 2, "one of --for TIME and --until ISO"),
        (("--for", "1h", "--until", iso(1)), 2, "one of --for TIME and --until ISO"),
    ):
        assert said in queued.error("queue", "snooze", "k", *options, status=status)
    queued.data("queue", "snooze", "k", "--until", iso(30))
    queued.data("queue", "cancel", "k")
    assert "it is cancelled" in queued.error("queue", "snooze", "k", "--for", "1h", status=5)
    assert "cannot find" in queued.error("queue", "snooze", "none", "--for", "1h", status=3)


# How an item stands


def test_the_list_says_how_each_item_stands(queued: Place, clock: Clock) -> None:
    for key in ("waiting", "due", "snoozed", "told", "cancelled", "expired"):
        add(
            queued,
            key,
            due=iso(1000) if key == "waiting" else iso(0),
            key=key,
            until=iso(5 if key == "expired" else 2000),
        )
    queued.data("queue", "cancel", "cancelled")
    for key in ("due", "snoozed", "expired"):
        queued.data("queue", "snooze", key, "--until", iso(5))
    told(queued, 1)
    clock.now = at(6)
    queued.data("queue", "snooze", "snoozed", "--for", "1h")
    items = queued.data("queue", "list")["items"]
    assert {item["key"]: item["state"] for item in items} == {key: key for key in (item["key"] for item in items)}
    left = {item["key"] for item in queued.data("queue", "list", "--waiting")["items"]}
    assert left == {"waiting", "due", "snoozed"}


def test_what_waits_for_the_agent_or_the_brief_is_due_and_not_told(queued: Place, clock: Clock) -> None:
    add(queued, key="agent")
    add(queued, key="brief", urgency="low")
    queued.file("agent.status", "1")
    clock.now = at(1)
    queued.data("tick", "due-queue", "--now", iso(1))
    assert states(queued) == ["due", "due"]
    queued.data("brief", "--consume")
    assert sorted(states(queued)) == ["due", "told"]


def test_an_item_whose_wake_the_owner_cancelled_is_dropped(queued: Place, clock: Clock) -> None:
    add(queued, key="garage")
    queued.file("agent.status", "1")
    wake = queued.data("tick", "due-queue", "--now", iso(0))["wake_id"]
    queued.data("wakes", "cancel", wake)
    clock.now = at(1)
    assert states(queued) == ["dropped"]


# LifeOS's queue


def legacy(place: Place, *items: Any) -> str:
    return str(place.file("lifeos.json", json.dumps(list(items))))


def an_old_one(message: str = "Call the garage", **more: Any) -> dict[str, Any]:
    return {"source": "life", "message": message, "dueAt": iso(0), "created": iso(-9), **more}


def test_lifeos_queue_is_imported_once_whatever_became_of_its_items(queued: Place, clock: Clock) -> None:
    file = legacy(queued, an_old_one("one"), an_old_one("two"), an_old_one("three", delivered=iso(0)))
    counts = {"imported": 2, "known": 0, "delivered": 1, "refused": []}
    assert queued.data("queue", "import", file) == counts
    assert {item["source"] for item in queued.data("queue", "list")["items"]} == {"life"}
    assert told(queued, 0) == [("new", "wake")] * 2
    again = {**counts, "imported": 0, "known": 2}
    assert queued.data("queue", "import", file) == again
    assert states(queued) == ["told", "told"]
    with open_ledger(queued.state / "ledger.db") as ledger:
        ledger.prune(at(90 * DAY), timedelta(days=1), 1)
    assert queued.data("queue", "list")["items"] == []
    assert queued.data("queue", "import", file) == again
    assert queued.data("queue", "list")["items"] == []


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (an_old_one(dueAt=None), "its dueAt is missing"),
        ({"message": "x"}, "its dueAt is missing"),
        (an_old_one(dueAt="soon"), "cannot use 'soon'"),
        (an_old_one(dueAt="2026-06-10"), "it has no time of the day"),
        (an_old_one(dueAt="2026-06-10T10:00"), "write 2026-06-10T10:00:00+02:00"),
        (an_old_one(dueAt=1760000000), "cannot use 1760000000"),
        (an_old_one(dueAt=[]), "its dueAt is missing"),
        (an_old_one(""), "its message is empty"),
        (an_old_one("x" * 4001), "4001 characters"),
        ({"dueAt": iso(0)}, "its message is empty"),
        ({**an_old_one(), "message": {}}, "cannot use {}"),
        (None, "cannot use null as an item"),
        ("text", "cannot use the text 'text' as an item"),
    ],
)
def test_an_item_of_lifeos_that_cannot_be_told_is_refused_and_the_others_taken(
    queued: Place, item: Any, said: str
) -> None:
    told = queued.data("queue", "import", legacy(queued, an_old_one("first"), item, an_old_one("last")))
    assert (told["imported"], [one["number"] for one in told["refused"]]) == (2, [2])
    assert said in told["refused"][0]["reason"]
    assert "item 2 refused: " in queued.call("queue", "import", str(queued.folder / "lifeos.json")).out


@pytest.mark.parametrize(
    ("text", "said"),
    [("{}", "an object, not an array"), ("null", "null, not an array"), ("[", "not JSON"), ("", "JSON")],
)
def test_what_is_no_queue_of_lifeos_is_refused(place: Place, text: str, said: str) -> None:
    assert said in place.error("queue", "import", str(place.file("q.json", text)), status=4)
    assert not place.state.exists()


def test_a_file_to_import_that_is_none_is_said(place: Place) -> None:
    assert "cannot find the file" in place.error("queue", "import", str(place.folder / "none"), status=3)
    assert "cannot read" in place.error("queue", "import", str(place.folder), status=4)


# Dropped files


def test_every_verb_sees_what_was_dropped(queued: Place) -> None:
    queued.file("queue/a.json", json.dumps({"message": "Dropped", "due": iso(0), "key": "k"}))
    assert [item["message"] for item in queued.data("queue", "list")["items"]] == ["Dropped"]
    queued.file("queue/b.json", json.dumps({"message": "Another", "due": iso(0), "key": "l"}))
    queued.data("queue", "cancel", "l")
    queued.file("queue/c.json", json.dumps({"message": "A third", "due": iso(0)}))
    assert [finding["title"] for finding in queued.data("tick", "due-queue", "--now", iso(0))["findings"]] == [
        "Dropped",
        "A third",
    ]
    assert list((queued.folder / "queue").iterdir()) == []


def test_a_rehearsal_takes_nothing_in(queued: Place) -> None:
    file = queued.file("queue/a.json", json.dumps({"message": "Dropped", "due": iso(0)}))
    assert queued.data("tick", "due-queue", "--now", iso(0), "--dry-run")["findings"] == []
    assert file.exists()


def test_refused_files_are_an_incident_until_they_are_removed(queued: Place) -> None:
    queued.file("queue/a.json", json.dumps({"message": "Dropped", "due": "soon"}))
    for minute in range(3):
        sources = queued.data("tick", "due-queue", "--now", iso(minute))["sources"]
    failed = sources[1]
    assert (failed["name"], failed["ok"], failed["items"]) == ("queue folder", False, 1)
    assert "cannot use 'soon'" in failed["message"]
    (incident,) = queued.data("brief")["incidents"]
    assert "1 refused file in queue/refused" in incident["message"]
    for file in (queued.folder / "queue/refused").iterdir():
        file.unlink()
    queued.data("tick", "due-queue", "--now", iso(4))
    (incident,) = queued.data("brief")["incidents"]
    assert incident["resolved_at"] is not None
