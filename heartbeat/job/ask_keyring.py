"""Prints one secret of the keyring: a program, run as a child by its path, so that a keyring that hangs can be ended.

The library has no time limit: a locked keyring opens a dialog and waits for ever, though nobody may see it.
"""

from __future__ import annotations

import sys

NOT_INSTALLED, NO_ENTRY, NO_KEYRING, LOCKED = 11, 12, 13, 14
"""Exit statuses; 1 is any other failure."""


def main(service: str, user: str) -> int:
    try:
        import keyring
        from keyring import errors
    except ImportError:
        return NOT_INSTALLED
    try:
        value = keyring.get_password(service, user)
    except (errors.NoKeyringError, errors.InitError):
        return NO_KEYRING
    except errors.KeyringLocked:
        return LOCKED
    if not value:
        return NO_ENTRY
    # As bytes: the encoding of stdout is that of a language which a service may not have.
    sys.stdout.buffer.write(value.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
