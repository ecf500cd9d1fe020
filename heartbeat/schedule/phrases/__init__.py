"""A schedule as one line of text: a cron expression, an interval, an instant, or a phrase such as `weekdays at 9`."""

from heartbeat.schedule.phrases.read import read_expression

__all__ = ["read_expression"]
