"""The configuration file: defaults, limits, and every fault told with its key, its value and a remedy."""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import jsonschema
import pytest
from hypothesis import given
from hypothesis import settings as run_with
from hypothesis import strategies as st
from pydantic import BaseModel

from heartbeat.config import AgentSettings, JobSettings, Settings, load_settings, read_job, read_settings
from heartbeat.config.discipline import RuleSettings
from heartbeat.config.schema import schema
from heartbeat.config.settings import ConfigFile
from heartbeat.decide import Budget, QuietHours, QuietWindow
from heartbeat.errors import ConfigError, Problem
from heartbeat.paths import Home, share
from heartbeat.schedule import Window
from heartbeat.zones import host_zone

JARGON = re.compile(
    r"pydantic|Input should|Extra inputs|valid (string|dictionary|integer|tuple|boolean)|Value error|type=|_type\b|None"
)
CONFIG = share("config")


def home_at(folder: Path, text: str | bytes | None = None) -> Home:
    home = Home(folder, folder / "state", folder / "cache")
    if text is not None:
        home.config_file.write_bytes(text.encode() if isinstance(text, str) else text)
    return home


def read_at(folder: Path, text: str | bytes) -> tuple[Settings, dict[str, JobSettings], tuple[Problem, ...]]:
    """The settings, the jobs without a look at their scripts, and every problem."""
    file = home_at(folder, text).config_file
    reading = read_settings(file)
    jobs: dict[str, JobSettings] = {}
    problems = list(reading.problems)
    for name, table in reading.jobs:
        job, faults, _ = read_job(name, table, str(file))
        problems += faults
        if job is not None:
            jobs[name] = job
    return reading.settings, jobs, tuple(problems)


def settings_of(folder: Path, text: str) -> Settings:
    settings, _, problems = read_at(folder, text)
    assert problems == ()
    return settings


def job_of(folder: Path, text: str) -> JobSettings:
    _, jobs, problems = read_at(folder, text)
    assert problems == ()
    (job,) = jobs.values()
    return job


def problems_of(folder: Path, text: str | bytes) -> tuple[Problem, ...]:
    try:
        return read_at(folder, text)[2]
    except ConfigError as error:
        return error.problems or (Problem("", "", "", "a ConfigError without a problem"),)


def test_a_missing_file_means_all_defaults(tmp_path: Path) -> None:
    assert load_settings(home_at(tmp_path)) == Settings()


def test_an_empty_file_means_all_defaults(tmp_path: Path) -> None:
    assert settings_of(tmp_path, "") == Settings()


def test_the_defaults_are_the_documented_ones() -> None:
    settings = Settings()
    assert settings.owner.zone == host_zone() != ""
    assert settings.agent.kind == "none"
    assert settings.agent.timeout == timedelta(minutes=10)
    assert (settings.daemon.workers, settings.daemon.drain) == (8, timedelta(seconds=2))
    assert (settings.retention.history, settings.retention.outputs) == (timedelta(days=30), 1000)
    assert (settings.quiet.windows, settings.quiet.holidays) == ((), ())
    assert settings.quiet.last_call == timedelta(minutes=30)
    assert settings.budget.min_gap == timedelta(minutes=2)
    assert (settings.budget.per_hour, settings.budget.per_day, settings.budget.critical_per_hour) == (6, 40, 12)
    assert (settings.budget.usd_per_day, settings.budget.tokens_per_day, settings.rules) == (None, None, ())


def test_every_section_is_read(tmp_path: Path) -> None:
    settings, jobs, problems = read_at(
        tmp_path,
        """
        owner = { emails = ["me@example.org", "i+tag@example.org"], zone = "Asia/Tokyo" }
        environment = { path = "/opt/bin:/bin", lang = "de_DE.UTF-8" }
        daemon = { workers = 2, drain = "1m30s" }
        log.level = "debug"
        [agent]
        kind = "command"
        command = ["/bin/agent", "{prompt}"]
        env = { A = "1" }
        secrets = { KEY = { env = "X" }, TOKEN = { file = "~/t" }, PW.command = ["pass", "show"], PIN.keyring = "a/b" }
        [jobs.my-check]
        cron = "0 9 * * mon"
        options = { lookahead = "90m", deep = { list = [1, 2.5, true, "x"] } }
        [jobs.once]
        at = 2030-01-01T00:00:00+01:00
        """,
    )
    assert problems == ()
    assert settings.owner.emails == ("me@example.org", "i+tag@example.org")
    assert settings.owner.zone == "Asia/Tokyo"
    assert settings.daemon.drain == timedelta(seconds=90)
    assert settings.agent.command == ("/bin/agent", "{prompt}")
    assert settings.agent.secrets["TOKEN"].file == "~/t"
    assert settings.agent.secrets["PW"].command == ("pass", "show")
    assert settings.agent.secrets["PIN"].keyring == "a/b"
    assert jobs["my-check"].options["deep"] == {"list": [1, 2.5, True, "x"]}
    assert jobs["once"].at == (datetime(2029, 12, 31, 23, tzinfo=UTC),)


