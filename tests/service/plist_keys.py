"""What launchd.plist(5) lets a property list say: the keys, their types, and the values that only some may have."""

from __future__ import annotations

Types = type | tuple[type, ...]

KEYS: dict[str, Types] = {
    **dict.fromkeys(("Label", "UserName", "GroupName", "Program", "BundleProgram", "RootDirectory"), str),
    **dict.fromkeys(("WorkingDirectory", "StandardInPath", "StandardOutPath", "StandardErrorPath", "ProcessType"), str),
    **dict.fromkeys(("ProgramArguments", "WatchPaths", "QueueDirectories"), list),
    **dict.fromkeys(("LimitLoadToHosts", "LimitLoadFromHosts"), list),
    **dict.fromkeys(("LimitLoadToHardware", "LimitLoadFromHardware", "inetdCompatibility", "SpawnConstraint"), dict),
    **dict.fromkeys(("EnvironmentVariables", "SoftResourceLimits", "HardResourceLimits"), dict),
    **dict.fromkeys(("MachServices", "Sockets", "LaunchEvents"), dict),
    **dict.fromkeys(("TimeOut", "ExitTimeOut", "ThrottleInterval", "StartInterval", "Nice"), int),
    **dict.fromkeys(("Disabled", "EnableGlobbing", "EnableTransactions", "EnablePressuredExit", "OnDemand"), bool),
    **dict.fromkeys(("ServiceIPC", "RunAtLoad", "InitGroups", "StartOnMount", "Debug", "WaitForDebugger"), bool),
    **dict.fromkeys(("AbandonProcessGroup", "LowPriorityIO", "LowPriorityBackgroundIO", "LaunchOnlyOnce"), bool),
    **dict.fromkeys(("MaterializeDatalessFiles", "HopefullyExitsLast", "HopefullyExitsFirst"), bool),
    **dict.fromkeys(("SessionCreate", "LegacyTimers"), bool),
    "LimitLoadToSessionType": (str, list),
    "KeepAlive": (bool, dict),
    "Umask": (int, str),
    "StartCalendarInterval": (dict, list),
    "AssociatedBundleIdentifiers": (str, list),
}
KEEP_ALIVE: dict[str, Types] = {
    **dict.fromkeys(("SuccessfulExit", "Crashed", "NetworkState", "AfterInitialDemand"), bool),
    **dict.fromkeys(("PathState", "OtherJobEnabled"), dict),
}
CALENDAR = {"Minute": (0, 59), "Hour": (0, 23), "Day": (1, 31), "Weekday": (0, 7), "Month": (1, 12)}
SESSIONS = ("Aqua", "LoginWindow", "Background", "StandardIO", "System")
PROCESS_TYPES = ("Background", "Standard", "Adaptive", "Interactive")
PATHS = ("WorkingDirectory", "StandardOutPath", "StandardErrorPath", "StandardInPath", "RootDirectory", "Program")
OBSOLETE = ("OnDemand", "TimeOut", "ServiceIPC", "Debug", "HopefullyExitsLast", "HopefullyExitsFirst")
