"""The reference trainer: recurrent PPO in plain PyTorch.  a VecEnv and settings -> a trained policy

It states the algorithm for readers and for tests; a faster trainer has to agree with it.

    trainer = TorchPPO(vec, config)
    while not trainer.finished:
        trainer.rollout()
        losses = trainer.update()

In reading order:

    own_network    the interface of policy.torch_class, and a class of the user's own
    policy         the network: encoder, MinGRU layers, decoder
    seeing         an observation's images, grids, ids and lists -> what the encoder sees
    action_heads   logits -> actions, log-probabilities and entropy; Actor: acts tick by tick
    muon           gradients -> weights: Muon for matrices, Adam for vectors
    own_optimizer  an optimiser of the user's own, in place of Muon
    means          means over a minibatch, over the ranks of a run as well
    own_loss       a loss of the user's own: Batch, Outputs
    minibatches    picks segments, learns from them
    formulas       advantages, prioritised segments, loss
    reference_ppo  TorchPPO: rollout, update, resume
    finite         names the first tensor that holds a NaN or an infinity

Sizes: N agents, T horizon, D observation, H hidden, L layers, K heads, A sum of head widths,
S segments in a minibatch. One row of a buffer holds what belongs to one (agent, tick): the
observation, the action chosen on it, and the reward and ending which that action caused.
"""
