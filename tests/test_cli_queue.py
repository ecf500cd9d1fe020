"""`heartbeat queue`: items that must be told at their time, from the command line to the agent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import CONFIG, Place, at


def iso(minutes: float) -> str:
    return at(minutes).isoformat()


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


def test_a_message_that_is_not_utf_8_is_kept_as_far_as_it_goes(queued: Place) -> None:
    done = queued.call("queue", "add", "--message", "caf\udce9", "--due", iso(0))
    assert done.status == 0
    assert queued.data("tick", "due-queue", "--now", iso(0))["verdict"] == "wake"


def test_adding_from_many_processes_at_once_loses_nothing(queued: Place) -> None:
    adding = [queued.start("queue", "add", "--message", f"item {number}", "--due", iso(0)) for number in range(4)]
    assert [process.communicate(timeout=60)[1] for process in adding] == [b""] * 4
    assert {process.returncode for process in adding} == {0}
    assert {item["message"] for item in queued.data("queue", "list")["items"]} == {f"item {n}" for n in range(4)}
