"""PUF410: agents that are declared to be alike, and are not."""
