"""PUF311-322: rewards and terminals."""
