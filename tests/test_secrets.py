"""Secrets: kept in four places, had just before a run, used by the script, and seen nowhere."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from heartbeat.beat import Halt, tick
from heartbeat.config.options import check_options, secret_tables, with_secrets
from heartbeat.config.secret import Secret
from heartbeat.errors import ConfigError
from heartbeat.job import agent_environment, load
from heartbeat.job import vault as vaults
from heartbeat.job.checking import OWN
from heartbeat.job.environment import environment
from heartbeat.job.secrets import secret_values
from heartbeat.job.vault import Vault
from heartbeat.model import Captured, Execution, Verdict
from heartbeat.paths import find_home
from heartbeat.process import redacted
from heartbeat.process.pids import look
from heartbeat.process.spellings import LONGEST
from tests.conftest import CONFIG, NOW, Bench, Done, Place, wait_for

BACKEND = """
import os, time
from keyring import backend, errors

class Keyring(backend.KeyringBackend):
    priority = 1

    def get_password(self, service, user):
        with open(os.environ["FAKE_KEYRING"], encoding="utf-8") as file:
            entries = dict(line.rstrip("\\n").split("=", 1) for line in file)
        match entries.get(f"{service}|{user}"):
            case "LOCKED":
                raise errors.KeyringLocked("s3cret-in-an-error")
            case "GONE":
                raise errors.InitError("s3cret-in-an-error")
            case "BROKEN":
                raise ZeroDivisionError("s3cret-in-an-error")
            case "HANGS":
                                time.sleep(600)
            case value:
                return value and value.replace("NEWLINE", "\\n")

    def set_password(self, service, user, password): ...
"""


def program(folder: Path, name: str, body: str) -> str:
    """A keeper of secrets, in shell."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def vault(folder: Path, **environ: str) -> Vault:
    found = {"PATH": os.environ["PATH"], "HOME": str(folder), **environ}
    return Vault(folder, found, f"{folder}:/usr/bin:/bin", "run_1")


def answer(where: Vault, secret: Secret) -> str:
    """The value, or the text of what is wrong."""
    return str(where.read([secret])[secret])


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine may be busy."""
    monkeypatch.setattr(vaults, "LIMIT", timedelta(seconds=60))


@pytest.fixture
def keyring(tmp_path: Path) -> dict[str, str]:
    """The variables with which the library asks a keyring of this test's own."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "fake_keyring.py").write_text(BACKEND)
    (tmp_path / "entries").write_text(
        "mail|me=pässword-1NEWLINE\nhttps://cal.example/dav|me=two wordsNEWLINEof it\n"
        "locked|me=LOCKED\ngone|me=GONE\nbroken|me=BROKEN\nhangs|me=HANGS\nempty|me=\n"
        f"large|me={'x' * 65536}\nlarger|me={'x' * 65537}\n"
    )
    return {
        "PYTHONPATH": str(library),
        "PYTHON_KEYRING_BACKEND": "fake_keyring.Keyring",
        "FAKE_KEYRING": str(tmp_path / "entries"),
    }


