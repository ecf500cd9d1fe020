#!/bin/sh
# The demo's agent: reads the prompt on standard input and answers with the titles of the findings in it.
sed -n 's/^ *"title": "\(.*\)",*$/Heads up: \1/p'
