"""Policies after training: evaluate them, export them.

In reading order:

    trained_policy  Policy: observations -> actions, in your own loop
    players         a trained policy, random play, idle play, a scripted one
    scoring         the child: plays the episodes and scores them
    evaluate        the parent: the comparison, episodes.json
    match           policies against each other
    export_note     the measured score of an exported policy
    export          checkpoint -> NAME_policy.bin (C), ONNX, torch.export
"""
