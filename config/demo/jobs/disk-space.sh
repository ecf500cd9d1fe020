#!/bin/sh
# Worth knowing in the morning, not worth waking anybody: the gate is false.
printf '{"wakeAgent": false, "findings": [{"key": "disk", "title": "The disk is 81 %% full", "origin": "owner"}]}\n'
