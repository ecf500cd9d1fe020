"""Which command lines restart the subject, and which only look as if."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.probe.restarters import Subject
from heartbeat.probe.restarters.calls import spelled
from heartbeat.probe.restarters.search import told
from heartbeat.probe.restarters.shell import fits, parse
from heartbeat.probe.restarters.subject import quote
from tests.probe.restarters.subjects import HOME, LOCK, PID, hermes, ours, script, search_for

USER, SYSTEM = "user", "system"

GUILTY = [
    (USER, "systemctl --user restart heartbeat"),
    (USER, "/usr/bin/systemctl --user restart heartbeat.service"),
    (USER, "systemctl restart heartbeat --user"),
    (USER, "systemctl --user -q --no-block try-restart other.service heartbeat.service"),
    (USER, "systemctl --user reload-or-restart heartbeat"),
    (USER, "systemctl --user stop heartbeat; systemctl --user start heartbeat"),
    (USER, "systemctl --user kill heartbeat"),
    (USER, "systemctl --user kill -s KILL --kill-whom=main heartbeat.service"),
    (USER, "systemctl --user restart 'heart*'"),
    (USER, "systemctl --user -M ann@ restart heartbeat"),
    (USER, "systemctl --user --machine=ann@.host restart heartbeat"),
    (SYSTEM, "systemctl restart heartbeat"),
    (SYSTEM, "sudo systemctl restart heartbeat"),
    (SYSTEM, "sudo -n -u root -- systemctl restart heartbeat"),
    (SYSTEM, "service heartbeat restart"),
    (SYSTEM, "/etc/init.d/heartbeat restart"),
    (SYSTEM, "invoke-rc.d --quiet heartbeat restart"),
    (USER, "launchctl kickstart -k gui/501/local.heartbeat"),
    (USER, "launchctl kickstart -kp gui/$UID/local.heartbeat"),
    (USER, "launchctl bootout gui/501 ~/Library/LaunchAgents/local.heartbeat.plist"),
    (USER, "launchctl unload -w ~/Library/LaunchAgents/local.heartbeat.plist"),
    (USER, "launchctl stop local.heartbeat"),
    (USER, "launchctl kill SIGTERM gui/501/local.heartbeat"),
    (USER, "heartbeat restart"),
    (USER, "/home/ann/.local/bin/heartbeat stop"),
    (USER, "python3 -P -m heartbeat restart"),
    (USER, "/opt/x/bin/python /opt/x/bin/heartbeat restart --user"),
    (USER, f"heartbeat --home {HOME} restart"),
    (USER, f"HEARTBEAT_HOME={HOME}/ heartbeat restart"),
    (USER, f"env -i PATH=/bin HEARTBEAT_HOME={HOME} heartbeat restart"),
    (USER, "sudo -u ann heartbeat restart"),
    (USER, "runuser -u ann -- heartbeat restart"),
    (USER, "su - ann -c 'heartbeat restart'"),
    (USER, "runuser -l ann -c 'systemctl --user restart heartbeat'"),
    (USER, "pkill heartbeat"),
    (USER, "pkill -9 -f 'heartbeat run'"),
    (USER, "pkill --signal KILL --full '[h]eartbeat run'"),
    (USER, "pkill -f 'python.*heartbeat'"),
    (USER, "pkill -f 'no-such|heartbeat run$'"),
    (USER, "killall -q heartbeat"),
    (USER, f"kill {PID}"),
    (USER, f"kill -KILL -- -{PID}"),
    (USER, f"kill $(cut -d: -f1 {LOCK})"),
    (USER, f"kill -9 `cat {LOCK}`"),
    (USER, "kill $(pgrep -f 'heartbeat run')"),
    (USER, "kill $(pidof heartbeat)"),
    (SYSTEM, "kill $(systemctl show -p MainPID --value heartbeat)"),
    (USER, "pgrep -f 'heartbeat run' | xargs -r kill -9"),
    (USER, f"cut -d: -f1 {LOCK} | xargs kill"),
    (USER, f"fuser -k -TERM {LOCK}"),
    (USER, "PID=$(pgrep -f 'heartbeat run'); kill $PID"),
    (USER, "for p in $(pgrep -f 'heartbeat run'); do kill $p; done"),
    (USER, 'U=heartbeat.service; systemctl --user restart "$U" >/dev/null 2>&1'),
    (USER, "UNIT=${UNIT:-heartbeat.service}\nsystemctl --user restart ${UNIT}"),
    (USER, "systemctl --user restart ${1:-heartbeat}"),
    (USER, "for u in foo heartbeat bar; do systemctl --user restart $u; done"),
    (USER, "heartbeat health --assert-live || systemctl --user restart heartbeat"),
    (USER, "if ! heartbeat health --assert-live; then\n  systemctl --user restart heartbeat\nfi"),
    (USER, "cd /tmp && (sleep 1; systemctl --user restart heartbeat) &"),
    (USER, "true | { systemctl --user restart heartbeat; }"),
    (USER, "case $x in a) true;; b) systemctl --user restart heartbeat;; esac"),
    (USER, "nohup setsid nice -n 5 timeout -k 1 20 systemctl --user restart heartbeat &"),
    (USER, "flock -n /tmp/l systemctl --user restart heartbeat"),
    (USER, "flock /tmp/l -c 'systemctl --user restart heartbeat'"),
    (USER, "systemd-run --user --on-active=20 --unit kick systemctl --user restart heartbeat"),
    (USER, "watch -n 20 systemctl --user restart heartbeat"),
    (USER, "bash -lc 'eval \"systemctl --user restart heartbeat\"'"),
    (USER, "bash -o pipefail -ec 'systemctl --user restart heartbeat'"),
    (USER, "python3 -c 'import os; os.system(\"systemctl --user restart heartbeat\")'"),
    (USER, "while sleep 20\ndo systemctl --user restart heartbeat\ndone"),
    (USER, "cat <<EOF >/dev/null\nnothing\nEOF\nsystemctl --user restart heartbeat"),
    (USER, "echo $(systemctl --user restart heartbeat)"),
    (USER, "\\\nsystemctl --user \\\n  restart heartbeat"),
]

INNOCENT = [
    (USER, "systemctl --user status heartbeat"),
    (USER, "systemctl --user start heartbeat"),
    (USER, "systemctl --user is-active --quiet heartbeat.service"),
    (USER, "systemctl --user reload heartbeat"),
    (USER, "systemctl --user kill -s HUP heartbeat"),
    (USER, "systemctl --user kill --signal=SIGUSR1 heartbeat"),
    (USER, "systemctl --user daemon-reload"),
    (USER, "systemctl --user restart heartbeat-other.service"),
    (USER, "systemctl --user restart heartbeat@x.service"),
    (USER, "systemctl --user restart my-heartbeat"),
    (USER, "systemctl --user restart heartbeat.timer"),
    (USER, "systemctl --user restart 'heart*.timer'"),
    (USER, "systemctl --user restart heartbeat-alarm@x.service"),
    (USER, "systemctl restart heartbeat"),
    (SYSTEM, "systemctl --user restart heartbeat"),
    (USER, "systemctl --user -M bob@ restart heartbeat"),
    (USER, "systemctl -H other.example --user restart heartbeat"),
    (USER, "systemctl --user -M container restart heartbeat"),
    (SYSTEM, "systemctl -M container restart heartbeat"),
    (USER, "ssh other.example systemctl --user restart heartbeat"),
    (USER, "sudo -u bob systemctl --user restart heartbeat"),
    (USER, "service heartbeat restart"),
    (SYSTEM, "service heartbeat status"),
    (SYSTEM, "service heartbeat-other restart"),
    (SYSTEM, "/etc/init.d/heartbeat status"),
    (USER, "launchctl kickstart gui/501/local.heartbeat"),
    (USER, "launchctl print gui/501/local.heartbeat"),
    (USER, "launchctl kill HUP gui/501/local.heartbeat"),
    (USER, "launchctl kickstart -k gui/501/local.heartbeat-other"),
    (USER, "launchctl bootstrap gui/501 ~/Library/LaunchAgents/local.heartbeat.plist"),
    (USER, "heartbeat health --assert-live"),
    (USER, "heartbeat health --assert-live --assert-no-restarter && curl -fsS https://ping.example/heartbeat"),
    (USER, "heartbeat tick restart"),
    (USER, "heartbeat queue add --message restart --due now"),
    (USER, "heartbeat --home /srv/other restart"),
    (USER, "HEARTBEAT_HOME=/srv/other heartbeat restart"),
    (USER, "heartbeat restart --system"),
    (USER, "sudo heartbeat restart"),
    (USER, "heartbeat run"),
    (USER, "pkill -HUP heartbeat"),
    (USER, "pkill -0 -f 'heartbeat run'"),
    (USER, "pkill heartbeat-other"),
    (USER, "pkill -x heart"),
    (USER, "pkill -f 'heartbeat tick'"),
    (USER, "pkill -f 'postgres.*heartbeat'"),
    (USER, "pkill -f ''"),
    (USER, "pgrep -f 'heartbeat run'"),
    (USER, "pgrep -f 'heartbeat run' | xargs kill -HUP"),
    (USER, "killall pt-heartbeat"),
    (USER, "killall -HUP heartbeat"),
    (USER, f"kill -0 {PID}"),
    (USER, f"kill -HUP {PID}"),
    (USER, f"kill {PID}1"),
    (USER, "kill $(cat /run/other/daemon.lock)"),
    (USER, f"cat {LOCK}"),
    (USER, f"fuser {LOCK}"),
    (USER, "echo systemctl --user restart heartbeat"),
    (USER, "echo 'it is down; systemctl --user restart heartbeat'"),
    (USER, 'logger "run: systemctl --user restart heartbeat"'),
    (USER, "true # systemctl --user restart heartbeat"),
    (USER, "# systemctl --user restart heartbeat"),
    (USER, "cat <<'EOF'\nsystemctl --user restart heartbeat\nEOF"),
    (USER, "cat <<-EOF | mail ann\n\tsystemctl --user restart heartbeat\n\tEOF\ntrue"),
    (USER, "grep -r 'systemctl --user restart heartbeat' /etc"),
    (USER, "vim -c '/systemctl --user restart heartbeat' notes.txt"),
    (USER, "git log --grep='heartbeat restart'"),
    (USER, "man systemctl restart heartbeat"),
    (USER, "pg_receivewal --heartbeat restart"),
    (USER, "pt-heartbeat --stop --database heartbeat"),
    (USER, "U=other.service; systemctl --user restart $U heartbeat.timer"),
    (USER, "systemctl --user restart $UNKNOWN"),
    (USER, "case status in restart) systemctl --user restart heartbeat;; *) true;; esac"),
    (USER, "python3 -c 'print(\"systemctl --user restart heartbeat\")'"),
    (USER, "'unbalanced systemctl --user restart heartbeat"),
    (USER, ""),
    (USER, "$("),
    (USER, 'a="`" ) ;; esac done fi'),
]


@pytest.mark.parametrize(("scope", "line"), GUILTY)
def test_a_command_that_restarts_us_is_known(scope: str, line: str) -> None:
    assert search_for(ours(scope), PID).restarting_text(line, user="ann" if scope == USER else "root")


@pytest.mark.parametrize(("scope", "line"), INNOCENT)
def test_a_command_that_does_not_is_not_accused(scope: str, line: str) -> None:
    assert search_for(ours(scope), PID).restarting_text(line, user="ann") is None


@pytest.mark.parametrize(("scope", "line"), [case for case in GUILTY if "local.heartbeat" not in case[1]])
def test_no_command_that_restarts_us_is_taken_for_the_restart_of_another(scope: str, line: str) -> None:
    other = Subject(units=["other.service"], commands=["other"], scope=scope, pid_files=["/run/other.pid"])
    found = search_for(other).restarting_text(line)
    # Except where it restarts several.
    assert found is None or "other" in line


HERMES = [
    ("hermes gateway restart", True),
    ("hermes gateway stop && hermes gateway start", True),
    ("hermes gateway run --replace", True),
    ("/usr/bin/python3.11 -m hermes_cli.main gateway run --replace", True),
    ("launchctl kickstart -k gui/$(id -u)/ai.hermes.gateway", True),
    ("hermes gateway status", False),
    ("hermes gateway run", False),
    ("hermes -p work gateway restart", False),
    ("hermes restart", False),
    ("hermes chat 'please restart the gateway'", False),
    ("HERMES_HOME=/srv/other hermes gateway restart", False),
    ("launchctl kickstart -k gui/501/ai.hermes.gateway-work", False),
]


@pytest.mark.parametrize(("line", "restarts"), HERMES)
def test_another_daemon_is_restarted_by_its_own_words(line: str, restarts: bool) -> None:
    subject = hermes(home=str(Path("~/.hermes").expanduser()))
    assert (search_for(subject).restarting_text(line) is not None) is restarts


SHELL = "#!/bin/sh\n# systemctl --user restart heartbeat\n{}\n"
PROGRAMS = [
    ("a", SHELL.format("while true; do sleep 20; systemctl --user restart heartbeat; done"), True),
    ("b", SHELL.format("echo heartbeat"), False),
    ("c", SHELL.format('case "$1" in restart) systemctl --user restart heartbeat;; esac'), False),
    ("d", "#!/usr/bin/env bash\nset -eu\nkick() {\n  systemctl --user restart heartbeat\n}\nkick\n", True),
    (
        "e",
        "#!/usr/bin/python3\nfrom subprocess import run\nrun(\n  ['systemctl', '--user', 'restart', 'heartbeat'],\n)",
        True,
    ),
    ("f", "#!/usr/bin/env python3\ncmd = [\n  'systemctl', '--user',\n  'restart', 'heartbeat.service',\n]\n", True),
    (
        "g",
        "#!/usr/bin/python3\n'''systemctl --user restart heartbeat'''\nprint('systemctl --user restart heartbeat')",
        False,
    ),
    ("h", "#!/usr/bin/python3\n# subprocess.run(['systemctl', '--user', 'restart', 'heartbeat'])\n", False),
    ("i", '#!/usr/bin/perl\n# don\'t\nsystem "systemctl --user restart heartbeat";\n', True),
    ("j", "#!/usr/bin/env node\nexecFile('systemctl', ['--user', 'restart', 'heartbeat'], () => {})\n", True),
    ("k", "#!/usr/bin/env node\n// execSync('systemctl --user restart heartbeat')\n", False),
    ("l", "#!/usr/bin/env ruby\n`systemctl --user restart heartbeat`\n", True),
    ("m", "systemctl --user restart heartbeat\n", False),  # no script: it has no first line that says so
    ("n", "#!/bin/sh\n" + "true\n" * 20_000 + "systemctl --user restart heartbeat\n", False),  # beyond what is read
    ("o", "#!/bin/sh\n\0heartbeat systemctl --user restart heartbeat\n", False),
]


@pytest.mark.parametrize(("name", "text", "restarts"), PROGRAMS, ids=[name for name, _, _ in PROGRAMS])
def test_a_script_is_read_in_its_own_language(name: str, text: str, restarts: bool, tmp_path: Path) -> None:
    path = script(tmp_path, name, text)
    step = search_for(ours()).restarting_text(f"{path} status", user="ann")
    assert (step is not None) is restarts
    assert step is None or step.script == str(path)


def test_a_script_is_found_by_whoever_reads_it(tmp_path: Path) -> None:
    search = search_for(ours())
    plain = tmp_path / "loop"  # not executable, and without a first line that says what it is
    plain.write_text("systemctl --user restart heartbeat\n")
    program = tmp_path / "loop.py"
    program.write_text("import os\nwhile True:\n    os.system('systemctl --user restart heartbeat')\n")
    for argv in (["bash", str(plain)], ["bash", "loop"], [".", str(plain)], ["python3", "-u", "loop.py"]):
        step = search.restarting(argv, user="ann", folder=str(tmp_path))
        assert step is not None, argv
        assert step.looped is (argv[-1] == "loop.py")
        assert told(step).endswith("which has `systemctl --user restart heartbeat`")


def test_every_program_of_a_folder_is_looked_into_that_is_run_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "cron.hourly"
    folder.mkdir()
    script(folder, "kick", SHELL.format("systemctl --user restart heartbeat"))
    line = f"test -x /nowhere || {{ cd / && run-parts --report {folder}; }}"
    step = search_for(ours()).restarting_text(line, user="ann")
    assert step is not None
    assert step.script == f"{folder}/kick"
    (folder / "kick").chmod(0o644)
    assert search_for(ours()).restarting_text(line, user="ann") is None


@pytest.mark.parametrize(
    ("line", "looped"),
    [
        ("systemctl --user restart heartbeat", False),
        ("systemctl --user restart heartbeat; while true; do sleep 1; done", False),
        ("while true; do sleep 20; done; systemctl --user restart heartbeat", False),
        ("until false; do systemctl --user restart heartbeat; done", True),
        ("while :; do { sleep 20; (systemctl --user restart heartbeat); }; done", True),
        ("while :; do case $x in a) systemctl --user restart heartbeat;; esac; done", True),
        ("while :; do if x; then for y in 1 2; do true; done; systemctl --user restart heartbeat; fi; done", True),
        ("sh -c 'while sleep 20; do true; done'; systemctl --user restart heartbeat", False),
        ("watch systemctl --user restart heartbeat", True),
    ],
)
def test_a_loop_is_told_from_a_single_time(line: str, looped: bool) -> None:
    step = search_for(ours()).restarting_text(line, user="ann")
    assert step is not None
    assert step.looped is looped


@given(
    st.lists(
        st.sampled_from(
            [
                '"',
                "'",
                "`",
                "$(",
                ")",
                "(",
                "{",
                "\\",
                "\n",
                " ",
                "heartbeat",
                "case x in",
                "done",
                "<<E",
                "#",
                ";;",
                "$x",
                "${",
                "while",
                "[",
                ",",
            ]
        ),
        max_size=40,
    )
)
def test_no_text_breaks_the_reading(parts: list[str]) -> None:
    text = " ".join(parts) + "".join(parts)
    assert isinstance(parse(text), list)
    assert isinstance(spelled(text), list)
    search_for(ours()).restarting_text(text)


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0$"), max_size=8)


@given(st.lists(WORDS, max_size=4))
def test_what_is_quoted_is_read_as_the_same_words(words: list[str]) -> None:
    (step,) = parse(f"true {quote(words)}")
    assert list(step.words) == ["true", *words]


def test_quoting_is_what_the_shell_undoes() -> None:
    words = ["a b", "it's", "$HOME", "`x`", "", "#", "\\", "é", "a\nb", "*", "~", "x=y", "dev-disk\\x2d1.timer"]
    said = subprocess.run(["sh", "-c", f"printf '%s\\0' {quote(words)}"], capture_output=True, check=True, text=True)
    assert said.stdout.split("\0")[:-1] == words


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("heartbeat", "heartbeat", True),
        ("heart*", "heartbeat.service", True),
        ("*beat*run", "heartbeat run", True),
        ("*", "", True),
        ("a*a", "a", False),
        ("heart*timer", "heartbeat.service", False),
    ],
)
def test_a_pattern_fits_the_whole_text(pattern: str, text: str, expected: bool) -> None:
    assert fits(pattern, text) is expected