# Programs


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("echo s3cret", "s3cret"),
        ("printf s3cret", "s3cret"),
        ("printf 's3cret\\r\\nuser: me\\n'", "s3cret"),
        ("echo ' s3cret '", " s3cret "),
        ("echo pässwörd", "pässwörd"),
        ("cat; echo stdin was closed", "stdin was closed"),
        ("echo noise >&2; echo s3cret", "s3cret"),
        ('echo "$1"', "$(id); `id` ~"),
        ('echo "$DBUS_SESSION_BUS_ADDRESS"', "unix:path=/bus"),
        ("pwd", "{folder}"),
        ("head -c 65535 /dev/zero | tr '\\0' x; echo", "x" * 65535),
    ],
)
def test_the_secret_of_a_program_is_the_first_line_that_it_prints(tmp_path: Path, body: str, value: str) -> None:
    keeper = program(tmp_path, "keeper", body)
    where = vault(tmp_path, DBUS_SESSION_BUS_ADDRESS="unix:path=/bus")
    expected = value.replace("{folder}", str(tmp_path))
    assert answer(where, Secret(command=(keeper, "$(id); `id` ~"))) == expected
    assert answer(where, Secret(command=("keeper", "$(id); `id` ~"))) == expected
    assert answer(where, Secret(command=("~/keeper", "$(id); `id` ~"))) == expected


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("echo s3cret; echo s3cret >&2; exit 3", "ended with exit status 3"),
        ("echo s3cret; kill -9 $$", "ended with signal 9"),
        ("exit 0", "it is empty"),
        ("echo; echo s3cret", "it is empty"),
        ("printf 's3cret\\0\\n'", "NUL"),
        ("printf 's3cret\\377\\n'", "not UTF-8"),
        ("echo s3cret; head -c 65530 /dev/zero", "over 64 KiB"),
    ],
)
def test_a_program_that_gives_no_secret_is_told_by_its_name_alone(tmp_path: Path, body: str, fault: str) -> None:
    keeper = program(tmp_path, "keeper", body)
    told = answer(vault(tmp_path), Secret(command=(keeper, "s3cret-argument")))
    assert told.startswith("cannot ")
    assert fault in told
    assert '"keeper"' in told
    assert "; " in told
    assert "s3cret" not in told


def test_a_program_that_has_gone_since_is_told(tmp_path: Path) -> None:
    assert "no such program in PATH" in answer(vault(tmp_path), Secret(command=("gone-since",)))


def test_a_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vaults, "LIMIT", timedelta(seconds=1))
    keeper = program(tmp_path, "keeper", 'trap "" TERM; sleep 600 & echo $! > child; echo s3cret; wait; sleep 600')
    told = answer(vault(tmp_path), Secret(command=(keeper,)))
    assert "it took over 1 s" in told
    assert "s3cret" not in told
    child = look(int((tmp_path / "child").read_text()))
    assert child is None or child.dead


@pytest.mark.parametrize("count", [1, 3])
def test_a_stop_ends_the_programs_that_are_waited_for(tmp_path: Path, count: int) -> None:
    keeper, stop = program(tmp_path, "keeper", 'echo > "started$1"; exec sleep 600'), threading.Event()
    secrets = [Secret(command=(keeper, str(number))) for number in range(count)]

    def stop_when_started() -> None:
        for number in range(count):
            wait_for(tmp_path / f"started{number}")
        stop.set()

    threading.Thread(target=stop_when_started).start()
    found = replace(vault(tmp_path), stop=stop).read(secrets)
    assert all("heartbeat was stopping" in str(value) for value in found.values())


def test_programs_run_side_by_side_and_share_one_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each ends only when it has seen the other begin.
    body = 'echo > "$1"; until [ -e "$2" ]; do sleep 0.05; done; echo "of $1"'
    keeper = program(tmp_path, "keeper", body)
    one, other = Secret(command=(keeper, "a", "b")), Secret(command=(keeper, "b", "a"))
    assert vault(tmp_path).read([one, other]) == {one: "of a", other: "of b"}
    monkeypatch.setattr(vaults, "LIMIT", timedelta(seconds=1))
    never = [Secret(command=(keeper, "x", f"never{number}")) for number in range(vaults.AT_ONCE + 1)]
    assert {"it took over 1 s" in str(value) for value in vault(tmp_path).read(never).values()} == {True}


@pytest.mark.skipif(not shutil.which("setsid"), reason="a session of its own is begun with setsid")
def test_what_one_program_leaves_behind_is_not_taken_for_anothers(tmp_path: Path) -> None:
    leaves = program(tmp_path, "leaves", "until [ -e begun ]; do sleep 0.05; done; sleep 600 & echo first")
    works = program(tmp_path, "works", "setsid -w sh -c 'echo > begun; sleep 2; echo second'")
    one, other = Secret(command=(leaves,)), Secret(command=(works,))
    assert vault(tmp_path).read([one, other]) == {one: "first", other: "second"}


