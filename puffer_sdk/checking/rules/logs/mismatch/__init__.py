"""PUF422: a log that disagrees with what was measured."""
