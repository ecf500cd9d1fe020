"""`heartbeat init`: what is found, what is written of it, and that nothing of the owner's is lost."""

from __future__ import annotations

import itertools
import os
import re
import stat
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as run_with
from hypothesis import strategies as st

from heartbeat.errors import HeartbeatError, Refused
from heartbeat.job import Config, load
from heartbeat.lookout import AGENTS, Found, FoundAgent, FoundCalendar, look_around
from heartbeat.paths import Home
from heartbeat.welcome import first_config, init

NOW = datetime(2026, 6, 10, 8, 0, tzinfo=UTC)
NOTHING = Found("Europe/Berlin")
MUCH = Found(
    "Europe/Berlin",
    tuple(FoundAgent(kind, f"/home/me/bin/{kind}", ("/home/me/bin", "/opt/node/bin")) for kind in AGENTS),
    (FoundCalendar("file", "~/me.ics"), FoundCalendar("vdir", '~/a "b" \\c')),
)


def home_at(folder: Path) -> Home:
    return Home(folder / "home", folder / "state", folder / "cache")


def load_in(folder: Path) -> Config:
    return load(home_at(folder), {"HOME": str(folder)})


def program_at(path: Path) -> Path:
    return touch(path, 0o755)


def touch(path: Path, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode)
    return path


def uncommented(text: str) -> str:
    """The configuration with every example line taken in, each section once."""
    return re.sub(r"(?m)^#(?! )", "", text)


# Looking around


def test_agents_on_the_path_are_found_with_the_folders_they_need(tmp_path: Path) -> None:
    for name in ("a/claude", "b/node", "b/openclaw"):
        program_at(tmp_path / name)
    touch(tmp_path / "a/codex")  # not executable
    found = look_around({"PATH": f"{tmp_path}/a:{tmp_path}/b"}, "UTC")
    a, b = f"{tmp_path}/a", f"{tmp_path}/b"
    assert found.agents == (FoundAgent("claude", f"{a}/claude", (a, b)), FoundAgent("openclaw", f"{b}/openclaw", (b,)))


def test_an_agent_that_a_relative_path_leads_to_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program_at(tmp_path / "claude")
    monkeypatch.chdir(tmp_path)
    assert look_around({"PATH": "."}, "UTC").agents == ()


def test_calendars_in_the_usual_places_are_found(tmp_path: Path) -> None:
    for name in ("me.ics", "Documents/deep/er/team.ICS", ".local/share/evolution/calendar/system/calendar.ics"):
        touch(tmp_path / name)
    for number in range(4):
        touch(tmp_path / f".calendars/office/{number}.ics")
        touch(tmp_path / f"Documents/{number}.txt")
    touch(tmp_path / "Other/far.ics")
    touch(tmp_path / "Documents/1/2/3/4/too-deep.ics")
    found = look_around({"HOME": str(tmp_path)}, "UTC")
    assert set(found.calendars) == {
        FoundCalendar("file", "~/me.ics"),
        FoundCalendar("file", "~/Documents/deep/er/team.ICS"),
        FoundCalendar("vdir", "~/.calendars/office"),
        FoundCalendar("file", "~/.local/share/evolution/calendar/system/calendar.ics"),
    }


def test_a_folder_three_levels_down_is_looked_into_and_a_fourth_is_not(tmp_path: Path) -> None:
    touch(tmp_path / "Documents/1/2/3/in.ics")
    touch(tmp_path / "Documents/1/2/3/4/out.ics")
    assert look_around({"HOME": str(tmp_path)}, "UTC").calendars == (FoundCalendar("file", "~/Documents/1/2/3/in.ics"),)


