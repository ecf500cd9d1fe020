"""httpx without its command line, which takes longer to import than all the rest of it, on every run of a script."""

from __future__ import annotations

import sys
from typing import Any

_COMMAND_LINE = "httpx._main"


def _import_httpx() -> None:
    modules: dict[str, Any] = sys.modules
    if "httpx" in modules:
        return
    modules[_COMMAND_LINE] = None  # httpx takes this for a command line that is not installed
    try:
        import httpx as _  # noqa: F401
    except ImportError:
        pass  # another release, which needs it after all: the import below decides
    finally:
        modules.pop(_COMMAND_LINE, None)


_import_httpx()
import httpx as httpx  # noqa: E402, PLC0414  # after the above, and meant to be imported from here