def test_a_secret_that_is_wanted_twice_is_asked_for_once(tmp_path: Path) -> None:
    keeper = program(tmp_path, "keeper", "echo >> asked; echo s3cret")
    secret = Secret(command=(keeper,))
    assert vault(tmp_path).read([secret, Secret(command=(keeper,))]) == {secret: "s3cret"}
    assert (tmp_path / "asked").read_text() == "\n"


# The keyring


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("mail/me", "pässword-1\n"),
        ("https://cal.example/dav/me", "two words\nof it"),
        ("large/me", "x" * 65536),
        ("larger/me", 'cannot use "larger/me" from the keyring: it is over 64 KiB; let only the secret be printed'),
        ("mail/you", 'cannot find "mail/you" in the keyring; put it there with `keyring set SERVICE USER`'),
        ("empty/me", 'cannot find "empty/me" in the keyring; put it there with `keyring set SERVICE USER`'),
        ("locked/me", "cannot read the keyring: it is locked; unlock it"),
        ("broken/me", "cannot read the keyring: it failed; try `keyring get SERVICE USER`"),
    ],
)
def test_an_entry_of_the_keyring_is_had_whole_or_it_is_said_what_to_do(
    tmp_path: Path, keyring: dict[str, str], entry: str, expected: str
) -> None:
    assert answer(vault(tmp_path, **keyring, LANG="C", PYTHONUTF8="0"), Secret(keyring=entry)) == expected