BAD = [
    # text of the file, key, phrase of the message, phrase of the remedy
    ("colour = 1", "colour", 'unknown section "colour"', "known are: owner, environment, agent"),
    ("[job.x]", "job", 'unknown section "job"', "did you mean 'jobs'?"),
    ("[hush]", "hush", "unknown section", "known are"),
    ("quiet.windows = '23:00-07:00'", "quiet.windows", "it must be a list", "write a list"),
    ("quiet.windows = [{ start = '23:00' }]", "quiet.windows[0].end", "cannot do without the key end", "write end = "),
    (
        "quiet.windows = [{ start = '9:00', end = '10:00', begin = 1 }]",
        "quiet.windows[0].begin",
        'unknown key "begin"',
        "known are: start, end, days",
    ),
    ("quiet.windows = [{ start = '9', end = '10:00' }]", "quiet.windows[0].start", '"9" as a time', '"23:30"'),
    ("quiet.windows = [{ start = '9:00', end = '24:01' }]", "quiet.windows[0].end", '"24:01" as a time', '"23:30"'),
    ("quiet.windows = [{ start = '9:60', end = '10:00' }]", "quiet.windows[0].start", '"9:60"', '"23:30"'),
    ("quiet.windows = [{ start = 09:00:00, end = '1:00' }]", "quiet.windows[0].start", "09:00:00", "in quotes"),
    ("quiet.windows = [{ start = '24:00', end = '7:00' }]", "quiet.windows[0]", '"24:00"', 'start = "00:00"'),
    ("quiet.windows = [{ start = '9:00', end = '09:00' }]", "quiet.windows[0]", "ends where it begins", '"24:00"'),
    (
        "quiet.windows = [{ start = '9:00', end = '10:00', days = ['sat', 'feast'] }]",
        "quiet.windows[0].days[1]",
        '"feast" as days of the week',
        '"holidays"',
    ),
    ("quiet.windows = [" + "{ start = '9:00', end = '10:00' }," * 101 + "]", "quiet.windows", "too long", "most 100"),
    ("quiet.holidays = ['2026-02-30']", "quiet.holidays[0]", '"2026-02-30" as a day', "like 2026-12-25"),
    ("quiet.holidays = ['25.12.']", "quiet.holidays[0]", '"25.12." as a day', "like 2026-12-25"),
    ("quiet.holidays = ['20261225']", "quiet.holidays[0]", '"20261225" as a day', "like 2026-12-25"),
    ("quiet.holidays = [2026-12-25T00:00:00]", "quiet.holidays[0]", "2026-12-25T00:00:00", "like 2026-12-25"),
    ("quiet.holidays = [" + "2026-12-25," * 1001 + "]", "quiet.holidays", "it is too long", "at most 1000"),
    ("quiet.last_call = '59s'", "quiet.last_call", '"59s"', 'from 1m to 24h, or "never"'),
    ("quiet.last_call = '24h1s'", "quiet.last_call", '"24h1s"', 'from 1m to 24h, or "never"'),
    ("quiet.last_call = 'always'", "quiet.last_call", "'always'", 'or "never"'),
    ("budget.min_gap = '24h1s'", "budget.min_gap", '"24h1s"', "from 0s to 24h"),
    ("budget.per_hour = -1", "budget.per_hour", "it is too small", "from 0"),
    ("budget.per_hour = 3601", "budget.per_hour", "it is too large", "up to 3600"),
    ("budget.per_day = 86401", "budget.per_day", "it is too large", "up to 86400"),
    ("budget.critical_per_hour = 0", "budget.critical_per_hour", "it is too small", "from 1"),
    ("budget.usd_per_day = '5'", "budget.usd_per_day", '"5": it must be a number', "without quotes"),
    ("budget.usd_per_day = nan", "budget.usd_per_day", "cannot use nan: it is no number", "such as 2.5"),
    ("budget.usd_per_day = inf", "budget.usd_per_day", "cannot use inf: it is no number", "such as 2.5"),
    ("agent.max_usd = nan", "agent.max_usd", "cannot use nan: it is no number", "such as 2.5"),
    ("agent.prices = [nan, 1.0]", "agent.prices[0]", "cannot use nan: it is no number", "such as 2.5"),
    ("channels.Phone.kind = 'desktop'", "channels.Phone", '"Phone" as a channel\'s name', "a-z"),
    ("channels.a = { kind = 'desktop', takes = ['briefs'] }", "channels.a.takes[0]", '"briefs"', "'brief'"),
    ("channels.a = { kind = 'desktop', takes = [] }", "channels.a.takes", "it is empty", "at least one"),
    ("channels.a = { kind = 'apprise', url = 'json://x' }", "channels.a.url", "not shown", '{ file = "~/path" }'),
    (
        "quiet.windows = {start = '23:00', end = '07:00'}",
        "quiet.windows",
        "it must be a list of tables",
        "windows = [{",
    ),
    ("rules = { do = 'mute', job = 'a' }", "rules", "it must be a list of tables", "[[rules]]"),
    ("budget.usd_per_day = -0.01", "budget.usd_per_day", "it is too small", "from 0"),
    ("budget.tokens_per_day = 1.5", "budget.tokens_per_day", "1.5: it must be a whole number", "without quotes"),
    ("rules = 1", "rules", "it must be a list", "write a list"),
    ("rules = [1]", "rules[0]", "cannot use 1: it must be a table (rule 1)", "table of this name"),
    ("rules = [{ job = 'a' }]", "rules[0].do", "cannot do without the key do", "write do = "),
    ("rules = [{ do = 'hide', job = 'a' }]", "rules[0].do", '"hide"', "'mute', 'raise', 'lower' or 'remind'"),
    ("rules = [{ do = 'mute', jbo = 'a' }]", "rules[0].jbo", 'unknown key "jbo"', "did you mean 'job'?"),
    ("rules = [{ do = 'mute' }]", "rules[0]", "it would mute everything", 'write job = "*"'),
    ("rules = [{ do = 'lower', to = 'low' }]", "rules[0]", "it would lower everything", 'write job = "*"'),
    ("rules = [{ do = 'mute', job = 'a', to = 'low' }]", "rules[0]", "cannot use to in a rule to mute", "remove it"),
    ("rules = [{ do = 'raise', job = 'a', after = '1h' }]", "rules[0]", "cannot use after", 'do = "remind"'),
    ("rules = [{ do = 'remind', job = 'a' }]", "rules[0]", "without knowing when", 'after = "2h"'),
    ("rules = [{ do = 'mute', sender = 'rae' }]", "rules[0]", '"rae" as a sender', '"@example.org"'),
    ("rules = [{ do = 'mute', sender = '@' }]", "rules[0]", '"@" as a sender', '"@example.org"'),
    ("rules = [{ do = 'mute', pattern = '(' }]", "rules[0]", 'the pattern "("', "regular expressions"),
    ("rules = [{ do = 'mute', pattern = '" + "x" * 1001 + "' }]", "rules[0]", "it is too long", "at most 1000"),
    ("rules = [{ do = 'mute', job = 'a', until = '2030-01-01' }]", "rules[0].until", '"2030-01-01"', "offset"),
    ("rules = [" + "{ do = 'mute', job = 'a' }," * 1001 + "]", "rules", "it is too long", "at most 1000"),
    ("owner = 5", "owner", "cannot use 5: it must be a table", "in a table of this name"),
    ("owner.zone = 'europe/berlin'", "owner.zone", '"europe/berlin"', "did you mean 'Europe/Berlin'?"),
    ("owner.zone = '+02:00'", "owner.zone", '"+02:00"', "write an IANA zone"),
    ("owner.zone = ''", "owner.zone", '""', "write an IANA zone"),
    ("owner.zone = 'Europe'", "owner.zone", '"Europe"', ""),
    ("owner.zone = 'Factory'", "owner.zone", '"Factory"', "such as 'Europe/Berlin'"),
    ("owner.zone = '../etc/passwd'", "owner.zone", '"../etc/passwd"', ""),
    ("owner.zone = 'localtime'", "owner.zone", '"localtime"', ""),
    ("owner.zone = 2", "owner.zone", "cannot use 2: it must be text", "quotes"),
    ("owner.emails = 'me@example.org'", "owner.emails", "it must be a list", "write a list"),
    ("owner.emails = ['me']", "owner.emails[0]", '"me"', "me@example.org"),
    ("owner.emails = ['a@b', 'a@b@c']", "owner.emails[1]", '"a@b@c"', "me@example.org"),
    ("owner.emails = ['a b@c']", "owner.emails[0]", '"a b@c"', "bare"),
    ("owner.emails = ['a@b,c@d']", "owner.emails[0]", '"a@b,c@d"', "bare"),
    ("owner.emails = [1]", "owner.emails[0]", "cannot use 1: it must be text", "quotes"),
    ("environment.path = 'bin:/bin'", "environment.path", '"bin:/bin"', "whole folder names"),
    ("environment.path = ''", "environment.path", '""', "whole folder names"),
    ('environment.lang = "a\\u0000b"', "environment.lang", "NUL", "take that out"),
    (
        "agent.kind = 'robot'",
        "agent.kind",
        '"robot": it is not one of the known words',
        "write 'none', 'command', 'claude', 'codex', 'hermes', 'openclaw' or 'http'",
    ),
    ("agent.kind = 'command'", "agent.command", "without a command", "write command = ["),
    ("agent.command = ['a']", "agent.kind", "no kind is given", 'write kind = "command"'),
    ("agent.command = 'a b'", "agent.command", '"a b": it must be a list', "write a list"),
    ("agent.command = ['']", "agent.command", "first word is empty", "begin it with a program"),
    ("agent.command = ['a', 3]", "agent.command[1]", "cannot use 3: it must be text", "quotes"),
    ("agent.timeout = '10'", "agent.timeout", "'10'", "units w, d, h, m or s"),
    ("agent.timeout = 10", "agent.timeout", "cannot use 10 as a duration", '"10m"'),
    ("agent.timeout = '0s'", "agent.timeout", '"0s"', "from 1s to 24h"),
    ("agent.timeout = '24h1s'", "agent.timeout", '"24h1s"', "from 1s to 24h"),
    ("agent.timeout = '999999w'", "agent.timeout", '"999999w"', "from 1s to 24h"),
    ("agent.attempts = 0", "agent.attempts", "cannot use 0: it is too small", "from 1"),
    ("agent.attempts = 101", "agent.attempts", "cannot use 101: it is too large", "up to 100"),
    ("agent.attempts = '5'", "agent.attempts", '"5": it must be a whole number', "without quotes"),
    ("agent.attempts = true", "agent.attempts", "cannot use true", "whole number"),
    ("agent.attempts = 5.0", "agent.attempts", "cannot use 5.0", "whole number"),
    ("agent.env = { '1A' = 'x' }", "agent.env.1A", '"1A" as a variable\'s name', "no digit first"),
    ("agent.env = { HEARTBEAT_JOB = 'x' }", "agent.env.HEARTBEAT_JOB", "HEARTBEAT_JOB", "choose another name"),
    ("agent.secrets = { K = {} }", "agent.secrets.K", "cannot tell where this secret is kept", "{ env = "),
    ("agent.secrets = { K = { env = 'A', file = 'b' } }", "agent.secrets.K", "cannot tell", "{ file = "),
    ("agent.secrets = { K = { env = 'A', keyring = 'a/b' } }", "agent.secrets.K", "cannot tell", "{ keyring = "),
    ("agent.secrets = { K = { file = '' } }", "agent.secrets.K", "cannot tell where", "{ command = "),
    ("agent.secrets = { K = { command = [] } }", "agent.secrets.K.command", "after command", "a list of texts"),
    ("agent.secrets = { K = { command = [''] } }", "agent.secrets.K.command", "after command", "a list of texts"),
    ("agent.secrets = { K = { keyring = 'a' } }", "agent.secrets.K.keyring", "after keyring", "service and user"),
    ("agent.secrets = { K = { keyring = 'a/' } }", "agent.secrets.K.keyring", "after keyring", "service and user"),
    ("agent.secrets = { K = { cmd = 'b' } }", "agent.secrets.K.cmd", 'unknown key "cmd"', "known are: env, file"),
    ("agent.key = { '' = '' }", 'agent.key.""', 'unknown key ""', "known are: env, file"),
    ("ping.url = { cmd = 'b' }", "ping.url.cmd", 'unknown key "cmd"', "known are: env, file"),
    ("daemon.workers = 65", "daemon.workers", "65", "up to 64"),
    ("daemon.drain = '5m1s'", "daemon.drain", '"5m1s"', "from 0s to 5m"),
    ("retention.history = '23h'", "retention.history", '"23h"', "from 1d to 3660d"),
    ("retention.outputs = 1000001", "retention.outputs", "1000001", "up to 1000000"),
    ("log.level = 'loud'", "log.level", '"loud"', "'debug', 'info', 'warning' or 'error'"),
    ("jobs = 1", "jobs", "cannot use 1: it must be a table", "[jobs.NAME]"),
    ("[jobs.My_Check]", "jobs.My_Check", '"My_Check" as a job\'s name', "a-z, 0-9 and '-'"),
    ("[jobs.'-a']", "jobs.-a", '"-a"', "not '-' first"),
    ("[jobs.'a b']", 'jobs."a b"', '"a b"', "a-z"),
    ("jobs.a = 'x'", "jobs.a", '"x": it must be a table', "in a table of this name"),
    ("jobs.a.tiemout = '5s'", "jobs.a.tiemout", 'unknown key "tiemout"', "did you mean 'timeout'?"),
    ("jobs.a.every = '0s'", "jobs.a.every", '"0s"', "from 1s to 366d"),
    ("jobs.a.every = '366d1s'", "jobs.a.every", '"366d1s"', "from 1s to 366d"),
    ("jobs.a.timeout = '24h1s'", "jobs.a.timeout", '"24h1s"', "from 1s to 24h"),
    ("jobs.a.cron = '61 * * * *'", "jobs.a.cron", "out of range for the minute", "0 to 59"),
    ("jobs.a.cron = '* * * *'", "jobs.a.cron", "4 fields", "write five, or six"),
    ("jobs.a.cron = '* * * * * * *'", "jobs.a.cron", "7 fields", "write five, or six"),
    ("jobs.a.cron = '@reboot'", "jobs.a.cron", "@reboot", ""),
    ("jobs.a.cron = '0 0 30 2 *'", "jobs.a.cron", "0 0 30 2 *", ""),
    ("jobs.a.cron = 5", "jobs.a.cron", "cannot use 5: it must be text", "quotes"),
    ("jobs.a.at = '2030-01-01T00:00:00'", "jobs.a.at", '"2030-01-01T00:00:00"', "offset"),
    ("jobs.a.at = 2030-01-01T00:00:00", "jobs.a.at", "2030-01-01T00:00:00", "offset"),
    ("jobs.a.at = 2030-01-01", "jobs.a.at", "2030-01-01", "offset"),
    ("jobs.a.at = 'tomorrow'", "jobs.a.at", '"tomorrow"', "offset"),
    ("jobs.a.at = '0001-01-01T00:00:00+14:00'", "jobs.a.at", "0001", "1970 to 2199"),
    ("jobs.a.at = '1969-12-31T23:59:59Z'", "jobs.a.at", "1969", "1970 to 2199"),
    ("jobs.a.at = '2200-01-01T00:00:00Z'", "jobs.a.at", "2200", "1970 to 2199"),
    ("jobs.a.at = 7", "jobs.a.at", "cannot use 7 as an instant", "offset"),
    ("jobs.a.cron = ['@daily', '61 * * * *']", "jobs.a.cron[1]", "out of range", "0 to 59"),
    ("jobs.a.cron = []", "jobs.a.cron", "it is empty", "at least one"),
    ("jobs.a.cron = [" + "'@daily'," * 21 + "]", "jobs.a.cron", "it is too long", "at most 20"),
    ("jobs.a.cron = '" + "1," * 100 + "1 * * * *'", "jobs.a.cron", "it is too long", "at most 200 characters"),
    ("jobs.a.at = ['2030-01-01T00:00:00Z', 7]", "jobs.a.at[1]", "cannot use 7 as an instant", "offset"),
    ("jobs.a.every = ['1h']", "jobs.a.every", "cannot use a list as a duration", '"10m"'),
    ("jobs.a.schedule = 'whenever'", "jobs.a.schedule", "whenever", ""),
    ("jobs.a.schedule = ['weekdays at 9', 'whenever']", "jobs.a.schedule[1]", "whenever", ""),
    ("jobs.a.schedule = 5", "jobs.a.schedule", "cannot use 5: it must be text", "quotes"),
    ("jobs.a.schedule = '" + "x" * 201 + "'", "jobs.a.schedule", "it is too long", "at most 200 characters"),
    ("jobs.a.zone = 'europe/berlin'", "jobs.a.zone", '"europe/berlin"', "did you mean 'Europe/Berlin'?"),
    ("jobs.a.jitter = '24h1s'", "jobs.a.jitter", '"24h1s"', "from 0s to 24h"),
    ("jobs.a.between = '8-18'", "jobs.a.between", '"8-18" as a part of the day', '"08:00-18:00"'),
    ("jobs.a.between = '24:00-08:00'", "jobs.a.between", '"24:00-08:00"', '"08:00-18:00"'),
    ("jobs.a.between = '08:00-24:01'", "jobs.a.between", '"08:00-24:01"', '"08:00-18:00"'),
    ("jobs.a.between = '08:60-18:00'", "jobs.a.between", '"08:60-18:00"', '"08:00-18:00"'),
    (
        "jobs.a.between = ['08:00-09:00', '10:00-10:00']",
        "jobs.a.between[1]",
        "it ends where it begins",
        '"00:00-24:00"',
    ),
    ("jobs.a.between = []", "jobs.a.between", "it is empty", "at least one"),
    ("jobs.a.between = 8", "jobs.a.between", "cannot use 8 as a part of the day", '"08:00-18:00"'),
    ("jobs.a.days = []", "jobs.a.days", "it is empty", "at least one"),
    ("jobs.a.days = ''", "jobs.a.days", 'cannot use "" as days of the week', '"mon-fri"'),
    ("jobs.a.days = ['mon', 'tuesdays']", "jobs.a.days[1]", '"tuesdays" as days of the week', '"mon-fri"'),
    ("jobs.a.days = 'monday to mon'", "jobs.a.days", '"monday to mon"', '"mon-fri"'),
    ("jobs.a.days = 'mon-'", "jobs.a.days", '"mon-"', '"mon-fri"'),
    ("jobs.a.days = 'mon-mon'", "jobs.a.days", '"mon-mon"', '"mon-fri"'),
    ("jobs.a.days = 1", "jobs.a.days", "cannot use 1 as days", '"mon-fri"'),
    ("jobs.a.paused = 1", "jobs.a.paused", "cannot use 1: it must be true or false", "without quotes"),
    ("jobs.a.until = 2030-01-01", "jobs.a.until", "2030-01-01", "offset"),
    ("jobs.a.catch_up = 'some'", "jobs.a.catch_up", '"some"', "'once', 'all' or 'skip'"),
    ("jobs.a.max_late = '0s'", "jobs.a.max_late", '"0s"', "from 1s to 366d"),
    ("jobs.a.overlap = 'both'", "jobs.a.overlap", '"both"', "'skip', 'queue' or 'replace'"),
    ("jobs.a = { catch_up = 'all', overlap = 'skip' }", "jobs.a.overlap", 'overlap = "skip"', "remove overlap"),
    ("jobs.a = { catch_up = 'all', overlap = 'replace' }", "jobs.a.overlap", '"replace"', 'catch_up = "once"'),
    ("jobs.a.dialect = 'klingon'", "jobs.a.dialect", '"klingon"', "'strict', 'hermes' or 'nanoclaw'"),
    ("jobs.a.dedupe = 'no'", "jobs.a.dedupe", '"no"', "'identity' or 'text'"),
    ("jobs.a.enabled = 'yes'", "jobs.a.enabled", '"yes": it must be true or false', "without quotes"),
    ("jobs.a.options = []", "jobs.a.options", "it must be a table", "table of this name"),
    ("jobs.a.options.d = 2030-01-01", "jobs.a.options.d", "no dates and times", "as text"),
    ("jobs.a.options.d = [1, { x = nan }]", "jobs.a.options.d[1].x", "no such number", ""),
    ("jobs.a.options.d = inf", "jobs.a.options.d", "no such number", ""),
    ("jobs.a.options.d = 9223372036854775808", "jobs.a.options.d", "64 bits", "as text"),
    ("jobs.a.options.d = 0x" + "f" * 5000, "jobs.a.options.d", "a very large number", "as text"),
    ("jobs.a.options.d = " + "[" * 17 + "]" * 17, "jobs.a.options.d" + "[0]" * 16, "levels deep", "fewer"),
    ("jobs.a.options.d = '" + "x" * 65536 + "'", "jobs.a.options", "over 64 KiB", "keep large data in a file"),
    ("jobs.a.env.A = '" + "x" * 65537 + "'", "jobs.a.env.A", "not shown", "64 KiB"),
    ('jobs.a.script = "a\\u0000b"', "jobs.a.script", "NUL", "take that out"),
]


