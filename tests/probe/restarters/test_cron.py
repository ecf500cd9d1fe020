"""Crontab lines that restart the subject."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from heartbeat.probe.restarters import Subject, cron, find_restarters
from heartbeat.probe.restarters.cron import Table, judge_table
from tests.probe.restarters.subjects import ours, script, search_for

OWN = Table("the crontab of ann", "ann", ("crontab",))
SYSTEM = Table("/etc/cron.d/kick")
ANACRON = Table("/etc/anacrontab")

LINES = [
    (OWN, "* * * * * systemctl --user restart heartbeat", True),
    (OWN, "*/5 * * * *\tsystemctl --user restart heartbeat >/dev/null 2>&1", True),
    (OWN, "@hourly systemctl --user restart heartbeat", True),
    (OWN, "  0 4 * * mon-fri  cd / && /usr/bin/systemctl --user restart heartbeat.service", True),
    (OWN, "@reboot while sleep 20; do systemctl --user restart heartbeat; done", True),
    (OWN, "@reboot systemctl --user restart heartbeat", False),
    (OWN, "# * * * * * systemctl --user restart heartbeat", False),
    (OWN, "   # systemctl --user restart heartbeat", False),
    (OWN, "* * * * * true # systemctl --user restart heartbeat", False),
    (OWN, "* * * * * systemctl --user is-active heartbeat || systemctl --user start heartbeat", False),
    (
        OWN,
        "* * * * * heartbeat health --assert-live || mail -s 'heartbeat restart needed' ann%heartbeat restart",
        False,
    ),
    (OWN, "* * * * * mail ann%systemctl --user restart heartbeat", False),
    (OWN, "* * * * * date +\\%s; systemctl --user restart heartbeat", True),
    (OWN, "MAILTO=ann", False),
    (OWN, 'CMD="systemctl --user restart heartbeat"', False),
    (OWN, "* * * * *", False),
    (OWN, "* * * * * ", False),
    (OWN, "@daily", False),
    (OWN, "", False),
    (SYSTEM, "* * * * * ann systemctl --user restart heartbeat", True),
    (SYSTEM, "@hourly ann systemctl --user restart heartbeat", True),
    (SYSTEM, "* * * * * root sudo -u ann XDG_RUNTIME_DIR=/run/user/1000 systemctl --user restart heartbeat", True),
    (SYSTEM, "* * * * * root systemctl --user -M ann@ restart heartbeat", True),
    (SYSTEM, "* * * * * root systemctl --user restart heartbeat", False),
    (SYSTEM, "* * * * * bob systemctl --user restart heartbeat", False),
    (SYSTEM, "* * * * * root systemctl restart heartbeat", False),
    (SYSTEM, "* * * * * systemctl --user restart heartbeat", False),  # `systemctl` is the user, `--user` the command
    (ANACRON, "1\t5\tcron.daily\tsystemctl --user -M ann@ restart heartbeat", True),
    (ANACRON, "@monthly 10 x systemctl --user -M ann@ restart heartbeat", True),
    (ANACRON, "START_HOURS_RANGE=3-22", False),
]


@pytest.mark.parametrize(("table", "line", "is_named"), LINES)
def test_a_line_is_judged_by_what_it_runs(table: Table, line: str, is_named: bool) -> None:
    assert bool(judge_table(search_for(ours()), table, f"# a table\n{line}\n")) is is_named


def test_a_line_is_told_by_place_and_time_and_taken_out_by_number() -> None:
    text = "SHELL=/bin/sh\n\n*/5 * * * * PASSWORD=secret systemctl --user restart heartbeat\n"
    (found,) = judge_table(search_for(ours()), OWN, text)
    assert found.message == "the crontab of ann line 3 (*/5 * * * *) runs `systemctl --user restart heartbeat`"
    assert found.remedy == "crontab -l | sed '3s/^/#/' | crontab -"
    (found,) = judge_table(
        search_for(ours("system")), Table("/etc/cron.d/a b"), "@hourly root systemctl restart heartbeat"
    )
    assert found.remedy == f"{'' if os.geteuid() == 0 else 'sudo '}sed -i '1s/^/#/' '/etc/cron.d/a b'"


CRONTAB = """#!/bin/sh
case "$1" in
    -l) cat {table} 2>/dev/null || {{ echo "no crontab for $(id -un)" >&2; exit 1; }} ;;
    -) cat >{table}.new && mv {table}.new {table} ;;
    *) exit 2 ;;
esac
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables of a cron in this folder, and no units."""
    programs = tmp_path / "bin"
    programs.mkdir()
    script(programs, "crontab", CRONTAB.format(table=tmp_path / "table"))
    script(programs, "systemctl", "#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setattr(cron, "TABLES", (str(tmp_path / "crontab"), str(tmp_path / "anacrontab")))
    monkeypatch.setattr(cron, "FOLDER", str(tmp_path / "cron.d"))
    (tmp_path / "cron.d").mkdir()
    return tmp_path


SUBJECT = Subject(units=["heartbeat"], scope="system", commands=["heartbeat"])
KICK = "* * * * * root systemctl restart heartbeat\n"


def test_every_table_is_read_and_each_remedy_works(place: Path) -> None:
    assert find_restarters(SUBJECT).restarters == ()
    (place / "table").write_text("# mine\n* * * * * systemctl restart heartbeat\n@hourly true\n")
    (place / "crontab").write_text(f"17 * * * * root cd / && run-parts --report {place}/hourly\n")
    (place / "hourly").mkdir()
    script(place / "hourly", "kick", "#!/bin/sh\nsystemctl restart heartbeat\n")
    (place / "cron.d" / "kick").write_text(f"PATH=/bin\n{KICK}")
    found = find_restarters(SUBJECT)
    assert found.faults == ()
    assert [each.kind for each in found.restarters] == ["cron"] * 3
    for number, each in enumerate(found.restarters, 1):
        subprocess.run(["sh", "-c", each.remedy], check=True)
        assert len(find_restarters(SUBJECT).restarters) == 3 - number, each.remedy
    assert (place / "table").read_text() == "# mine\n#* * * * * systemctl restart heartbeat\n@hourly true\n"


@pytest.mark.parametrize("name", ["kick.dpkg-old", "kick~", ".kick", "kick.rpmsave", "kick.bak"])
def test_a_copy_that_cron_passes_over_is_no_table(name: str, place: Path) -> None:
    (place / "cron.d" / name).write_text(KICK)
    assert find_restarters(SUBJECT).restarters == ()


def test_a_name_with_a_dot_is_a_table_except_on_debian(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "cron.d" / "kick.cron").write_text(KICK)
    for sign, count in ((str(place), 0), ("/nowhere", 1)):
        monkeypatch.setattr(cron, "_DEBIAN", sign)
        assert len(find_restarters(SUBJECT).restarters) == count


def test_a_table_that_cannot_be_read_is_told(place: Path) -> None:
    (place / "crontab").mkdir()
    found = find_restarters(SUBJECT)
    assert found.faults == (("restarters_unseen", f"cannot look for restarters in {place}/crontab: Is a directory"),)


def test_a_table_that_holds_no_text_is_read(place: Path) -> None:
    (place / "crontab").write_bytes(b"\xff\0\n* * * * * root \xff\n" + KICK.encode())
    assert len(find_restarters(SUBJECT).restarters) == 1
