"""The command line: one function per verb, and the only place that wires things together."""