@pytest.mark.parametrize(("text", "key", "message", "remedy"), BAD, ids=[row[0][:40] for row in BAD])
def test_a_bad_value_is_told_with_its_key_its_value_and_a_remedy(
    tmp_path: Path, text: str, key: str, message: str, remedy: str
) -> None:
    (problem,) = problems_of(tmp_path, text)
    assert problem.file == str(tmp_path / "config.toml")
    assert problem.key == key
    assert problem.message.startswith("cannot ")
    assert message in problem.message
    assert remedy in problem.remedy
    assert problem.remedy
    assert not JARGON.search(str(problem))


AT_THE_LIMIT = [
    "quiet.windows = [" + "{ start = '9:00', end = '10:00' }," * 100 + "]",
    "quiet.windows = [{ start = '23:59', end = '24:00' }, { start = '00:00', end = '0:01', days = 'holidays' }]",
    "quiet.holidays = [" + "'2026-12-25'," * 1000 + "]",
    "quiet.last_call = '1m'",
    "quiet.last_call = '24h'",
    "quiet.last_call = 'never'",
    "budget = { min_gap = '0s', per_hour = 0, per_day = 0, critical_per_hour = 1, usd_per_day = 0 }",
    "budget = { min_gap = '24h', per_hour = 3600, per_day = 86400, critical_per_hour = 3600, usd_per_day = 100000 }",
    "rules = [" + "{ do = 'mute', job = 'a' }," * 1000 + "]",
    "rules = [{ do = 'mute', pattern = '" + "x" * 1000 + "' }]",
    "agent.timeout = '1s'",
    "agent.timeout = '24h'",
    "agent.attempts = 1",
    "agent.attempts = 100",
    "daemon.workers = 1",
    "daemon.workers = 64",
    "daemon.drain = '0s'",
    "daemon.drain = '5m'",
    "retention.history = '1d'",
    "retention.history = '3660d'",
    "retention.outputs = 1000000",
    "jobs.a.every = '1s'",
    "jobs.a.every = '366d'",
    "jobs.a.timeout = '24h'",
    "jobs.a.at = '1970-01-01T00:00:00Z'",
    "jobs.a.at = '2199-12-31T23:59:59Z'",
    "jobs.a.cron = '*/10 * * * * *'",
    "jobs.a.cron = [" + "'@daily'," * 20 + "]",
    "jobs.a.jitter = '0s'",
    "jobs.a.jitter = '24h'",
    "jobs.a.max_late = '366d'",
    "jobs.a = { catch_up = 'all', overlap = 'queue' }",
    "jobs.a.options.d = 9223372036854775807",
    "jobs.a.options.d = " + "[" * 16 + "]" * 16,
    "jobs.a.options.d = '" + "x" * (65536 - len('{"d":""}')) + "'",
    "jobs.a.env.A = '" + "x" * 65536 + "'",
    f"[jobs.{'a' * 64}]",
    f"owner.emails = ['{'a' * 248}@b.org']",
]


