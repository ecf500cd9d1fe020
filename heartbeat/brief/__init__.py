"""The brief: what had not been told, as people and as programs read it, and the day it is due on. Pure."""

from heartbeat.brief.day import brief_day
from heartbeat.brief.document import as_document
from heartbeat.brief.text import as_markdown, as_text, urgency_of

__all__ = ["as_document", "as_markdown", "as_text", "brief_day", "urgency_of"]
