"""Training: environment + settings -> a run folder with metrics and checkpoints.

In reading order:

    train         the parent: settings, run folder, progress, result
    worker_rank   the child of each process; the parents of all ranks but the first
    resuming      which run to resume, and from which checkpoint
    train_worker  the child: envs and trainer, epoch by epoch; checkpoints
    rank_sync     combines the ranks of a run: logs, actions, checkpoints
    train_job     the child's job, and its envs
    loop          Trainer: rollout() and update() for the user's own loop
    trainer_view  what of a trainer the user's own code sees
    own_code      functions of the user's own
    own_calls     calls of it, with the line that fails
    own_metrics   metrics of the user's own
    own_state     state of the user's own objects in checkpoints
    backends      which trainer: native or PyTorch, CPU or GPU
    schedules     what both trainers share: sizes, learning rate, entropy coefficient
    native/       the trainer in C and CUDA
    reference/    the trainer in plain PyTorch, to read and to test against
    runs          run folders: create, find, list, delete
    provenance    what a run was made of: hashes, copies, commit, machine
    this_machine  processor, compiler and versions
    repeating     a run once more: --as-trained, --like
    own_run       Run: the same folder for a loop of the user's own
    run_comparison  differences of two runs; the best of many
    symptoms      why a run does not learn, from what it measured
    run_records   types of run.json and of checkpoints' metadata
    plotting      learning curves of runs, in the terminal and as files
    locks         one process trains a run
    checkpoint    checkpoint files: save, load, does it fit
    action_log    recorded actions, which a resumed run repeats; when envs restart
    log_window    means over the latest episodes, for display
    ended_agents  agents that have not ended an episode
    rows          an epoch's row of metrics.jsonl
    best          the best weights, and their file
    rescue        a stop within a long epoch
    pacing        how often to save
    evaluations   plays the weights in fresh envs: best weights, goal, final claim
    judging       the play of one of them, against random play where there are teams
    opponent_pool earlier weights that play in a run of self-play
    looks         one evaluation, and the state of all
    watched       what the play of a claim shows: a held action, numbers far from unit scale
    find_model    which checkpoint --load-model-path names
    metrics       where metrics go: metrics.jsonl, Weights & Biases, TensorBoard
    dashboard     what the terminal shows during training
    profiling     where the time of training goes
"""