@pytest.mark.parametrize("text", AT_THE_LIMIT, ids=[text[:40] for text in AT_THE_LIMIT])
def test_a_value_at_its_limit_is_accepted(tmp_path: Path, text: str) -> None:
    settings_of(tmp_path, text)


@pytest.mark.parametrize("text", [f"[jobs.{'a' * 65}]", f"owner.emails = ['{'a' * 249}@b.org']"])
def test_a_name_one_past_its_limit_is_refused(tmp_path: Path, text: str) -> None:
    assert len(problems_of(tmp_path, text)) == 1


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path,
        """
        colour = 1
        [owner]
        zone = "Mars/Base"
        emails = ["me"]
        [agent]
        timeout = 5
        command = ["x"]
        [jobs.a]
        every = "never"
        at = "never"
        options = { when = 2030-01-01 }
        [jobs.B]
        """,
    )
    assert [problem.key for problem in problems] == [
        *("owner.emails[0]", "owner.zone", "agent.timeout", "colour", "agent.kind"),
        *("jobs.a.every", "jobs.a.at", "jobs.a.options.when", "jobs.B"),
    ]


def test_a_reading_goes_on_behind_its_faults(tmp_path: Path) -> None:
    text = """
    agent = { kind = "command", command = ["x"], attempts = 0, env = { "1" = "x", "2" = "x" } }
    jobs.a = { every = "1h", timeout = 5 }
    jobs.b = { nonsense = 1, cron = "@daily" }
    """
    settings, jobs, problems = read_at(tmp_path, text)
    assert (settings.agent.command, settings.agent.attempts, settings.agent.env) == (("x",), 10, {})
    assert jobs["a"].every == timedelta(hours=1)
    assert jobs["b"].cron == ("@daily",)
    assert len(problems) == 5


