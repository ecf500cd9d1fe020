"""The ledgers: one module or package for each kind."""
