"""PUF401: envs that go on from a finished episode."""