def test_a_job_tells_which_of_its_keys_were_left_out() -> None:
    job, problems, broken = read_job("a", {"every": "1h", "env": {"1": 1}, "cron": ["@daily", 5]}, "config.toml")
    assert job is not None
    assert (job.every, job.cron, job.env) == (timedelta(hours=1), None, {})
    assert broken == {"cron", "env"}
    assert len(problems) == 3


def test_what_is_the_same_for_all_is_said_without_a_look_at_the_jobs(tmp_path: Path) -> None:
    home = home_at(tmp_path, "owner.zone = 'Asia/Tokyo'\njobs.a.every = 5")
    assert load_settings(home).owner.zone == "Asia/Tokyo"
    with pytest.raises(ConfigError, match=r"log\.level"):
        load_settings(home_at(tmp_path, "log.level = 1"))


@pytest.mark.parametrize(
    ("written", "windows"),
    [
        ("'08:00-18:00'", (Window(480, 1080),)),
        ("'8:00 - 18:05'", (Window(480, 1085),)),
        ("['00:00-24:00']", (Window(0, 1440),)),
        ("['08:00-12:30', '22:00-02:00']", (Window(480, 750), Window(1320, 120))),
        ("'22:00-00:00'", (Window(1320, 0),)),
    ],
)
def test_parts_of_the_day_are_minutes_since_midnight(tmp_path: Path, written: str, windows: tuple[Window, ...]) -> None:
    assert job_of(tmp_path, f"jobs.a.between = {written}").between == windows


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ("'weekdays'", {0, 1, 2, 3, 4}),
        ("'weekends'", {5, 6}),
        ("'sun'", {6}),
        ("['mon', 'wed']", {0, 2}),
        ("['mon-wed', 'wed-fri', 'sun']", {0, 1, 2, 3, 4, 6}),
        ("'sat-mon'", {5, 6, 0}),
        ("['weekends', 'mon']", {5, 6, 0}),
        ("'weekday'", {0, 1, 2, 3, 4}),
        ("['Weekend', 'Monday']", {5, 6, 0}),
        ("'thursday'", {3}),
        ("'monday to friday'", {0, 1, 2, 3, 4}),
        ("'sat - monday'", {5, 6, 0}),
    ],
)
def test_days_of_the_week_are_numbers_from_monday(tmp_path: Path, written: str, numbers: set[int]) -> None:
    days = job_of(tmp_path, f"jobs.a.days = {written}").days
    assert days is not None
    assert frozenset().union(*days) == numbers


