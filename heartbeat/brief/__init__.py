"""The brief: what had not been told, as people and as programs read it, and the day it is due on. Pure."""

from heartbeat.brief.day import brief_day
from heartbeat.brief.document import as_document
from heartbeat.brief.text import as_markdown, as_plain, as_text

__all__ = ["as_document", "as_markdown", "as_plain", "as_text", "brief_day"]
