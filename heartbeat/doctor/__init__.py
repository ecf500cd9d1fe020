"""`heartbeat doctor`: one file for each question, found by listing this folder; each answers with a remedy.

A file whose name begins with `_` asks nothing, but is what the questions share.
"""

from heartbeat.doctor._answer import Answer, Status, fail, ok, skip, warn
from heartbeat.doctor._case import Case, admit
from heartbeat.doctor._round import consult, questions

__all__ = ["Answer", "Case", "Status", "admit", "consult", "fail", "ok", "questions", "skip", "warn"]