def test_quiet_hours_are_made_of_the_windows_in_the_owners_zone(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        """
        [quiet]
        windows = [
            { start = "23:30", end = "7:00" },
            { start = "00:00", end = "24:00", days = ["weekends", "Holidays"] },
            { start = "12:00", end = "13:00", days = "mon-fri" },
        ]
        holidays = [2026-12-25, "2026-12-26"]
        last_call = "never"
        """,
    )
    hours = settings.quiet.hours(ZoneInfo("Asia/Tokyo"))
    assert hours == QuietHours(
        (
            QuietWindow(Window(1410, 420)),
            QuietWindow(Window(0, 1440), frozenset({5, 6}), holidays=True),
            QuietWindow(Window(720, 780), frozenset(range(5)), holidays=False),
        ),
        ZoneInfo("Asia/Tokyo"),
        frozenset({date(2026, 12, 25), date(2026, 12, 26)}),
        None,
    )
    assert Settings().quiet.hours(ZoneInfo("Asia/Tokyo")) == QuietHours(zone=ZoneInfo("Asia/Tokyo"))


def test_a_budget_is_taken_over_whole(tmp_path: Path) -> None:
    text = """
    [budget]
    min_gap = "1m"
    per_hour = 2
    per_day = 3
    critical_per_hour = 4
    usd_per_day = 5
    tokens_per_day = 6
    """
    assert settings_of(tmp_path, text).budget.budget() == Budget(timedelta(minutes=1), 2, 3, 4, 5.0, 6)
    assert Settings().budget.budget() == Budget()


