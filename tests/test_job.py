"""Jobs: which script a name means, what its header declares, what the owner overrides, and what a run is given."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import settings as run_with
from hypothesis import strategies as st

from heartbeat.config.secret import Secret
from heartbeat.config.times import Between
from heartbeat.durations import parse_duration
from heartbeat.errors import ConfigError, HeartbeatError, Problem
from heartbeat.job import Config, Job, load
from heartbeat.job.environment import agent_environment, environment
from heartbeat.job.header import Header, read_header
from heartbeat.job.script import Script
from heartbeat.job.timing import fault_of
from heartbeat.paths import Home, share
from heartbeat.schedule import EVERY_DAY, At, Cron, Every, Schedule, Timing, Window, next_slot
from heartbeat.slots import Policy

NOW = datetime(2026, 6, 10, 8, 0, tzinfo=UTC)
HEADER = """\
#!/bin/sh
# /// script
# [tool.heartbeat]
# description = "Looks at things."
# every = "15m"
# timeout = "20s"
# prompt = "Say what it is."
# [tool.heartbeat.options]
# depth = 3
# share = 0.5
# names = ["a"]
# ///
echo '{"wakeAgent": false}'
"""


def home_at(folder: Path, config: str = "") -> Home:
    home = Home(folder / "home", folder / "home" / "state", folder / "home" / "cache")
    home.jobs.mkdir(parents=True, exist_ok=True)
    home.config_file.write_text(config)
    return home


def script_at(path: Path, text: str | bytes = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)
    return path


def environ_at(folder: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(folder), "PATH": os.environ["PATH"], **more}


def load_at(folder: Path, config: str, **environ: str) -> Config:
    return load(home_at(folder, config), environ_at(folder, **environ))


def problems_at(folder: Path, config: str, **environ: str) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught:
        load_at(folder, config, **environ)
    return caught.value.problems


def unready_at(folder: Path, config: str, **environ: str) -> tuple[Problem, ...]:
    """What only those who need it will miss: the configuration is good all the same."""
    return load_at(folder, config, **environ).unready


def header_of(text: str | bytes) -> Any:
    raw = text.encode() if isinstance(text, str) else text
    return read_header(Script(Path("/jobs/x.sh"), shipped=False, mode=0o755, head=raw))


def header_problems(text: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught:
        header_of(text)
    return caught.value.problems


def header_faults(text: bytes) -> tuple[Problem, ...]:
    """The problems, none when it can be read; anything but a ConfigError fails the test."""
    try:
        header_of(text)
    except ConfigError as error:
        return error.problems or (Problem("", "", "", "a ConfigError without a problem"),)
    return ()


def job_at(folder: Path, config: str) -> Job:
    (job,) = load_at(folder, config).jobs.values()
    return job


def only(job: Job) -> Schedule:
    (schedule,) = job.timing.schedules
    return schedule


# Which script


def test_a_script_of_the_owner_is_found_by_the_jobs_name(tmp_path: Path) -> None:
    script = script_at(tmp_path / "home/jobs/disk_space.sh")
    job = load_at(tmp_path, "jobs.disk-space.every = '1h'").jobs["disk-space"]
    assert (job.script, job.argv) == (script, (str(script),))
    assert only(job) == Every(timedelta(hours=1))
    assert (job.require_token, job.timeout, job.dialect) == (False, timedelta(seconds=60), "strict")


@pytest.mark.parametrize("given", ["jobs/x.sh", "~/home/jobs/x.sh", "{folder}/home/jobs/x.sh"])
def test_a_script_is_given_beside_the_configuration_from_home_or_whole(tmp_path: Path, given: str) -> None:
    script = script_at(tmp_path / "home/jobs/x.sh")
    config = f"jobs.any = {{ script = '{given.format(folder=tmp_path)}', cron = '@daily' }}"
    job = load_at(tmp_path, config).jobs["any"]
    assert os.path.samefile(job.script, script)
    assert only(job) == Cron("@daily")


def test_a_link_to_a_script_is_followed(tmp_path: Path) -> None:
    script = script_at(tmp_path / "elsewhere/real.sh", HEADER)
    home_at(tmp_path)
    (tmp_path / "home/jobs/linked").symlink_to(script)
    assert load_at(tmp_path, "[jobs.linked]").jobs["linked"].description == "Looks at things."


def test_what_is_no_script_in_the_folder_is_passed_over(tmp_path: Path) -> None:
    script = script_at(tmp_path / "home/jobs/x.sh", HEADER)
    for other in (".x.swp", "_x.py"):
        script_at(tmp_path / "home/jobs" / other)
    (tmp_path / "home/jobs/x").mkdir()
    assert load_at(tmp_path, "[jobs.x]").jobs["x"].script == script


def test_the_owners_script_goes_before_a_shipped_one_of_the_same_name(tmp_path: Path) -> None:
    script = script_at(tmp_path / "home/jobs/due-queue", HEADER)
    job = load_at(tmp_path, "[jobs.due-queue]").jobs["due-queue"]
    assert (job.script, job.require_token) == (script, False)


@pytest.mark.parametrize("path", sorted(share("jobs").glob("[!_.]*.*")), ids=lambda path: path.name)
def test_every_shipped_script_is_a_job_with_nothing_configured(tmp_path: Path, path: Path) -> None:
    name = path.stem.replace("_", "-")
    job = load_at(tmp_path, f"[jobs.{name}]").jobs[name]
    assert job.argv == (sys.executable, "-P", str(path))
    assert job.require_token
    assert job.description


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/disk_space.sh")
    (problem,) = problems_at(tmp_path, "jobs.disk.every = '1h'")
    assert problem.key == "jobs.disk.script"
    assert '"disk"' in problem.message
    assert "due-queue" in problem.remedy
    assert "disk-space" in problem.remedy
    (problem,) = problems_at(tmp_path, "jobs.due-que.every = '1h'")
    assert "did you mean 'due-queue'?" in problem.remedy


def test_two_scripts_of_one_name_are_both_listed(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/a_b.sh")
    script_at(tmp_path / "home/jobs/a-b.py")
    (problem,) = problems_at(tmp_path, "jobs.a-b.every = '1h'")
    assert "a-b.py and a_b.sh" in problem.message
    assert "script = " in problem.remedy


UNUSABLE = [
    # content, mode, phrase of the message, phrase of the remedy
    (b"#!/bin/sh\n", 0o644, "not executable", "chmod +x"),
    (b"#!/bin/sh\n", 0o757, "every user may change it", "chmod o-w"),
    (b"echo hello\n", 0o755, "cannot tell which program runs", "#!/bin/sh"),
    (b"", 0o755, "cannot tell which program runs", "#!/bin/sh"),
    (b"\xef\xbb\xbf#!/bin/sh\n", 0o755, "cannot tell which program runs", "#!/bin/sh"),
    (b"#!/bin/sh\r\necho\r\n", 0o755, "carriage return", "Unix line ends"),
    (b"#!/no/such/shell\n", 0o755, '"/no/such/shell" of its first line is not there', "correct the line"),
    (b"#!\n", 0o755, "of its first line is not there", "correct the line"),
    (b"#!/bin\n", 0o755, '"/bin" of its first line is not there', "correct the line"),
    (b"#!/usr/bin/env no-such-node\n", 0o755, '"no-such-node" of its first line is not on the PATH', "[environment]"),
    (b"#!/usr/bin/env -S A=1 no-such-node -x\n", 0o755, '"no-such-node" of its', "[environment]"),
]


@pytest.mark.parametrize(("content", "mode", "message", "remedy"), UNUSABLE)
def test_a_script_that_would_not_start_is_told_with_a_remedy(
    tmp_path: Path, content: bytes, mode: int, message: str, remedy: str
) -> None:
    script = script_at(tmp_path / "home/jobs/x.sh", content, mode)
    (problem,) = problems_at(tmp_path, "jobs.x.every = '1h'")
    assert problem.key == "jobs.x.script"
    assert problem.message.startswith("cannot")
    assert message in problem.message
    assert str(script) in problem.message
    assert remedy in problem.remedy


@pytest.mark.parametrize(
    "content", [b"#!/bin/sh", b"#! /bin/sh -eu\n", b"#!/usr/bin/env -S sh -eu\n", b"\x7fELF\0", b"\xcf\xfa\xed\xfe\0"]
)
def test_a_script_with_a_program_or_that_is_one_is_accepted(tmp_path: Path, content: bytes) -> None:
    script_at(tmp_path / "home/jobs/x", content, 0o775)
    assert load_at(tmp_path, "jobs.x.every = '1h'").jobs["x"].argv == (str(tmp_path / "home/jobs/x"),)


def test_the_program_of_env_is_looked_up_on_the_jobs_own_path(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x", "#!/usr/bin/env my-interpreter\n")
    script_at(tmp_path / "bin/my-interpreter")
    config = f"jobs.x = {{ every = '1h', env = {{ PATH = '{tmp_path}/bin' }} }}"
    assert load_at(tmp_path, config).jobs["x"].env["PATH"] == f"{tmp_path}/bin"


def test_a_folder_a_fifo_and_nothing_at_all_are_no_scripts(tmp_path: Path) -> None:
    home_at(tmp_path)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for name in ("folder", "fifo", "absent", "x" * 300):
        (problem,) = problems_at(tmp_path, f"jobs.x = {{ every = '1h', script = '~/{name}' }}")
        assert problem.key == "jobs.x.script"
        assert problem.message.startswith("cannot")


# The header


def test_the_header_declares_and_the_configuration_overrides(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    declared = load_at(tmp_path, "[jobs.x]").jobs["x"]
    assert (only(declared), declared.timeout) == (Every(timedelta(minutes=15)), timedelta(seconds=20))
    assert (declared.prompt, declared.description) == ("Say what it is.", "Looks at things.")
    assert declared.options == {"depth": 3, "share": 0.5, "names": ["a"]}
    config = "jobs.x = { cron = '0 9 * * *', timeout = '5s', prompt = 'Mine.', options = { depth = 4, share = 1 } }"
    wanted = load_at(tmp_path, config).jobs["x"]
    assert (only(wanted), wanted.timeout, wanted.prompt) == (Cron("0 9 * * *"), timedelta(seconds=5), "Mine.")
    assert wanted.options == {"depth": 4, "share": 1, "names": ["a"]}


def test_without_a_prompt_anywhere_the_agents_own_is_taken(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh")
    assert load_at(tmp_path, "agent.prompt = 'Look.'\njobs.x.every = '1h'").jobs["x"].prompt == "Look."


@pytest.mark.parametrize("require", [True, False])
def test_the_owner_may_ask_for_a_token_or_not(tmp_path: Path, require: bool) -> None:
    config = f"jobs.due-queue.require_token = {str(require).lower()}"
    assert load_at(tmp_path, config).jobs["due-queue"].require_token is require


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\r\n# /// script\r\n# [tool.heartbeat]\r\n# every = '5m'\r\n# ///\r\n",
        "#!/usr/bin/env node\n// /// script\n// [tool.heartbeat]\n//\n// every = '5m'\n// ///\n",
        "# /// script\n# dependencies = ['x']\n# [tool.heartbeat]\n# every = '5m'\n# ///",
        "# /// other\n# every = 1\n# ///\n\n# /// script  \n# [tool]\n# heartbeat.every = '5m'\n# ///  \n",
    ],
)
def test_a_header_is_found_in_any_language(text: str) -> None:
    assert header_of(text).every == timedelta(minutes=5)


@pytest.mark.parametrize("text", ["", "#!/bin/sh\n", "# /// script\n# tool = 1\n# ///\n", "#/// script\n", b"\xff"])
def test_a_script_without_a_header_declares_nothing(text: str | bytes) -> None:
    header = header_of(text)
    assert header.every is header.timeout is None
    assert not header.declares_options


BROKEN_HEADERS = [
    # text of the script, key, phrase of the message
    ("# /// script\n# [tool.heartbeat]\n# every = 5m\n# ///\n", "", "cannot read line 3, column"),
    ("#!/bin/sh\n\n# /// script\n# [tool.heartbeat]\n# tiemout = '5s'\n# ///\n", "tool.heartbeat.tiemout", "(line 5)"),
    ("# /// script\n# [tool.heartbeat]\n# every = 5\n# ///\n", "tool.heartbeat.every", "cannot use 5 as a duration"),
    ("# /// script\n# [tool]\n# heartbeat = 1\n# ///\n", "tool.heartbeat", "cannot use 1: it must be a table (line 3)"),
    (
        "# /// script\n# [tool.heartbeat.options]\n# a = 1\n# when = 2030-01-01\n# ///\n",
        "tool.heartbeat.options.when",
        "no dates and times (line 4)",
    ),
    ("# /// script\n# a = 1\n", "tool.heartbeat", "line 1: the header that begins there does not end"),
    ("# /// script\n# a = 1\necho\n# ///\n", "tool.heartbeat", "line 1: the header that begins there does not end"),
    ("# /// script\n# ///\n# /// script\n# ///\n", "tool.heartbeat", "line 3: a second header begins there"),
    ("# /// script\n# ///\n// /// script\n// ///\n", "tool.heartbeat", "line 3: a second header"),
    (b"# /// script\n# a = '\xff'\n# ///\n", "", "cannot read line 2"),
]


@pytest.mark.parametrize(("text", "key", "message"), BROKEN_HEADERS)
def test_a_broken_header_is_told_with_file_and_line(text: str | bytes, key: str, message: str) -> None:
    (problem,) = header_problems(text)
    assert problem.file == "/jobs/x.sh"
    assert problem.key == key
    assert problem.message.startswith("cannot")
    assert message in problem.message
    assert problem.remedy


def test_a_header_is_read_up_to_64_kib_and_no_further(tmp_path: Path) -> None:
    begin, end = "#!/bin/sh\n# /// script\n# [tool.heartbeat]\n# every = '5m'\n", "# ///"
    fill = "# # " + "x" * (65536 - len(f"{begin}# # \n{end}"))
    for extra, fits in (("", True), ("x", False)):
        script_at(tmp_path / "home/jobs/x.sh", f"{begin}{fill}{extra}\n{end}")
        if fits:
            assert only(job_at(tmp_path, "[jobs.x]")) == Every(timedelta(minutes=5))
        else:
            (problem,) = problems_at(tmp_path, "[jobs.x]")
            assert "in the first 64 KiB" in problem.remedy


@run_with(deadline=None)
@given(st.binary(max_size=300) | st.text(alphabet="#/ script\n[]tool.heartbeat='\"1m", max_size=200).map(str.encode))
def test_any_bytes_after_the_start_of_a_header_are_read_or_told(tail: bytes) -> None:
    for problem in header_faults(b"# /// script\n# " + tail + b"\n# ///\n"):
        assert problem.message.startswith("cannot ")


# Options, schedules


@pytest.mark.parametrize(
    ("options", "key", "message", "remedy"),
    [
        (
            "dept = 3",
            "jobs.x.options.dept",
            'unknown option "dept"',
            "did you mean 'depth'? known are: depth, share, names",
        ),
        ("depth = 'x'", "jobs.x.options.depth", '"x": this option is a whole number', "such as the default 3"),
        ("depth = true", "jobs.x.options.depth", "cannot use true: this option is a whole number", "default 3"),
        ("depth = 3.0", "jobs.x.options.depth", "cannot use 3.0", "a whole number"),
        ("share = '1'", "jobs.x.options.share", '"1": this option is a number', "default 0.5"),
        ("share = false", "jobs.x.options.share", "cannot use false", "a number"),
        ("names = 'a'", "jobs.x.options.names", '"a": this option is a list', "a list"),
    ],
)
def test_an_option_the_script_does_not_declare_so_is_told(
    tmp_path: Path, options: str, key: str, message: str, remedy: str
) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    (problem,) = problems_at(tmp_path, f"jobs.x.options = {{ {options} }}")
    assert problem.key == key
    assert message in problem.message
    assert remedy in problem.remedy


def test_without_declared_options_anything_goes(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh")
    assert load_at(tmp_path, "jobs.x = { every = '1h', options = { a = [1, {}] } }").jobs["x"].options == {"a": [1, {}]}


def test_a_private_option_of_the_wrong_type_is_not_shown(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER.replace("depth = 3", "password = ''"))
    (problem,) = problems_at(tmp_path, "jobs.x.options.password = 11112222")
    assert "1111" not in str(problem)


SCHEDULES = [
    # header, job, key, phrase; the key is the configuration's unless it begins with tool
    ("", "", "jobs.x", "cannot tell when to run it"),
    ("", "every = '1h', cron = '@daily'", "jobs.x.cron", "every and cron at once"),
    ("", "cron = '@daily', at = '2030-01-01T00:00:00Z'", "jobs.x.at", "cron and at at once"),
    ("", "every = '1h', schedule = 'weekdays at 9'", "jobs.x.schedule", "every and schedule at once"),
    ("# every = '5m'\n# at = '2030-01-01T00:00:00Z'\n", "", "tool.heartbeat.at", "every and at at once"),
]


@pytest.mark.parametrize(("header", "job", "key", "message"), SCHEDULES)
def test_a_job_needs_exactly_one_schedule(tmp_path: Path, header: str, job: str, key: str, message: str) -> None:
    text = f"#!/bin/sh\n# /// script\n# [tool.heartbeat]\n{header}# ///\n"
    script = script_at(tmp_path / "home/jobs/x.sh", text)
    (problem,) = problems_at(tmp_path, f"jobs.x = {{ {job} }}")
    assert problem.key == key
    assert message in problem.message
    assert problem.file == str(script if key.startswith("tool") else tmp_path / "home/config.toml")


def test_one_schedule_of_the_owner_replaces_two_of_the_script(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER.replace("# timeout", "# cron = '@daily'\n# timeout"))
    job = load_at(tmp_path, "jobs.x.at = 2030-01-01T00:00:00+01:00").jobs["x"]
    assert only(job) == At(datetime(2029, 12, 31, 23, tzinfo=UTC))


# When


@pytest.mark.parametrize(
    ("written", "schedules", "words"),
    [
        ("every = '90m'", (Every(timedelta(minutes=90)),), "every 1h30m"),
        ("cron = '0 9 * * *'", (Cron("0 9 * * *"),), "cron 0 9 * * *"),
        ("cron = ['@daily', '0 9 * * *']", (Cron("@daily"), Cron("0 9 * * *")), "cron @daily; cron 0 9 * * *"),
        ("cron = ['@daily', '@daily']", (Cron("@daily"),), "cron @daily; cron @daily"),
        ("at = 2030-01-01T00:00:00Z", (At(datetime(2030, 1, 1, tzinfo=UTC)),), "at 2030-01-01T09:00:00+09:00"),
        (
            "at = ['2030-01-01T00:00:00Z', '2031-01-01T00:00:00Z']",
            (At(datetime(2030, 1, 1, tzinfo=UTC)), At(datetime(2031, 1, 1, tzinfo=UTC))),
            "at 2030-01-01T09:00:00+09:00; at 2031-01-01T09:00:00+09:00",
        ),
        ("schedule = 'every 10m'", (Every(timedelta(minutes=10)),), "every 10m"),
        (
            "schedule = ['every 10m', '0 9 * * *']",
            (Every(timedelta(minutes=10)), Cron("0 9 * * *")),
            "every 10m; 0 9 * * *",
        ),
    ],
)
def test_a_schedule_is_kept_as_it_works_and_as_it_is_written(
    tmp_path: Path, written: str, schedules: tuple[Schedule, ...], words: str
) -> None:
    script_at(tmp_path / "home/jobs/x.sh")
    job = job_at(tmp_path, f"owner.zone = 'Asia/Tokyo'\njobs.x = {{ {written} }}")
    assert (job.timing.schedules, job.schedule) == (schedules, words)


@pytest.mark.parametrize(
    ("declared", "count"), [("schedule = ['weekdays at 9', 'every 1h']", 2), ("cron = ['@daily', '@weekly']", 2)]
)
def test_a_header_may_declare_several_schedules(tmp_path: Path, declared: str, count: int) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER.replace('every = "15m"', declared))
    assert len(job_at(tmp_path, "[jobs.x]").timing.schedules) == count
    assert only(job_at(tmp_path, "jobs.x.every = '1m'")) == Every(timedelta(minutes=1))


def test_what_bounds_a_schedule_bounds_also_the_one_of_the_header(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    config = """
    owner.zone = "Asia/Tokyo"
    [jobs.x]
    zone = "Europe/Berlin"
    between = ["08:00-12:00", "22:00-02:00"]
    days = ["mon-fri", "sun"]
    until = 2030-01-01T00:00:00+01:00
    """
    assert job_at(tmp_path, config).timing == Timing(
        (Every(timedelta(minutes=15)),),
        ZoneInfo("Europe/Berlin"),
        between=(Window(480, 720), Window(1320, 120)),
        days=frozenset({0, 1, 2, 3, 4, 6}),
        until=datetime(2029, 12, 31, 23, tzinfo=UTC),
    )
    assert job_at(tmp_path, "owner.zone = 'Asia/Tokyo'\n[jobs.x]").timing == Timing(
        (Every(timedelta(minutes=15)),), ZoneInfo("Asia/Tokyo"), days=EVERY_DAY
    )


def test_what_becomes_of_a_slot_that_cannot_simply_run_is_the_jobs_policy(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    assert job_at(tmp_path, "[jobs.x]").policy == Policy()
    config = "jobs.x = { catch_up = 'skip', max_late = '2h', overlap = 'replace', rerun_interrupted = true }"
    assert job_at(tmp_path, config).policy == Policy("skip", timedelta(hours=2), "replace", rerun_interrupted=True)
    assert job_at(tmp_path, "jobs.x.paused = true").policy == Policy(paused=True)


@pytest.mark.parametrize("more", ["", ", overlap = 'queue'"])
def test_every_slot_can_run_only_when_they_queue(tmp_path: Path, more: str) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    assert job_at(tmp_path, f"jobs.x = {{ catch_up = 'all'{more} }}").policy == Policy("all", overlap="queue")


def test_each_job_has_its_own_steady_share_of_the_jitter(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    config = "".join(f"[jobs.job-{number}]\nscript = 'jobs/x.sh'\njitter = '1m'\n" for number in range(300))
    jobs = load_at(tmp_path, config).jobs
    shifts = {name: job.timing.shift for name, job in jobs.items()}
    assert shifts == {name: job.timing.shift for name, job in load_at(tmp_path, config).jobs.items()}
    assert {shift.total_seconds() for shift in shifts.values()} <= set(range(60))
    assert len(set(shifts.values())) > 50
    assert shifts["job-0"] == timedelta(seconds=17)  # another would move every slot of it


@pytest.mark.parametrize("jitter", ["0s", "1s"])
def test_a_jitter_of_less_than_two_seconds_moves_nothing(tmp_path: Path, jitter: str) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    assert job_at(tmp_path, f"jobs.x.jitter = '{jitter}'").timing.shift == timedelta()


def test_an_instant_that_the_owner_names_is_not_moved(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    for written in ("at = 2030-01-01T00:00:00Z", "schedule = 'at 2030-01-01T00:00:00Z'"):
        assert job_at(tmp_path, f"jobs.x = {{ jitter = '24h', {written} }}").timing.shift == timedelta()
    assert job_at(tmp_path, "jobs.x = { jitter = '24h', every = '1h' }").timing.shift > timedelta()


NEVER = [
    ("cron = '0 9 * * *', between = '10:00-12:00'", "between", "never comes due"),
    ("cron = '0 9 * * mon', days = 'tue'", "days", "never comes due"),
    ("cron = '0 12 * * *', between = '22:00-06:00', days = 'mon'", "between", "never comes due"),
    ("cron = ['0 9 * * *', '0 13 * * *'], between = '10:00-12:00'", "between", "never comes due"),
    ("at = 2030-01-01T12:00:00+01:00, between = '13:00-14:00'", "between", "never comes due"),
    ("every = '24h', between = '08:00-18:00'", "between", "would depend on when heartbeat first saw the job"),
    ("every = '7d', days = 'weekdays'", "days", "would depend on when"),
    ("every = '12h', between = ['08:00-12:00', '12:00-18:00']", "between", "would depend on when"),
    ("every = '90m', between = '08:00-08:20'", "between", "cannot run it every 1h30m"),
]


@pytest.mark.parametrize(("written", "key", "message"), NEVER)
def test_a_job_that_never_comes_due_or_only_by_chance_is_told(
    tmp_path: Path, written: str, key: str, message: str
) -> None:
    script_at(tmp_path / "home/jobs/x.sh")
    (problem,) = problems_at(tmp_path, f"owner.zone = 'Europe/Berlin'\njobs.x = {{ {written} }}")
    assert problem.key == f"jobs.x.{key}"
    assert problem.message.startswith("cannot")
    assert message in problem.message
    assert problem.remedy


SOMETIMES = [
    "cron = '0 9 * * *', between = '09:00-12:00'",
    "cron = '0 12 * * *', between = '09:00-12:00'",
    "cron = ['0 9 * * *', '0 11 * * *'], between = '10:00-12:00'",
    "cron = '0 0 29 2 *', days = 'mon'",
    "cron = '0 1 * * tue', between = '22:00-06:00', days = 'mon'",
    "at = 1970-01-01T00:00:00Z, between = '00:00-02:00'",
    "every = '10h', between = ['08:00-12:00', '12:00-18:00']",
    "every = '1d', days = 'mon'",
    "every = '5d', between = '00:00-24:00', days = 'weekdays'",
    "every = '7d', between = '00:00-24:00'",
    "every = '8h', between = '22:00-06:00', days = 'sun'",
    "every = '11m', between = '08:00-08:01'",
    "cron = '0 9 * * *', between = '10:00-12:00', jitter = 5",
]


@pytest.mark.parametrize("written", SOMETIMES)
def test_a_job_that_comes_due_inside_its_windows_is_not_refused(tmp_path: Path, written: str) -> None:
    script_at(tmp_path / "home/jobs/x.sh")
    config = f"owner.zone = 'Europe/Berlin'\njobs.x = {{ {written} }}"
    if "jitter = 5" in written:  # one fault is not told as two
        assert [problem.key for problem in problems_at(tmp_path, config)] == ["jobs.x.jitter"]
    else:
        assert job_at(tmp_path, config).timing.schedules


@pytest.mark.parametrize(
    ("every", "window", "days", "refused"),
    [
        ("1d1s", ("09:00", "09:01"), range(7), True),  # a second later each day: for a century it may never be nine
        ("1d1s", ("09:00", "17:00"), range(7), True),
        ("6d16h29m", ("00:00", "00:01"), [0], True),
        ("25h", ("09:00", "17:00"), range(7), False),
        ("13h", ("09:00", "10:00"), range(7), False),
        ("1s", ("09:00", "09:01"), range(7), False),
    ],
)
def test_an_interval_that_would_meet_its_windows_only_after_years_is_refused(
    every: str, window: tuple[str, str], days: Sequence[int], refused: bool
) -> None:
    start, end = (int(text[:2]) * 60 + int(text[3:]) for text in window)
    schedules = (Every(parse_duration(every)),)
    timing = Timing(schedules, ZoneInfo("UTC"), between=(Window(start, end),), days=frozenset(days))
    assert (fault_of(timing) is not None) == refused


@given(
    period=st.integers(1, 20_000),
    start=st.integers(0, 1439),
    end=st.integers(0, 1440),
    days=st.frozensets(st.integers(0, 6), min_size=1),
    anchor=st.integers(0, 7 * 1440 - 1),
)
def test_an_interval_that_is_not_refused_comes_due_wherever_it_begins(
    period: int, start: int, end: int, days: frozenset[int], anchor: int
) -> None:
    assume(start != end)
    timing = Timing((Every(timedelta(minutes=period)),), ZoneInfo("UTC"), between=(Window(start, end),), days=days)
    begun = datetime(2026, 6, 8, tzinfo=UTC) + timedelta(minutes=anchor)
    if fault_of(timing) is None:
        assert next_slot(timing, begun, anchor=begun) is not None


# All faults, many jobs


def test_faults_of_settings_scripts_headers_and_secrets_are_told_at_once(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/bare.sh", "echo\n")
    script_at(tmp_path / "home/jobs/headed.sh", "#!/bin/sh\n# /// script\n# x\n# ///\n")
    script_at(tmp_path / "home/jobs/good.sh", HEADER)
    problems = problems_at(
        tmp_path,
        """
        agent.attempts = 0
        agent.secrets = { KEY = { env = "ABSENT" } }
        [jobs.gone]
        every = "never"
        [jobs.bare]
        [jobs.headed]
        [jobs.good]
        options = { nonsense = 1, depth = "x" }
        secrets = { KEY = { file = "absent" } }
        """,
    )
    assert [problem.key for problem in problems] == [
        *("agent.attempts", "jobs.gone.every", "jobs.gone.script", "jobs.bare.script", ""),
        *("jobs.good.options.nonsense", "jobs.good.options.depth", "agent.secrets.KEY", "jobs.good.secrets.KEY"),
    ]


def test_a_fault_is_not_told_a_second_time_as_another(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh")
    (problem,) = problems_at(tmp_path, "jobs.x.every = 5")
    assert problem.key == "jobs.x.every"
    (problem,) = problems_at(tmp_path, "jobs.nowhere = { script = 5, every = '1h' }")
    assert problem.key == "jobs.nowhere.script"


def test_a_fault_of_a_script_that_many_jobs_run_is_told_once(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", "#!/bin/sh\n# /// script\n# x\n# ///\n")
    config = "".join(f"[jobs.job-{number}]\nscript = 'jobs/x.sh'\n" for number in range(300))
    (problem,) = problems_at(tmp_path, config)
    assert problem.file.endswith("x.sh")


def test_of_very_many_problems_the_first_hundred_are_told_and_that_there_are_more(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh")
    config = "".join(f"[jobs.job-{number}]\nscript = 'jobs/x.sh'\nevery = {number}\n" for number in range(300))
    problems = problems_at(tmp_path, config)
    assert [problem.key for problem in problems[:100]] == [f"jobs.job-{number}.every" for number in range(100)]
    assert [str(problem).partition(": ")[2] for problem in problems[100:]] == [
        "cannot list every problem: there are more than 100; correct these first"
    ]


def test_jobs_share_what_is_equal_and_their_script_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    read: list[Script] = []

    def noted(script: Script) -> Header:
        read.append(script)
        return read_header(script)

    monkeypatch.setattr("heartbeat.job.programs.read_header", noted)
    same = (
        "script = 'jobs/x.sh', every = '2h', between = '08:00-18:00', prompt = 'Look.', timeout = '9s', max_late = '1h'"
    )
    first, second = load_at(tmp_path, f"jobs.a = {{ {same} }}\njobs.b = {{ {same} }}").jobs.values()
    assert len(read) == 1
    assert first.name != second.name
    for part in ("script", "argv", "timing", "schedule", "policy", "timeout", "prompt", "options", "env", "secrets"):
        assert getattr(first, part) is getattr(second, part), part


def test_a_shared_script_is_looked_up_anew_on_another_path(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x", "#!/usr/bin/env my-interpreter\n")
    script_at(tmp_path / "bin/my-interpreter")
    config = f"""
    jobs.a = {{ script = 'jobs/x', every = '1h', env = {{ PATH = '{tmp_path}/bin' }} }}
    jobs.b = {{ script = 'jobs/x', every = '1h' }}
    """
    assert [problem.key for problem in problems_at(tmp_path, config)] == ["jobs.b.script"]


def test_of_very_many_scripts_only_some_are_listed(tmp_path: Path) -> None:
    for number in range(60):
        script_at(tmp_path / f"home/jobs/check-{number:02}")
    (problem,) = problems_at(tmp_path, "jobs.check-5x.every = '1h'")
    assert "check-49, …" in problem.remedy
    assert "did you mean 'check-5" in problem.remedy


def test_another_file_can_be_checked_in_the_same_home(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    other = tmp_path / "other.toml"
    other.write_text("[jobs.x]")
    home = home_at(tmp_path, "nonsense = 1")
    assert set(load(home, environ_at(tmp_path), file=other).jobs) == {"x"}
    with pytest.raises(ConfigError, match="No such file"):
        load(home, environ_at(tmp_path), file=tmp_path / "absent.toml")


@pytest.mark.parametrize("path", sorted((share("config") / "examples").iterdir()), ids=lambda path: path.name)
def test_every_shipped_example_loads_where_its_scripts_are(tmp_path: Path, path: Path) -> None:
    for name in ("disk_space.sh", "site-up", "weekly_report.py"):
        script_at(tmp_path / "home/jobs" / name)
    for name in ("hermes/scripts/watch_prices.sh", "nanoclaw/inbox_count.sh", "bin/new-year"):
        script_at(tmp_path / name)
    loaded = load_at(tmp_path, path.read_text())
    assert loaded.jobs
    assert all("cannot run 'pass' for a secret" in problem.message for problem in loaded.unready)


# Secrets


def test_a_secret_comes_from_a_variable_or_a_file(tmp_path: Path) -> None:
    script_at(tmp_path / "pw", "s3cret\r\n", 0o600)
    home_at(tmp_path)
    for text in ("~/pw", "../pw", str(tmp_path / "pw")):
        assert Secret(file=text).read(tmp_path / "home", environ_at(tmp_path)) == "s3cret"
    assert Secret(env="X").read(tmp_path, {"X": "s3cret\n"}) == "s3cret\n"


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (b"s3cret", 0o640, "others may read or change it; run `chmod 600"),
        (b"s3cret", 0o602, "others may read or change it"),
        (b"", 0o600, "it is empty"),
        (b"\n", 0o600, "it is empty"),
        (b"s3cret\0", 0o600, "NUL"),
        (b"s3cret\xff", 0o600, "not UTF-8"),
        (b"s3cret" + b"x" * 65531, 0o600, "larger than 64 KiB"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_secret_file_that_cannot_be_used_is_told_without_its_content(
    tmp_path: Path, content: bytes, mode: int, message: str
) -> None:
    script_at(tmp_path / "pw", content, mode)
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    (problem,) = unready_at(tmp_path, "jobs.x.secrets.PW.file = '~/pw'")
    assert problem.key == "jobs.x.secrets.PW"
    assert message in f"{problem.message}; {problem.remedy}"
    assert "s3cret" not in str(problem)


def test_a_secret_of_64_kib_is_accepted(tmp_path: Path) -> None:
    script_at(tmp_path / "pw", b"x" * 65536, 0o400)
    assert len(Secret(file="~/pw").read(tmp_path, environ_at(tmp_path))) == 65536


def test_a_fifo_a_folder_and_nothing_are_no_secret(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    (tmp_path / "folder").mkdir(mode=0o700)
    for name in ("fifo", "folder", "absent"):
        with pytest.raises(ValueError, match="cannot"):
            Secret(file=name).read(tmp_path, {})


def test_the_text_of_a_secret_names_only_its_place() -> None:
    assert "s3cret" not in repr(Secret(env="X")) + str(Secret(file="~/x"))


def test_a_name_may_not_be_set_both_openly_and_as_a_secret(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    (problem,) = problems_at(tmp_path, "jobs.x = { env = { A = '1' }, secrets = { A = { env = 'X' } } }", X="1")
    assert (problem.key, "twice" in problem.message) == ("jobs.x.secrets.A", True)


def test_a_variable_that_an_option_names_must_be_there(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh")
    config = "jobs.x = { every = '1h', options = { sources = [ { url = 'u', password = { env = 'CAL_PW' } } ] } }"
    (problem,) = unready_at(tmp_path, config)
    assert problem.key == "jobs.x.options.sources[0].password"
    assert "CAL_PW" in problem.message
    assert unready_at(tmp_path, config, CAL_PW="s3cret") == ()


# What a run is given


def environment_at(folder: Path, config: str, slot: datetime | None = NOW, **environ: str) -> dict[str, str]:
    loaded = load_at(folder, config, **environ)
    home = home_at(folder, config)
    (job,) = loaded.jobs.values()
    return environment(
        job,
        loaded.settings,
        home,
        run_id="run_1",
        slot=slot,
        now=NOW,
        token="t0ken",
        environ=environ_at(folder, **environ),
    )


def test_the_environment_is_exactly_the_declared_one(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh")
    config = """
    owner = { emails = ["a@b", "c@d"], zone = "Asia/Tokyo" }
    [jobs.x]
    every = "1h"
    env = { A = "1" }
    secrets = { B = { env = "HIDDEN" } }
    options = { "ä" = 1, url = { env = "NAMED" } }
    """
    given = environment_at(tmp_path, config, HIDDEN="s3cret", NAMED="n", OTHER="o")
    path = given.pop("PATH").split(":")
    assert path[:3] == ["/usr/local/bin", "/usr/bin", "/bin"]
    assert len(path) == 4
    home = tmp_path / "home"
    assert given == {
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "TZ": "Asia/Tokyo",
        "A": "1",
        "B": "s3cret",
        "NAMED": "n",
        "HEARTBEAT_JOB": "x",
        "HEARTBEAT_RUN_ID": "run_1",
        "HEARTBEAT_SLOT": "2026-06-10T08:00:00.000000Z",
        "HEARTBEAT_NOW": "2026-06-10T08:00:00.000000Z",
        "HEARTBEAT_TOKEN": "t0ken",
        "HEARTBEAT_OPTIONS": '{"\\u00e4":1,"url":{"env":"NAMED"}}',
        "HEARTBEAT_CACHE_DIR": str(home / "cache/jobs/x"),
        "HEARTBEAT_HOME": str(home),
        "HEARTBEAT_STATE_DIR": str(home / "state"),
        "HEARTBEAT_ZONE": "Asia/Tokyo",
        "HEARTBEAT_OWNER_EMAILS": "a@b,c@d",
    }
    assert json.loads(given["HEARTBEAT_OPTIONS"]) == {"ä": 1, "url": {"env": "NAMED"}}
    assert stat.S_IMODE((home / "cache/jobs/x").stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "cache").stat().st_mode) == 0o700


def test_the_child_of_a_job_with_a_zone_of_its_own_lives_in_that(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    given = environment_at(tmp_path, "owner.zone = 'Asia/Tokyo'\njobs.x.zone = 'Europe/Berlin'")
    assert (given["TZ"], given["HEARTBEAT_ZONE"]) == ("Europe/Berlin", "Asia/Tokyo")


def test_a_manual_run_has_no_slot(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    assert environment_at(tmp_path, "[jobs.x]", slot=None)["HEARTBEAT_SLOT"] == ""


@pytest.mark.parametrize("home", ["", None])
def test_home_is_set_even_when_the_service_manager_leaves_it_out(tmp_path: Path, home: str | None) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    config = load_at(tmp_path, "[jobs.x]")
    environ = {} if home is None else {"HOME": home}
    given = environment(
        config.jobs["x"],
        config.settings,
        home_at(tmp_path),
        run_id="r",
        slot=None,
        now=NOW,
        token="t",
        environ=environ,
    )
    assert os.path.isabs(given["HOME"])


def test_the_owner_may_set_path_language_and_zone_of_a_job(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    given = environment_at(tmp_path, "jobs.x.env = { PATH = '/bin', LANG = 'C', TZ = 'UTC', HOME = '/tmp' }")
    assert (given["PATH"], given["LANG"], given["TZ"], given["HOME"]) == ("/bin", "C", "UTC", "/tmp")


def test_an_option_that_names_a_variable_cannot_replace_a_declared_one(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh")
    config = "jobs.x = { every = '1h', options = { a = { env = 'PATH' }, b = { env = 'HEARTBEAT_TOKEN' } } }"
    given = environment_at(tmp_path, config, HEARTBEAT_TOKEN="forged")
    assert given["HEARTBEAT_TOKEN"] == "t0ken"
    assert given["PATH"].startswith("/usr/local/bin:")


def test_a_secret_that_has_gone_since_costs_the_run_with_a_clear_error(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh")
    config = load_at(tmp_path, "jobs.x = { every = '1h', secrets = { A = { env = 'X' } } }", X="s3cret")
    with pytest.raises(ConfigError, match=r"jobs\.x\.secrets\.A: cannot find the variable X"):
        environment(
            config.jobs["x"],
            config.settings,
            home_at(tmp_path),
            run_id="r",
            slot=None,
            now=NOW,
            token="t",
            environ={},
        )


def test_a_cache_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    home_at(tmp_path)
    (tmp_path / "home/cache").write_text("in the way")
    with pytest.raises(HeartbeatError, match="cannot create the cache folder"):
        environment_at(tmp_path, "[jobs.x]")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_the_cache_folder_that_root_makes_belongs_to_the_owner_of_the_home(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x.sh", HEADER)
    os.chown(home_at(tmp_path).config, 1234, 2345)
    environment_at(tmp_path, "[jobs.x]")
    for name in ("cache", "cache/jobs", "cache/jobs/x"):
        found = (tmp_path / "home" / name).stat()
        assert (found.st_uid, found.st_gid) == (1234, 2345)


def test_the_agent_gets_its_own_variables_and_finds_the_same_home(tmp_path: Path) -> None:
    config = load_at(
        tmp_path,
        "[agent]\nkind = 'command'\ncommand = ['a']\nenv = { A = '1' }\nsecrets = { B = { env = 'X' } }",
        X="s3cret",
    )
    home = home_at(tmp_path)
    given = agent_environment(config.settings, home, environ_at(tmp_path, X="s3cret", OTHER="o"))
    assert (given["A"], given["B"]) == ("1", "s3cret")
    assert {name: given[name] for name in home.environment()} == home.environment()
    assert set(given) == {"PATH", "HOME", "LANG", "TZ", "A", "B", *home.environment()}


def test_a_job_has_the_documented_defaults() -> None:
    job = Job("x", Path("/x"), ("/x",), Timing((Every(timedelta(minutes=1)),), ZoneInfo("UTC")))
    assert (job.timeout, job.dialect, job.dedupe, job.enabled) == (timedelta(seconds=60), "strict", "identity", True)
    assert job.policy == Policy("once", None, "skip", rerun_interrupted=False, paused=False)


@given(st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=366)))
def test_a_duration_that_code_gives_is_taken_as_it_is(duration: timedelta) -> None:
    assert Between("1s", "366d").read(duration) == duration


@pytest.mark.parametrize(
    ("dependencies", "ours"),
    [
        ('["heartbeat"]', True),
        ('["requests", "heartbeat>=0.1"]', True),
        ('["heartbeat-tools"]', False),
        ('["requests"]', False),
        ('"heartbeat"', False),
    ],
)
def test_a_python_script_that_needs_heartbeat_is_run_by_our_python(
    tmp_path: Path, dependencies: str, *, ours: bool
) -> None:
    text = f"#!/usr/bin/env python3\n# /// script\n# dependencies = {dependencies}\n# ///\n"
    script = script_at(tmp_path / "home/jobs/x.py", text)
    started = load_at(tmp_path, "jobs.x.every = '1h'").jobs["x"].argv
    assert started == ((sys.executable, "-P", str(script)) if ours else (str(script),))


def test_a_token_cannot_be_demanded_in_a_foreign_dialect(tmp_path: Path) -> None:
    script_at(tmp_path / "home/jobs/x", "#!/bin/sh\n")
    with pytest.raises(ConfigError) as caught:
        load_at(tmp_path, "[jobs.x]\nevery = '1h'\ndialect = 'hermes'\nrequire_token = true")
    assert [problem.key for problem in caught.value.problems] == ["jobs.x.require_token"]
