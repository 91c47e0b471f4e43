"""PUF423: values of the log outside their range."""