def test_one_bad_rule_leaves_out_all_of_them_and_nothing_else(tmp_path: Path) -> None:
    text = "log.level = 'debug'\n[[rules]]\ndo = 'mute'\njob = 'a'\n[[rules]]\ndo = 'mute'\n"
    settings, _, problems = read_at(tmp_path, text)
    assert (settings.log.level, settings.rules) == ("debug", ())
    assert [problem.key for problem in problems] == ["rules[1]"]


@pytest.mark.parametrize("key", ["cron", "at", "schedule", "between", "days"])
def test_a_list_of_nothing_but_faults_is_not_called_empty_too(tmp_path: Path, key: str) -> None:
    places = [problem.key for problem in problems_of(tmp_path, f"jobs.a.{key} = ['holidays', 'never']")]
    assert places == [f"jobs.a.{key}[0]", f"jobs.a.{key}[1]"]


@pytest.mark.parametrize("key", ["cron", "at", "schedule", "between", "days"])
def test_one_value_alone_means_a_list_of_it(tmp_path: Path, key: str) -> None:
    value = {
        "cron": "'@daily'",
        "at": "2030-01-01T00:00:00Z",
        "schedule": "'weekdays at 9'",
        "between": "'08:00-18:00'",
        "days": "'mon'",
    }[key]
    alone, listed = (job_of(tmp_path, f"jobs.a.{key} = {written}") for written in (value, f"[{value}]"))
    assert getattr(alone, key) == getattr(listed, key) != ()