def test_links_in_a_circle_unreadable_folders_and_odd_names_do_no_harm(tmp_path: Path) -> None:
    touch(tmp_path / "Documents/me.ics")
    os.mkfifo(tmp_path / "Documents/pipe.ics")
    (tmp_path / "Documents/loop").symlink_to(tmp_path / "Documents")
    (tmp_path / "Documents/self.ics").symlink_to("self.ics")
    locked = tmp_path / "Documents/locked"
    locked.mkdir(mode=0)
    touch(Path(os.fsdecode(os.fsencode(tmp_path) + b"/Documents/\xff.ics")))
    touch(tmp_path / "Documents/line\nbreak.ics")
    found = look_around({"HOME": str(tmp_path)}, "UTC")
    locked.chmod(0o700)  # so that the folder can be removed
    assert found.calendars == (FoundCalendar("file", "~/Documents/me.ics"),)


def test_the_look_ends_after_two_thousand_entries(tmp_path: Path) -> None:
    for number in range(1990):
        touch(tmp_path / f"Documents/many/{number}.txt")
    for number in range(40):
        (tmp_path / f"Documents/many-more/{number}").mkdir(parents=True)
    touch(tmp_path / "Documents/many-more/39/late.ics")
    assert look_around({"HOME": str(tmp_path)}, "UTC").calendars == ()


def test_the_look_ends_after_two_seconds(tmp_path: Path) -> None:
    touch(tmp_path / "Documents/me.ics")
    slow = itertools.count(step=1.1)
    assert look_around({"HOME": str(tmp_path)}, "UTC", elapsed=lambda: next(slow)).calendars == ()


def test_not_more_than_twenty_calendars_are_named_of_one_look(tmp_path: Path) -> None:
    for number in range(30):
        touch(tmp_path / f".calendars/{number}/me.ics")
    assert len(look_around({"HOME": str(tmp_path)}, "UTC").calendars) == 20


@pytest.mark.parametrize("environ", [{}, {"HOME": "", "PATH": ""}, {"HOME": "relative"}, {"HOME": "/no/such/folder"}])
def test_an_empty_machine_gives_nothing(environ: dict[str, str]) -> None:
    found = look_around(environ, "UTC")
    assert (found.agents, found.calendars) == ((), ())


# Writing


def test_what_was_found_is_used(tmp_path: Path) -> None:
    init(home_at(tmp_path), MUCH, NOW)
    config = load_in(tmp_path)
    agent = config.settings.agent
    assert (agent.kind, agent.command) == ("claude", ("/home/me/bin/claude",))
    assert agent.env["PATH"] == "/home/me/bin:/opt/node/bin:/usr/local/bin:/usr/bin:/bin"
    assert config.settings.owner.zone == "Europe/Berlin"
    assert set(config.jobs) == {"calendar-lookahead", "due-queue"}
    assert config.jobs["calendar-lookahead"].options["sources"] == [{"file": "~/me.ics"}, {"vdir": '~/a "b" \\c'}]


def test_other_agents_are_left_as_examples() -> None:
    text = first_config(MUCH)
    for kind in ("codex", "hermes", "openclaw"):
        assert f"# {kind} was found too" in text
        assert f'#command = ["/home/me/bin/{kind}"' in text


@pytest.mark.parametrize("kind", AGENTS)
def test_each_agent_alone_gives_a_valid_configuration(tmp_path: Path, kind: str) -> None:
    agent = FoundAgent(kind, f"/usr/bin/{kind}", ())
    init(home_at(tmp_path), Found("UTC", (agent,)), NOW)
    settings = load_in(tmp_path).settings
    # OpenClaw would run any shell command: it is for the owner to turn on.
    assert settings.agent.kind == ("none" if kind == "openclaw" else kind)
    assert "PATH" not in settings.agent.env


@pytest.mark.parametrize("kind", AGENTS)
def test_an_example_taken_in_is_valid_too(tmp_path: Path, kind: str) -> None:
    found = Found("UTC", (FoundAgent("claude", "/usr/bin/claude", ()), FoundAgent(kind, f"/usr/bin/{kind}", ("/x",))))
    text = first_config(found)
    agent = re.search(r"(?ms)^#\[agent\]\n.*?\n\n", text + "\n")
    assert agent or kind == "claude"
    home = home_at(tmp_path)
    home.config.mkdir()
    home.config_file.write_text(uncommented(agent[0] if agent else text[: text.index("# What you")]))
    assert load_in(tmp_path).settings.agent.kind == kind


