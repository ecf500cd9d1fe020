"""Items that must be told at their time: what they say, when they are told, and the folder they are dropped in."""