def test_no_broken_value_under_env_or_secrets_is_ever_shown(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path,
        """
        agent.env = { A = 11112222 }
        agent.secrets = { B = "sk-1111", C = { env = 11113333 }, D = { env = "sk-1111" } }
        jobs.c.secrets = { E = { command = "sk-1111" }, F = { keyring = "sk-1111" }, G = { command = ["", "sk-1111"] } }
        jobs.c.options = { pw = { command = "sk-1111" }, other = { keyring = "sk-1111" } }
        jobs.a.env = { A = ["sk-1111"] }
        jobs.a.secrets = "sk-1111"
        jobs.b.options = { url = "https://me:sk-1111@example.org", day = 2030-01-01 }
        """,
    )
    assert {problem.key.split(".")[0] for problem in problems} == {"agent", "jobs"}
    assert len(problems) == 12
    assert "1111" not in "\n".join(map(str, problems))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"[owner]\nzone = Europe\n", "cannot read line 2, column 8: invalid value"),
        (b"a = 10m\n", "cannot read line 1, column 7"),
        (b"a = 1\na = 2\n", "cannot read line 2, column 6: cannot overwrite a value"),
        (b'a = "x', "cannot read line 1, column 7: unterminated string"),
        (b"\xef\xbb\xbfa = 1", "cannot read line 1, column 1: a byte order mark"),
        (b"# ok\na = '\xff'", "cannot read line 2, column 6: the byte 0xff is not UTF-8"),
        ("a = 1".encode("utf-16"), "cannot read line 1, column 1: the byte 0xff"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (b"a = " + b"9" * 5000, "a number in it is too long"),
        (b"#" * (32 * 1024 * 1024 + 1), "not a file of at most 32 MiB"),
        (b"jobs.a.options." + b"x." * 5000 + b"x = 1", "nested too deeply"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_a_file_that_is_no_toml_is_told_with_its_line(tmp_path: Path, raw: bytes, message: str) -> None:
    (problem,) = problems_of(tmp_path, raw)
    assert problem.message.startswith("cannot")
    assert message in problem.message
    assert problem.remedy


def test_a_file_of_exactly_32_mebibytes_is_read(tmp_path: Path) -> None:
    assert settings_of(tmp_path, "#" * (32 * 1024 * 1024)) == Settings()


def test_a_folder_a_fifo_and_a_dangling_link_are_no_configuration(tmp_path: Path) -> None:
    makers: tuple[Callable[[Path], None], ...] = (os.mkdir, os.mkfifo, lambda path: path.symlink_to("/nowhere/x"))
    for number, make in enumerate(makers):
        folder = tmp_path / str(number)
        folder.mkdir()
        home = home_at(folder)
        make(home.config_file)
        with pytest.raises(ConfigError, match="cannot"):
            load_settings(home)


def test_a_file_named_by_the_owner_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_settings(tmp_path / "absent.toml", must_exist=True)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        AgentSettings().kind = "command"


def test_a_host_whose_zone_cannot_be_told_needs_one_in_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def conflicting() -> str:
        raise LookupError("two time zones are configured")

    (tmp_path / "localtime").write_bytes(b"no known rules")
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setattr("heartbeat.zones.LOCALTIME", str(tmp_path / "localtime"))
    monkeypatch.setattr("tzlocal.get_localzone_name", conflicting)
    (problem,) = problems_of(tmp_path, "")
    assert (problem.key, "time zone of this machine" in problem.message) == ("owner.zone", True)
    assert settings_of(tmp_path, "owner.zone = 'Asia/Tokyo'").owner.zone == "Asia/Tokyo"


# Many


def test_each_job_is_handed_out_once_as_it_stands_in_the_file_and_again_when_asked_again(tmp_path: Path) -> None:
    text = "".join(f"[jobs.job-{number}]\nevery = '{number + 1}s'\n" for number in range(1000))
    reading = read_settings(home_at(tmp_path, text + "at = 2030-01-01T00:00:00Z\n").config_file)
    tables = list(reading.jobs)
    assert [name for name, _ in tables] == [f"job-{number}" for number in range(1000)]
    assert tables[7][1] == {"every": "8s"}
    assert tables[999][1] == {"every": "1000s", "at": datetime(2030, 1, 1, tzinfo=UTC)}
    assert list(reading.jobs) == tables


def test_of_very_many_faults_only_the_first_are_told(tmp_path: Path) -> None:
    text = "".join(f"x{number} = 1\n" for number in range(3000)) + "[agent]\nattempts = 0\n"
    problems = problems_of(tmp_path, text + "[jobs.a.options]\nx = [" + "2030-01-01," * 3000 + "]")
    assert len(problems) == 200
    assert {problem.key.rstrip("0123456789]") for problem in problems} == {"agent.attempts", "x", "jobs.a.options.x["}


# The reference page, the schema, the examples


def test_the_reference_page_holds_every_key_with_its_default() -> None:
    text = (CONFIG / "default.toml").read_text()
    given = tomllib.loads(text)
    assert ConfigFile.model_validate(given) == ConfigFile()
    for section, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            keys = {key for key, value in default.model_dump().items() if value is not None}
            assert keys - {"zone"} == set(given[section]), section


def test_the_reference_page_with_every_example_taken_in_is_valid(tmp_path: Path) -> None:
    text = (CONFIG / "default.toml").read_text()
    active = re.sub(r"(?m)^(command|windows|holidays) = \[\]\n", "", text)
    taken_in = re.sub(r"(?m)^#(?! )", "", active)
    _, jobs, problems = read_at(tmp_path, taken_in)
    assert problems == ()
    given = {key for job in jobs.values() for key in job.model_fields_set}
    assert given == set(JobSettings.model_fields), "a key of jobs is not explained"
    rules = {key for rule in tomllib.loads(taken_in)["rules"] for key in rule}
    assert rules == set(RuleSettings.model_fields), "a key of rules is not explained"


def test_every_line_of_the_reference_page_that_sets_a_key_is_explained() -> None:
    lines = (CONFIG / "default.toml").read_text().splitlines()
    sections = ("owner", "environment", "daemon", "retention", "log")
    for above, line in pairwise(lines):
        if re.match(r"[a-z]+ = ", line):
            assert above.startswith("# "), line
    assert all(f"[{section}]" in lines for section in sections)


def test_the_schema_is_made_from_the_models() -> None:
    made = json.loads((CONFIG / "config.schema.json").read_text())
    assert made == schema(), "run `python -m heartbeat.config.schema > config/config.schema.json`"


@pytest.mark.parametrize(
    "name", ["default.toml", *(f"examples/{path.name}" for path in (CONFIG / "examples").iterdir())]
)
def test_schema_and_models_accept_what_is_shipped(tmp_path: Path, name: str) -> None:
    text = (CONFIG / name).read_text()
    settings_of(tmp_path, text)
    as_json = json.loads(json.dumps(tomllib.loads(text), default=lambda instant: instant.isoformat()))
    jsonschema.validate(as_json, schema())


@pytest.mark.parametrize(
    "text",
    [
        "colour = 1",
        "agent.attempts = 0",
        "jobs.a.every = 5",
        "jobs.a.days = []",
        "jobs.a.between = '8-18'",
        "agent.kind = 'robot'",
    ],
)
def test_the_schema_refuses_what_the_models_refuse(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), schema())


# Anything at all

SCALARS = (
    st.text(max_size=8)
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC))
    | st.dates()
    | st.times()
    | st.sampled_from(["10m", "command", "Europe/Berlin", "me@example.org", "* * * * *", "\0", "-1s", ""])
)
NAMES = {key for model in (ConfigFile, AgentSettings, JobSettings) for key in model.model_fields}
KEYS = st.text(max_size=4) | st.sampled_from(
    [*sorted(NAMES), "my-check", "zone", "emails", "env", "file", "command", "keyring", "path", "level"]
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))
TABLES = st.dictionaries(KEYS, VALUES | st.dictionaries(KEYS, VALUES, max_size=4), max_size=5)


def as_toml(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{as_toml(key)} = {as_toml(inner)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(as_toml, value)) + "]"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool() | int():
            return str(value).lower()
        case float():
            return "nan" if math.isnan(value) else str(value)
    text: str = value.isoformat()
    return text


@run_with(deadline=None)
@given(TABLES)
def test_any_table_either_loads_or_is_told_in_our_own_words(
    tmp_path_factory: pytest.TempPathFactory, table: Any
) -> None:
    text = "\n".join(f"{as_toml(key)} = {as_toml(value)}" for key, value in table.items())
    assert set(tomllib.loads(text)) == set(table)
    for problem in problems_of(tmp_path_factory.getbasetemp(), text):
        assert problem.message.startswith("cannot ")
        assert problem.remedy
        assert "\n" not in str(problem)
        assert not re.search(r"pydantic|Input should|Extra inputs|https://errors", str(problem))


@run_with(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_either_load_or_are_told(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    for problem in problems_of(tmp_path_factory.getbasetemp(), raw):
        assert problem.message.startswith("cannot ")
