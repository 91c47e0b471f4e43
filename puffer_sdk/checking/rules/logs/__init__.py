"""PUF421-423: does the log tell what happened?  unlogged_endings.c counts what it leaves out,
hidden_resets.c what goes on over resets without a terminal."""
