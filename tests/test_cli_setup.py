"""`heartbeat init` and `check`, and that nothing starts half."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CONFIG, Place

UNREACHED = "nothing reaches you: there is no agent and no channel; `heartbeat brief` shows what has gathered"


@pytest.fixture
def fresh(place: Place) -> Place:
    """A home with nothing in it."""
    for path in sorted(place.folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    return place


def test_what_init_writes_is_valid_as_it_is(fresh: Place) -> None:
    assert fresh.call("init").out.startswith(f"wrote {fresh.folder}/config.toml\n")
    assert (fresh.folder / "config.toml").stat().st_mode & 0o777 == 0o600
    checked = fresh.data("check")
    assert checked["file"] == str(fresh.folder / "config.toml")
    assert checked["hints"] in ([], [UNREACHED])


def test_init_in_a_folder_that_is_not_there_makes_it_for_the_owner_alone(fresh: Place) -> None:
    deeper = fresh.folder / "a" / "b"
    assert fresh.run("--home", str(deeper), "init").status == 0
    assert deeper.stat().st_mode & 0o777 == 0o700


def test_init_tells_what_it_found(fresh: Place) -> None:
    fresh.file("me.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    found = fresh.data("init")
    assert found["file"] == str(fresh.folder / "config.toml")
    assert found["kept"] is None
    assert found["calendars"] == [{"kind": "file", "path": "~/me.ics"}]
    assert fresh.data("check")["jobs"] == ["calendar-lookahead", "due-queue"]


def test_init_never_overwrites_and_with_force_keeps_the_old_file(place: Place) -> None:
    before = (place.folder / "config.toml").read_text()
    assert "--force" in place.error("init", status=5)
    assert (place.folder / "config.toml").read_text() == before
    kept = place.data("init", "--force")["kept"]
    assert Path(kept).read_text() == before
    assert (place.folder / "config.toml").read_text() != before


def test_without_a_configuration_everything_has_its_default(fresh: Place) -> None:
    assert "no such file; everything has its default" in fresh.call("check").out
    assert fresh.data("check") == {
        "file": str(fresh.folder / "config.toml"),
        "jobs": [],
        "agent": "none",
        "hints": [UNREACHED],
    }


def test_check_takes_another_file(place: Place) -> None:
    other = place.file("other.toml", "[jobs.due-queue]\n")
    assert place.data("check", str(other)) == {
        "file": str(other),
        "jobs": ["due-queue"],
        "agent": "none",
        "hints": [UNREACHED],
    }
    place.file("broken.toml", "[jobs")
    assert "broken.toml" in place.error("check", str(place.folder / "broken.toml"), status=4)


AGENT = '[agent]\nkind = "command"\ncommand = ["echo"]\n'
CHANNEL = '[channels.log]\nkind = "file"\npath = "messages.md"\n'
RULE = '[[rules]]\ndo = "mute"\n'
HINTS = [
    ("", [UNREACHED]),
    (AGENT, []),
    (CHANNEL, []),
    (AGENT + "[budget]\nper_hour = 0\n", ["budget.per_hour is 0: you are never interrupted but for what is critical"]),
    (AGENT + "[budget]\nper_day = 0\n", ["budget.per_day is 0: you are never interrupted but for what is critical"]),
    (
        CHANNEL + "[brief]\nagent = true\n",
        ["brief.agent: there is no agent to write the brief up"],
    ),
    (AGENT + "[brief]\nagent = true\n", []),
    (
        AGENT + "[jobs.due-queue]\nnotify = true\n",
        ["jobs.due-queue.notify: no channel takes notices"],
    ),
    (AGENT + CHANNEL + "[jobs.due-queue]\nnotify = true\n", []),
    (AGENT + CHANNEL + "takes = ['brief']\n[jobs.due-queue]\nnotify = true\n", ["jobs.due-queue.notify: no channel"]),
    (
        AGENT + RULE + "job = 'due-qeue'\n[jobs.due-queue]\n",
        ["rule 1: there is no job 'due-qeue'; did you mean 'due-queue'?"],
    ),
    (AGENT + RULE + "job = 'zzz'\n" + RULE + "job = 'z*'\n", ["rule 1: there is no job 'zzz'"]),
    (
        AGENT + RULE + "job = '*'\n" + RULE + "kind = 'mail'\nuntil = '2020-01-01T00:00:00Z'\n",
        ["rule 2: it is over since 2020-01-01 01:00; it may go"],
    ),
]


@pytest.mark.parametrize(("text", "hints"), HINTS)
def test_what_is_valid_and_may_not_do_what_its_owner_thinks_is_hinted_at(
    place: Place, text: str, hints: list[str]
) -> None:
    place.configure('owner.zone = "Europe/Berlin"\n' + text)
    found = place.data("check")["hints"]
    assert len(found) == len(hints)
    assert all(each.startswith(hint) for each, hint in zip(found, hints, strict=True))
    lines = place.call("check").out.splitlines()
    assert lines[0].endswith(": valid, but:" if hints else ": valid")
    assert [line[2:] for line in lines if line.startswith("- ")] == found


BROKEN = """
[owner]
zone = "Mars/Olympus"
[agent]
kind = "command"
[jobs.check]
every = "10 minutes"
[jobs.check.options]
[jobs.no-such-script]
every = "1h"
[jobs.due-queue]
colour = "red"
"""


def test_every_problem_comes_at_once_with_file_key_value_and_remedy(place: Place) -> None:
    place.configure(BROKEN)
    message = place.error("check", status=4)
    lines = message.splitlines()
    for key, value in (
        ("owner.zone", "Mars/Olympus"),
        ("agent.command", "command"),
        ("jobs.check.every", "10 minutes"),
        ("jobs.no-such-script.script", "no-such-script"),
        ("jobs.due-queue.colour", ""),
    ):
        (line,) = [line for line in lines if f"config.toml: {key}: " in line]
        assert value in line
        assert "; " in line
    assert len(lines) == 5


@pytest.mark.parametrize(
    "words",
    [
        ("tick", "check"),
        ("tick", "check", "--dry-run"),
        ("jobs",),
        ("next",),
        ("check",),
    ],
    ids=" ".join,
)
def test_nothing_starts_half(place: Place, words: tuple[str, ...]) -> None:
    place.configure(BROKEN)
    before = sorted(place.folder.rglob("*"))
    assert place.call(*words).status == 4
    assert sorted(place.folder.rglob("*")) == before


def test_a_daemon_that_does_not_start_leaves_only_the_evidence_of_that(place: Place) -> None:
    place.configure(BROKEN)
    before = set(place.folder.rglob("*"))
    assert place.run("run").status == 4
    made = {str(path.relative_to(place.folder)) for path in set(place.folder.rglob("*")) - before}
    assert made == {"state", "state/daemon.lock", "state/pulse", "state/starts.log"}
    assert place.data("health")["state"] == "down"


@pytest.mark.parametrize(
    "words",
    [("brief",), ("runs",), ("ledger", "list"), ("wakes", "list"), ("queue", "list"), ("health",)],
    ids=" ".join,
)
def test_what_was_recorded_is_read_under_a_broken_configuration_too(place: Place, words: tuple[str, ...]) -> None:
    place.finds({})
    place.data("tick", "check")
    place.configure(BROKEN)
    assert place.call(*words).status == 0
    assert place.call(*words, "--json").status == 0


def test_a_configuration_that_cannot_be_read_is_a_message(place: Place) -> None:
    (place.folder / "config.toml").unlink()
    (place.folder / "config.toml").mkdir()
    assert "config.toml" in place.error("check", status=4)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ('{ env = "NOT_SET_ANYWHERE" }', "cannot find the variable NOT_SET_ANYWHERE"),
        ('{ file = "not-there" }', "cannot read"),
        ('{ command = ["no-such-program"] }', "'no-such-program'"),
    ],
)
def test_a_secret_that_is_not_there_is_found_by_check_and_costs_only_its_job(
    place: Place, missing: str, message: str
) -> None:
    place.script("other")
    place.says("other", {"wakeAgent": False})
    place.configure(f"{CONFIG}[jobs.check.secrets]\nTOKEN = {missing}\n[jobs.other]\nevery = '1h'\n")
    assert message in place.error("check", status=4)
    assert place.data("tick", "other")["verdict"] == "quiet"
    assert {job["job"] for job in place.data("jobs")["jobs"]} == {"check", "other"}
    failed = place.data("tick", "check")
    assert failed["verdict"] == "failed"
    assert message in failed["message"]


def test_the_demo_shows_every_fate_in_one_screen(place: Place) -> None:
    done = place.run("demo")
    assert (done.status, done.err) == (0, "")
    shown = [line for line in done.out.splitlines() if line.startswith("$ heartbeat ")]
    assert [line.split()[2] for line in shown] == [
        "tick",
        "tick",
        "queue",
        "tick",
        "tick",
        "tick",
        "messages",
        "brief",
        "why",
    ]
    for word in ("wake ", "duplicate ", "brief ", "failed", "settled", "While you slept"):
        assert word in done.out
    assert len(done.out.splitlines()) <= 60
    assert not place.state.exists()