def test_no_keyring_at_all_is_told(tmp_path: Path, keyring: dict[str, str]) -> None:
    none = {**keyring, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    assert "cannot find a keyring" in answer(vault(tmp_path, **none), Secret(keyring="mail/me"))
    assert "cannot find a keyring" in answer(vault(tmp_path, **keyring), Secret(keyring="gone/me"))


def test_a_keyring_that_opens_a_dialog_nobody_sees_is_given_up(
    tmp_path: Path, keyring: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vaults, "LIMIT", timedelta(seconds=2))
    assert "it took over 2 s" in answer(vault(tmp_path, **keyring), Secret(keyring="hangs/me"))


def test_where_the_library_is_not_installed_the_error_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keyring.py").write_text("raise ModuleNotFoundError('keyring')")
    secret = Secret(keyring="mail/me")
    assert "pip install 'heartbeat[keyring]'" in answer(vault(tmp_path, PYTHONPATH=str(tmp_path)), secret)
    vault(tmp_path).check(secret)
    monkeypatch.setattr(vaults, "find_spec", lambda _: None)
    with pytest.raises(ValueError, match=r"pip install 'heartbeat\[keyring\]'"):
        vault(tmp_path).check(secret)


# What is found before anything runs


def test_no_program_is_run_to_check_a_secret(tmp_path: Path) -> None:
    keeper = program(tmp_path, "keeper", "echo > ran")
    for word in (keeper, "keeper", "~/keeper", "./keeper"):
        vault(tmp_path).check(Secret(command=(word,)))
    assert not (tmp_path / "ran").exists()
    for word in ("absent", "./absent"):
        with pytest.raises(ValueError, match=f"cannot run '.*{word.removeprefix('.')}' for a secret: .*; install it"):
            vault(tmp_path).check(Secret(command=(word,)))


@pytest.mark.parametrize(
    ("options", "key", "message"),
    [
        ("password = { file = 'open' }", "password", "run `chmod 600 {home}/open`"),
        ("password = { file = 'absent' }", "password", "put the secret there"),
        ("password = { env = 'ABSENT' }", "password", "cannot find the variable ABSENT"),
        ("password = { command = ['absent'] }", "password", "not on the PATH"),
        ("sources = [ { caldav = 'u', password = { file = 'open' } } ]", "sources[0].password", "chmod 600"),
        ("a = { b = [ [ { url = { command = ['absent', 'x'] } } ] ] }", "a.b[0][0].url", "not on the PATH"),
        ("password = { env = 'not-a-name' }", "password", "write the name of a variable in quotes"),
        ("password = { env = 3 }", "password", "write the name of a variable in quotes"),
        ("password = { file = 3 }", "password", "write a path in quotes"),
        ("password = { file = '' }", "password", "write a path in quotes"),
        ("password = { command = 's3cret' }", "password", "write a list of texts"),
        ("password = { command = [] }", "password", "write a list of texts"),
        ("password = { command = ['', 's3cret'] }", "password", "write a list of texts"),
        ("password = { command = ['pass', 3] }", "password", "write a list of texts"),
        ("password = { keyring = 's3cret' }", "password", "write service and user in quotes"),
        ("password = { keyring = 's3cret/' }", "password", "write service and user in quotes"),
        ("password = { keyring = '/s3cret' }", "password", "write service and user in quotes"),
    ],
)
def test_a_secret_in_options_that_cannot_be_had_is_a_problem_with_its_key(
    place: Place, options: str, key: str, message: str
) -> None:
    place.file("open", "s3cret").chmod(0o644)
    place.configure(f"[jobs.check]\nevery = '1h'\noptions = {{ {options} }}\n")
    told = place.error("check", status=4)
    assert told.startswith(f"{place.folder}/config.toml: jobs.check.options.{key}: cannot ")
    assert message.replace("{home}", str(place.folder)) in told
    assert "s3cret" not in told
    assert "\n" not in told


@pytest.mark.parametrize(
    "options",
    [
        "file = 'me.ics'",
        "sources = [ { file = 'open' }, { command = ['ls'] }, { keyring = 3 } ]",
        "sources = [ [ { file = 'open' } ] ]",
        "thing = { file = 'open', name = 'x' }",
        "thing = { path = 'open' }",
    ],
)
def test_what_stands_in_a_list_or_beside_another_key_is_no_secret(place: Place, options: str) -> None:
    place.file("open", "s3cret").chmod(0o644)
    place.configure(f"[jobs.check]\nevery = '1h'\noptions = {{ {options} }}\n")
    assert place.data("check")["jobs"] == ["check"]
    loaded = load(find_home(str(place.folder), {}), place.environment()).jobs["check"]
    assert list(secret_tables(loaded.options)) == []
    assert with_secrets(loaded.options, lambda _: None) == loaded.options


def test_an_option_that_is_text_may_be_a_secret(place: Place) -> None:
    header = "#!/bin/sh\n# /// script\n# [tool.heartbeat.options]\n# url = ''\n# depth = 3\n# ///\n"
    place.script("check", header)
    place.file("address", "https://x")
    place.configure("[jobs.check]\nevery = '1h'\noptions.url = { file = 'address' }\n")
    assert place.data("check")["jobs"] == ["check"]
    place.configure("[jobs.check]\nevery = '1h'\noptions.depth = { file = 'address' }\n")
    assert "this option is a whole number" in place.error("check", status=4)


@pytest.mark.parametrize(("count", "fits"), [(50, True), (51, False)])
def test_options_keep_fifty_secrets_at_most(count: int, fits: bool) -> None:
    options = {f"k{number}": {"file": f"f{number}"} for number in range(count)}
    problems = check_options(options, "config.toml", ("jobs", "x", "options"))
    assert [problem.key for problem in problems] == ([] if fits else ["jobs.x.options"])


def test_the_secrets_of_a_job_and_of_the_agent_may_be_kept_in_four_places(
    tmp_path: Path, place: Place, keyring: dict[str, str]
) -> None:
    keeper = program(tmp_path, "keeper", "echo by-command")
    place.file("pw", "by-file\n")
    four = f"""A = {{ env = "X" }}\nB = {{ file = "pw" }}\nC = {{ command = ["{keeper}"] }}\nD.keyring = "mail/me"\n"""
    place.configure(f"{CONFIG}\n[agent.secrets]\n{four}\n[jobs.check.secrets]\n{four}")
    home, environ = find_home(str(place.folder), {}), place.environment(X="by-env", **keyring)
    given = agent_environment(load(home, environ).settings, home, environ)
    assert [given[name] for name in "ABCD"] == ["by-env", "by-file", "by-command", "pässword-1\n"]
    program(tmp_path, "keeper", "echo by-command >&2; exit 1")
    with pytest.raises(ConfigError, match=r"agent\.secrets\.C: cannot get the secret from .* exit status 1") as caught:
        agent_environment(load(home, environ).settings, home, environ)
    assert "by-command" not in str(caught.value)


# What a script is handed


def handed(bench: Bench, options: str, script: str = 'env > "$HEARTBEAT_HOME/env"') -> dict[str, str]:
    """The HEARTBEAT_ variables of a run."""
    bench.place.script("check", f"#!/bin/sh\n{script}\n" + """echo '{"wakeAgent": false}'\n""")
    bench.place.configure(f"{CONFIG}\n[jobs.check.options]\n{options}\n")
    judgement = bench.tick(0).judgement
    assert judgement is not None
    assert judgement.verdict is Verdict.QUIET, judgement
    lines = (bench.place.folder / "env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line.startswith("HEARTBEAT_"))


def test_a_script_gets_every_secret_in_one_form(bench: Bench) -> None:
    keeper = program(bench.place.folder, "keeper", 'echo >> "$0.asked"; echo by-command')
    bench.place.file("pw", "by-file\n")
    given = handed(
        bench,
        f"""
        depth = 3
        url = {{ command = ["{keeper}"] }}
        home = {{ env = "HOME" }}
        sources = [ {{ file = "pw", password = {{ file = "pw" }} }}, {{ url = {{ command = ["{keeper}"] }} }} ]
        """,
    )
    assert json.loads(given["HEARTBEAT_OPTIONS"]) == {
        "depth": 3,
        "url": {"env": "HEARTBEAT_SECRET_1"},
        "home": {"env": "HOME"},
        "sources": [{"file": "pw", "password": {"env": "HEARTBEAT_SECRET_2"}}, {"url": {"env": "HEARTBEAT_SECRET_1"}}],
    }
    secrets = {name: value for name, value in given.items() if name.startswith("HEARTBEAT_SECRET_")}
    assert secrets == {"HEARTBEAT_SECRET_1": "by-command", "HEARTBEAT_SECRET_2": "by-file"}
    assert (bench.place.folder / "keeper.asked").read_text() == "\n"


def test_a_secret_that_cannot_be_had_costs_only_what_needs_it(bench: Bench) -> None:
    keeper = program(bench.place.folder, "keeper", "echo s3cret >&2; exit 1")
    bench.place.file("pw", "by-file\n")
    given = handed(bench, f'url = {{ command = ["{keeper}", "x"] }}\npassword = {{ file = "pw" }}')
    options = json.loads(given["HEARTBEAT_OPTIONS"])
    assert options["url"] == {
        "env": "HEARTBEAT_SECRET_1",
        "fault": 'cannot get the secret from "keeper": it ended with exit status 1; run it by hand to see why',
    }
    assert options["password"] == {"env": "HEARTBEAT_SECRET_2"}
    assert "HEARTBEAT_SECRET_1" not in given
    assert given["HEARTBEAT_SECRET_2"] == "by-file"


def test_a_stop_while_secrets_are_waited_for_interrupts_the_run(bench: Bench) -> None:
    keeper = program(bench.place.folder, "keeper", 'echo > "$0.started"; exec sleep 600')
    for table in ("secrets.KEY", "options.url"):
        bench.place.configure(f'{CONFIG}{table} = {{ command = ["{keeper}"] }}\n')
        house = bench.house()
        halt = Halt(house.stop)

        def end(halt: Halt = halt) -> None:
            wait_for(bench.place.folder / "keeper.started")
            halt.end_for("a newer slot replaced it")

        threading.Thread(target=end).start()
        ticked = tick(house, house.config.jobs["check"], None, bench.now, halt=halt)
        assert (ticked.execution.interrupted, ticked.judgement) == (True, None)
        assert not (bench.place.folder / "runs.log").exists(), "the script must not have been started"
        (bench.place.folder / "keeper.started").unlink()


# Taken out of what a script prints


def printed(out: str, secrets: dict[str, str]) -> str:
    head, tail = out[: len(out) // 2], out[len(out) // 2 :]
    execution = Execution(NOW, NOW, 0, stdout=Captured(head.encode(), tail.encode()))
    return redacted(execution, secrets).stdout.joined().decode()


@pytest.mark.parametrize(
    "secret",
    ["hunter2!!", 'quote"and\\slash', "pässwörd", "two\nlines", "tab\tand space", "50% & more?", "日本語日本語"],
)
def test_a_secret_is_taken_out_as_it_is_in_json_and_in_addresses(secret: str) -> None:
    as_json, as_ascii = json.dumps({"title": f"<{secret}>"}, ensure_ascii=False), json.dumps({"title": f"<{secret}>"})
    for text in (secret, as_json, as_ascii, f"https://x/{quote(secret, safe='')}", f"?{urlencode({'q': secret})}"):
        told = printed(text, {"S": secret})
        assert "[secret S]" in told
        assert told.replace("[secret S]", "") in (*("", '{"title": "<>"}', "https://x/", "?q="),)
    assert json.loads(printed(as_json, {"S": secret})) == {"title": "<[secret S]>"}


def test_what_is_no_secret_is_not_taken_out(bench: Bench) -> None:
    bench.place.configure(f'{CONFIG}\n[jobs.check.options]\na = {{ env = "HOME" }}\nb = {{ env = "TOKEN" }}\n')
    environ = bench.place.environment(TOKEN="by-variable")
    job = load(find_home(str(bench.place.folder), {}), environ).jobs["check"]
    env = {"HOME": "/home/me", "TOKEN": "by-variable", "HEARTBEAT_SECRET_1": "by-file", "HEARTBEAT_JOB": "check"}
    assert secret_values(job, env) == {"TOKEN": "by-variable", "HEARTBEAT_SECRET_1": "by-file"}


def test_a_secret_is_taken_out_whatever_its_variable_is_called_but_for_heartbeats_own(bench: Bench) -> None:
    given = {"HEARTBEAT_MAIL_PASSWORD": "by-variable", "HEARTBEAT_SECRETARY": "x", **dict.fromkeys(OWN, "outside")}
    named = ", ".join(f'{{ env = "{name}" }}' for name in given)
    bench.place.configure(f"{CONFIG}\n[jobs.check.options]\na = [ {named} ]\n")
    home, environ = find_home(str(bench.place.folder), {}), bench.place.environment(**given)
    config = load(home, environ)
    job = config.jobs["check"]
    env = environment(
        job,
        config.settings,
        home,
        run_id="run_1",
        slot=None,
        now=NOW,
        token="t",
        environ=environ,
    )
    assert {name for name in env if name.startswith("HEARTBEAT_")} == {*given}
    assert "outside" not in {env[name] for name in OWN}
    assert secret_values(job, env) == {"HEARTBEAT_MAIL_PASSWORD": "by-variable", "HEARTBEAT_SECRETARY": "x"}


GATES = {
    "go": ("p&ss<word>CANARY", {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"}),
    "php": ("pass/word/CANARY", {"/": "\\/"}),
    "upper case": ("pässwörtCANARY", {"\\u00e4": "\\u00E4", "\\u00f6": "\\u00F6"}),
    "javascript": ("p\x7f\u2028ssCANARY", {"\\u007f": "\x7f"}),
}


@pytest.mark.parametrize(("secret", "escapes"), GATES.values(), ids=GATES)
def test_no_spelling_of_json_brings_a_secret_into_the_ledger_or_an_answer(
    place: Place, secret: str, escapes: dict[str, str]
) -> None:
    finding = {"key": f"k {secret}", "title": f"at {secret}", "body": secret, "source": secret, "scope": secret}
    gate = {
        "findings": [{**finding, "data": {secret: [secret]}, "url": f"https://x/{quote(secret)}"}],
        "sources": [{"name": secret, "ok": False, "message": secret}],
        "wakeAgent": True,
        "reason": secret,
        "scopes": [secret],
        "data": [secret],
    }
    text = json.dumps(gate)
    for plain, escaped in escapes.items():
        text = text.replace(plain, escaped)
    assert json.loads(text) == gate
    place.file("secret", secret).chmod(0o600)
    place.file("gate", text)
    place.script("check", '#!/bin/sh\ncat "$HEARTBEAT_HOME/gate" >&2\ncat "$HEARTBEAT_HOME/gate"\n')
    place.configure('[jobs.check]\nevery = "1h"\noptions.x = { file = "secret" }\n')
    answer = place.call("tick", "check", "--json")
    (found,) = json.loads(answer.out)["data"]["findings"]
    mark = "[secret HEARTBEAT_SECRET_1]"
    assert (found["key"], found["title"]) == (f"k {mark}", f"at {mark}")
    kept = b"".join(path.read_bytes() for path in place.state.rglob("*") if path.is_file())
    for form in (secret, json.dumps(secret)[1:-1], quote(secret), quote(secret, safe="")):
        assert form not in answer.out
        assert form.encode() not in kept
    assert b"CANARY" not in kept
    assert "CANARY" not in answer.out


def test_a_secret_too_long_to_know_every_spelling_of_is_not_in_what_is_judged(bench: Bench) -> None:
    secret = "p&ss" * LONGEST
    bench.place.file("secret", secret).chmod(0o600)
    bench.place.script("check", '#!/bin/sh\ncat "$HEARTBEAT_HOME/gate"\n')
    gate = {"wakeAgent": False, "reason": f"a {secret}", "data": {secret: 1}}
    bench.place.file("gate", json.dumps(gate).replace("&", "\\u0026"))
    bench.place.configure(f"{CONFIG}options.x = {{ file = 'secret' }}\n")
    house = bench.house()
    judgement = tick(house, house.config.jobs["check"], None, bench.now).judgement
    assert judgement is not None
    assert judgement.gate is not None
    mark = "[secret HEARTBEAT_SECRET_1]"
    assert (judgement.reason, judgement.gate.reason, judgement.gate.data) == (f"a {mark}", f"a {mark}", {mark: 1})


# Everything at once

ECHO = """
import json, os, sys
options = json.loads(os.environ["HEARTBEAT_OPTIONS"])
values = [os.environ[options[place]["env"]] for place in ("env", "file", "command", "keyring")]
values += [os.environ[f"IN_{place}"] for place in ("ENV", "FILE", "COMMAND", "KEYRING")]
assert all(values) and len(set(values)) == 8
said = " ".join(values)
print("on stdout", said)
print("on stderr", said, file=sys.stderr)
finding = {"key": f"k {said}"[:500], "title": f"title {said}"[:500], "body": said, "data": {"x": values}}
sources = [{"name": "s", "ok": False, "message": said}]
print(json.dumps({"wakeAgent": True, "findings": [finding], "sources": sources, "reason": said, "data": values}))
with open(os.path.join(os.environ["HEARTBEAT_HOME"], "ran"), "w") as file:
    file.write("it did")
sys.exit(int(options["status"]))
"""
PLACES = ("env", "file", "command", "keyring")


@pytest.fixture
def canaries(tmp_path: Path, keyring: dict[str, str], place: Place) -> tuple[dict[str, str], list[str]]:
    """A job with secrets of every place, in options and in `secrets`; heartbeat's variables, and the values."""
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    values = {f"{table}-{where}": f'ca"nary-ü-{table}-{where}' for table in ("option", "secret") for where in PLACES}
    entries = "".join(f"{table}|me={values[f'{table}-keyring']}\n" for table in ("option", "secret"))
    (tmp_path / "entries").write_text(entries)
    variables = {f"{table.upper()}_CANARY": values[f"{table}-env"] for table in ("option", "secret")}
    tables = {}
    for table in ("option", "secret"):
        (outside / table).write_text(values[f"{table}-file"] + "\n")
        (outside / table).chmod(0o600)
        (outside / f"{table}-line").write_text(values[f"{table}-command"] + "\nuser: me\n")
        keeper = program(outside, f"{table}-keeper", f"cat {outside}/{table}-line >&2; cat {outside}/{table}-line")
        tables[table] = [
            f'env = "{table.upper()}_CANARY"',
            f'file = "{outside}/{table}"',
            f'command = ["{keeper}", "show"]',
            f'keyring = "{table}/me"',
        ]
    options = "".join(f"{where} = {{ {kept} }}\n" for where, kept in zip(PLACES, tables["option"], strict=True))
    secrets = "".join(
        f"IN_{where.upper()} = {{ {kept} }}\n" for where, kept in zip(PLACES, tables["secret"], strict=True)
    )
    place.file("jobs/check.sh", f"#!{sys.executable} -B\n{ECHO}")
    place.configure(
        f"{CONFIG}\n[jobs.check.options]\nstatus = 0\n{options}\n[jobs.check.secrets]\n{secrets}\n"
        f"[agent.secrets]\nAGENT_KEY = {{ {tables['secret'][0]} }}\n"
    )
    place.file("agent.sh", '#!/bin/sh\ncat > "$HEARTBEAT_HOME/prompt.txt"\necho "I use $AGENT_KEY"\n')
    return {**keyring, **variables}, list(values.values())


@contextmanager
def command_lines() -> Iterator[set[bytes]]:
    """What `ps` would show of every process, looked at again and again."""
    seen, done = set[bytes](), threading.Event()

    def look_on() -> None:
        while not done.wait(0.005):
            for name in filter(str.isdigit, os.listdir("/proc")):
                try:
                    seen.add(Path(f"/proc/{name}/cmdline").read_bytes())
                except OSError:
                    continue

    watcher = threading.Thread(target=look_on)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()


def assert_unseen(values: list[str], *texts: str | bytes) -> None:
    for text in texts:
        raw = text if isinstance(text, bytes) else text.encode()
        for value in values:
            for form in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
                assert form.encode() not in raw, f"{value} in {raw[:200]!r}"
        # Whatever else its form is: the middle of every value is plain letters.
        assert b"nary-" not in raw


def kept_in(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the command lines of others are read from /proc")
@pytest.mark.parametrize("status", [0, 3])
def test_no_secret_is_seen_anywhere(place: Place, canaries: tuple[dict[str, str], list[str]], status: int) -> None:
    env, values = canaries
    config = place.folder / "config.toml"
    config.write_text(config.read_text().replace("status = 0", f"status = {status}"))
    told: list[Done] = []

    def call(*words: str) -> Done:
        told.append(place.run(*words, env=env))
        return told[-1]

    with command_lines() as seen:
        rehearsed = call("tick", "check", "--dry-run", "--json")
        ticked = call("tick", "check", "--json")
    assert (rehearsed.status, ticked.status) == (0, 0), (rehearsed, ticked)
    assert (place.folder / "ran").exists(), "the script must have had them all"
    run_id = ticked.envelope["data"]["run_id"]
    verbs = ["runs", "why " + run_id, "ledger list", "tick check"]
    if status == 0:
        verbs += ["check", "jobs", "next", "slots", "clock", "brief", "health", "queue list", "wakes list"]
    for verb in verbs:
        call(*verb.split())
        call(*verb.split(), "--json")
    call("tick", "check", "--gate")
    call("brief", "--markdown")
    call("ledger", "export")
    assert_unseen(values, *(done.out for done in told), *(done.err for done in told), *kept_in(place.folder), *seen)
    assert any(b"ask_keyring" in line for line in seen), "the keyring's child must have been seen"
    assert (place.folder / "prompt.txt").exists() == (status == 0)


def test_no_secret_is_seen_of_the_daemon(place: Place, canaries: tuple[dict[str, str], list[str]]) -> None:
    env, values = canaries
    config = place.folder / "config.toml"
    text = config.read_text().replace('every = "10m"', 'every = "1s"') + '\n[log]\nlevel = "debug"\n'
    config.write_text(text)
    daemon = place.start("run", env=env)
    try:
        wait_for(place.folder / "ran")
        wait_for(place.folder / "prompt.txt")
    finally:
        daemon.send_signal(signal.SIGTERM)
        out, err = daemon.communicate(timeout=60)
    assert b"run_ended" in err
    assert_unseen(values, out, err, *kept_in(place.folder))
