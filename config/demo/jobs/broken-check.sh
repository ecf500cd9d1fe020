#!/bin/sh
# A script that fails wakes nobody and does not vanish: it counts, backs off, and becomes an incident.
echo 'cannot reach the printer' >&2
exit 3
