"""PUF113: settings that change nothing."""
