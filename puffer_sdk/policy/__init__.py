"""Policies after training: evaluate them, export them.

In reading order:

    acting        Policy: observations -> actions, in your own loop
    players       what plays: a trained policy, random play, idle play
    entries       which log entries count
    scoring       the child: plays the episodes and scores them
    intervals     means with 95 % intervals
    evaluate      the parent: the comparison, episodes.json
    export        checkpoint -> NAME_policy.bin (C), ONNX, torch.export
"""
