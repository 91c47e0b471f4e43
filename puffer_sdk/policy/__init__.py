"""Policies after training: evaluate them, export them.

In reading order:

    trained_policy  Policy: observations -> actions, in your own loop
    players         a trained policy, random play, idle play
    scoring         the child: plays the episodes and scores them
    evaluate        the parent: the comparison, episodes.json
    export_note     the measured score of an exported policy
    export          checkpoint -> NAME_policy.bin (C), ONNX, torch.export
"""
