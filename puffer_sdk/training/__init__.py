"""Training: environment + settings -> a run folder with metrics and checkpoints.

In reading order:

    train         the parent: settings, run folder, progress, result
    worker_rank   the child of each process; the parents of all ranks but the first
    resuming      which run goes on, and from which checkpoint
    train_worker  the child: envs and trainer, epoch by epoch; checkpoints
    rank_sync     what the ranks of a run do together: logs, actions, checkpoints
    train_job     what the child is given, and its envs
    loop          Trainer: rollout() and update() for the user's own loop
    backends      which trainer: native or PyTorch, CPU or GPU
    schedules     what both trainers share: sizes, learning rate, entropy coefficient
    native/       the trainer in C and CUDA
    reference/    the trainer in plain PyTorch, to read and to test against
    runs          run folders: create, find, list, compare, delete
    plotting      learning curves of runs, in the terminal and as files
    locks         one process trains a run
    checkpoint    checkpoint files: save, load, does it fit
    action_log    the actions that lead a resumed run back; when envs start anew
    log_window    what is shown: means over the latest episodes that ended
    ended_agents  agents that have not ended an episode
    rows          what an epoch writes into metrics.jsonl
    best          the best weights, and their file
    pacing        how often to save
    evaluations   what the weights do in fresh envs: best, solved, the claim
    looks         what evaluations keep: one look at a policy, and their state
    find_model    which checkpoint --load-model-path names
    metrics       where metrics go: metrics.jsonl, Weights & Biases, TensorBoard
    dashboard     what the terminal shows during training
    profiling     where the time of training goes
"""
