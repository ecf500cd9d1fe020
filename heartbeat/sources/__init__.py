"""What tick scripts share, also those of users: reading calendars, fetching, cleaning text."""


class SourceFailed(Exception):
    """One source could not be read; its text says why and holds no address and no secret."""
