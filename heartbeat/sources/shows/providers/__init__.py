"""Where shows are listed: one file a provider, found by its name; the option `sources` names it as the kind."""
