"""Daemons that are known well enough to be watched by name: where they leave their traces. Data; standard library only.

Where each fact comes from stands beside it; a section of the configuration may overrule any of them.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Values = Mapping[str, str | float | tuple[str, ...]]

HERMES: Values = {
    # https://github.com/NousResearch/hermes-agent/blob/main/gateway/status.py: _RUNTIME_STATUS_FILE; its keys pid,
    # start_time (ticks since boot, or hundredths of a second since 1970 where there is no /proc), updated_at,
    # gateway_state, platforms. Written on changes only: an idle gateway does not touch it.
    "home": "~/.hermes",
    "state_file": "gateway_state.json",
    "phase_key": "gateway_state",
    "phases": ("running",),
    # The same file: write_pid_file. Its gateway.lock is not looked at: a probe that tried that lock, however shortly,
    # could make a gateway that starts at this moment give up.
    "pid_file": ("gateway.pid",),
    # The same file: record_start_and_check_storm; one float a line, the latest 40.
    "starts_log": "gateway-starts.log",
    # https://github.com/NousResearch/hermes-agent/blob/main/gateway/shutdown_watchdog.py: written by the event loop
    # every 30 s, with pid, start_time (of the gateway in it, in seconds since 1970), updated_at and monotonic. One
    # that is blocked on a slow disk was seen to be late by 112 s.
    "heartbeat_file": "state/gateway.heartbeat",
    "heartbeat_stale": 180.0,
    # https://github.com/danielmiessler/LifeOS, LIFEOS/HERMES/Health.ts: STATE_STALE_MS.
    "stale": 900.0,
    # https://github.com/NousResearch/hermes-agent/blob/main/hermes_cli/gateway.py: get_service_name, get_launchd_label.
    "unit": "hermes-gateway.service",
    "label": "ai.hermes.gateway",
    # https://github.com/NousResearch/hermes-agent/issues/62891: a job made by `launchctl submit`, which launchd keeps
    # alive, so that it restarts the gateway for ever. LifeOS Health.ts: RESTARTER_LABEL.
    "restarters": ("ai.hermes.gateway-restarter",),
    "commands": ("hermes gateway",),
}
OPENCLAW: Values = {
    # https://github.com/openclaw/openclaw/blob/main/src/config/paths.ts: resolveStateDir.
    "home": "~/.openclaw",
    # https://github.com/openclaw/openclaw/blob/main/src/infra/gateway-lock.ts: gateway.HASH.lock, a JSON object with
    # pid, createdAt, configPath, stateDir and, under Linux, startTime in ticks since boot. It lies below the state
    # folder since 2026.8 (https://github.com/openclaw/openclaw/issues/138657), before that below the folder for
    # temporary files (https://github.com/openclaw/openclaw/issues/49036).
    "pid_file": ("tmp/openclaw*/gateway.*.lock", "{tmp}/openclaw-{uid}/gateway.*.lock"),
    "start_key": "startTime",
    "updated_key": "createdAt",
    # https://github.com/openclaw/openclaw/blob/main/src/daemon/constants.ts: GATEWAY_SYSTEMD_SERVICE_NAME,
    # GATEWAY_LAUNCH_AGENT_LABEL.
    "unit": "openclaw-gateway.service",
    "label": "ai.openclaw.gateway",
    "commands": ("openclaw gateway",),
}
PRESETS: Mapping[str, Values] = {"hermes": HERMES, "openclaw": OPENCLAW}
HOME_VARIABLES = {"hermes": "HERMES_HOME", "openclaw": "OPENCLAW_STATE_DIR"}


def service_of(preset: str, home: str) -> dict[str, str]:
    """The unit and the label of an instance with a home of its own, as its installer names them; empty for the usual.

    Hermes keeps profiles in HOME/profiles/NAME (hermes_cli/gateway.py: _profile_suffix), OpenClaw in ~/.openclaw-NAME
    (src/daemon/constants.ts: resolveGatewaySystemdServiceName, resolveGatewayLaunchAgentLabel).
    """
    above, name = os.path.split(home)
    if preset == "hermes" and os.path.basename(above) == "profiles":
        return {"unit": f"hermes-gateway-{name}.service", "label": f"ai.hermes.gateway-{name}"}
    if preset == "openclaw" and name.startswith(".openclaw-"):
        profile = name.removeprefix(".openclaw-")
        return {"unit": f"openclaw-gateway-{profile}.service", "label": f"ai.openclaw.{profile}"}
    return {}