def test_finding_nothing_is_said_and_examples_are_written(tmp_path: Path) -> None:
    init(home_at(tmp_path), NOTHING, NOW)
    config = load_in(tmp_path)
    assert config.settings.agent.kind == "none"
    assert set(config.jobs) == {"due-queue"}
    text = home_at(tmp_path).config_file.read_text()
    assert "No agent is ready to use" in text
    assert "No calendar file was found" in text
    example = tomllib.loads(uncommented(text).replace('[agent]\nkind = "none"\n', ""))
    assert set(example["jobs"]) == {"calendar-lookahead", "due-queue", "my-check"}
    assert example["agent"]["kind"] == "command"


def test_an_unknown_zone_is_utc_and_said(tmp_path: Path) -> None:
    init(home_at(tmp_path), Found(""), NOW)
    assert load_in(tmp_path).settings.owner.zone == "UTC"
    assert "is not known" in home_at(tmp_path).config_file.read_text()


def test_files_and_folders_are_the_owners_alone(tmp_path: Path) -> None:
    home = home_at(tmp_path)
    init(home, NOTHING, NOW)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (home.config, home.jobs, home.config_file)]
    assert modes == [0o700, 0o700, 0o600]
    assert sorted(path.name for path in home.config.iterdir()) == ["config.toml", "jobs"]
    assert list(home.jobs.iterdir()) == []


def test_a_configuration_that_exists_is_refused_and_kept(tmp_path: Path) -> None:
    home = home_at(tmp_path)
    touch(home.config_file).write_text("mine")
    with pytest.raises(Refused, match="it exists"):
        init(home, NOTHING, NOW)
    assert home.config_file.read_text() == "mine"
    assert sorted(path.name for path in home.config.iterdir()) == ["config.toml", "jobs"]


def test_with_force_the_old_configuration_is_kept_beside_the_new(tmp_path: Path) -> None:
    home = home_at(tmp_path)
    touch(home.config_file).write_text("mine")
    kept = init(home, NOTHING, NOW, force=True)
    assert kept is not None
    assert kept.name.startswith("config.toml.bak-2026-06-10T080000")
    assert (kept.read_text(), stat.S_IMODE(kept.stat().st_mode)) == ("mine", 0o600)
    assert load_in(tmp_path).jobs
    assert stat.S_IMODE(home.config_file.stat().st_mode) == 0o600
    with pytest.raises(Refused):
        init(home, NOTHING, NOW, force=True)  # in the same instant: the kept one is never overwritten
    assert kept.read_text() == "mine"


def test_force_without_an_old_configuration_keeps_nothing(tmp_path: Path) -> None:
    assert init(home_at(tmp_path), NOTHING, NOW, force=True) is None


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    touch(tmp_path / "home")
    with pytest.raises(HeartbeatError, match=r"cannot write .*config\.toml: "):
        init(home_at(tmp_path), NOTHING, NOW)


PRINTABLE = st.text(max_size=20).filter(str.isprintable)


@run_with(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from(AGENTS), unique=True),
    st.lists(st.tuples(st.sampled_from(["file", "vdir"]), PRINTABLE)),
    PRINTABLE,
)
def test_whatever_was_found_the_configuration_loads(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str], calendars: list[tuple[str, str]], folder: str
) -> None:
    agents = tuple(FoundAgent(kind, f"/{folder}/{kind}", (f"/{folder}",)) for kind in kinds)
    found = Found("UTC", agents, tuple(FoundCalendar(kind, f"~/{path}") for kind, path in calendars))
    home = home_at(tmp_path_factory.getbasetemp())
    home.config.mkdir(exist_ok=True)
    home.config_file.write_text(first_config(found))
    config = load(home, {"HOME": "/"})
    assert ("calendar-lookahead" in config.jobs) == bool(calendars)
