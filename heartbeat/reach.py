"""How far one path can be read by this process, without changing anything and without waiting for a writer."""

from __future__ import annotations

import errno
import os
import stat

OK, MISSING, UNKNOWN = "ok", "missing", "unknown"
"""It can be read; nothing is there; it was not looked at in time."""
DENIED, FORBIDDEN = "EACCES", "EPERM"
"""Its permissions are against it; the system itself is, which on macOS is a right that nobody gave."""


def reach(path: str) -> str:
    """One of the words above, or the name of another error, such as EIO."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            # Only to list it shows what macOS keeps from a program.
            with os.scandir(path) as entries:
                next(entries, None)
        elif stat.S_ISREG(mode):
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        elif not os.access(path, os.R_OK):
            return DENIED  # a device is not opened: that alone may do something
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "EIO")
    except ValueError:  # a NUL in it
        return MISSING
    return OK
