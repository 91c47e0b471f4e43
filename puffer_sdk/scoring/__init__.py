"""Score policies: fixed seeds, fair episodes, means with intervals.

In reading order:

    baselines      random and idle play
    entries        which log entries count
    facing         several players in one vec, each in rows of its own
    games          who won
    play_episodes  a player in fresh envs, within a budget of agent steps
    kept_scores    scores, as runs and checkpoints keep them
    score          means, intervals, rates
    intervals      means with 95 % intervals
    apart          isolates a play within a process
"""
