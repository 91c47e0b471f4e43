"""PPO's formulas.  rewards, values, endings, ratios -> advantages, segments to learn from, loss

Sizes as in reference_ppo.py: N agents, T horizon, S segments in a minibatch.
"""
from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from ...settings.table import Train
from .means import Means

# ---- advantages and segments ------------------------------------------------------------------

def advantages(rewards: Tensor, values: Tensor, bootstrap: Tensor, ended: Tensor, truncated: Tensor,
               ratio: Tensor, gamma: float, gae_lambda: float, rho_clip: float, c_clip: float,
               finals: Tensor | None = None, live: Tensor | None = None,
               highest: float = math.inf) -> Tensor:
    """GAE with V-trace clipping, for every horizon. bootstrap is (N,), all other tensors (N, T).

    The value after a tick is that of the next tick, or `bootstrap` after the last one. Where the
    episode ended, it is 0. Where a time limit truncated it, it is that of the final observation, in
    `finals`; where there is none (NaN, or no `finals`) the value before the tick stands in. It is
    at most `highest`: nothing is ever learned about what follows a time limit, so a network may
    make up any value there. Rows that are not `live` have the advantage 0; after the last one that
    is comes `bootstrap`.
    """
    following = torch.cat([values[:, 1:], bootstrap.unsqueeze(1)], 1)
    if live is not None:
        following[:, :-1] = torch.where(live[:, 1:], following[:, :-1], bootstrap.unsqueeze(1))
    last = values if finals is None else torch.where(finals.isnan(), values, finals)
    following = torch.where(ended, torch.where(truncated, last.clamp(max=highest), 0), following)
    delta = ratio.clamp(max=rho_clip) * (rewards + gamma * following - values)
    decay = gamma * gae_lambda * ratio.clamp(max=c_clip) * ~ended
    if live is not None:
        delta = delta * live
    delta, decay = delta.T.contiguous(), decay.T.contiguous()       # (T, N): a tick is one row
    for t in range(len(delta) - 2, -1, -1):
        delta[t].addcmul_(decay[t], delta[t + 1])
    return delta.T


def earned_return(rewards: Tensor, ended: Tensor, truncated: Tensor, gamma: float) -> float:
    """The highest return of all ticks that rewards alone bring, at least 0. Arguments are (N, T).

    Of an episode that its horizon does not end, the rewards that are there count as if T ticks like
    these came again for ever.
    """
    most = float(np.float32(3.4e38))
    left = 1 - float(np.prod(np.full(rewards.shape[1], gamma, np.float32)))
    for_ever = 1 / left if left > 1 / most else most
    sums, times = torch.zeros_like(rewards[:, 0]), torch.full_like(rewards[:, 0], for_ever)
    highest = torch.zeros(())
    for t in range(rewards.shape[1] - 1, -1, -1):
        times = torch.where(ended[:, t], torch.where(truncated[:, t], for_ever, 1.0), times)
        sums = rewards[:, t] + gamma * sums * ~ended[:, t]
        highest = torch.maximum(highest, (sums * times).max())
    return min(most, float(highest))


def segment_probabilities(advantage: Tensor, alpha: float) -> np.ndarray:
    """(N,) float64: p_i ~ (sum_t |A_it|)^alpha + 1e-6, never 0."""
    weight = advantage.abs().sum(1).cpu().double().numpy() ** alpha + 1e-6
    probabilities: np.ndarray = weight / weight.sum()
    return probabilities


def draw_segments(probabilities: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Inverse CDF, with replacement: one segment for each uniform in [0, 1)."""
    cdf = np.cumsum(probabilities)
    rows = np.searchsorted(cdf, uniforms.astype(np.float64) * cdf[-1], side="right")
    last: np.ndarray = np.minimum(rows, len(cdf) - 1)
    return last


def importance_weights(probabilities: np.ndarray, rows: np.ndarray, beta: float) -> np.ndarray:
    """(S,) float32: q_i = (N p_i)^-beta. beta = 1 undoes the bias of prioritised sampling."""
    weights: np.ndarray = (len(probabilities) * probabilities[rows]) ** -beta
    return weights.astype(np.float32)


# ---- what follows from an update ---------------------------------------------------------------

RETURN_RATE, LEAST_RETURN = 0.2, 1e-12
LEAST_FACTOR, MOST_DOWN, MOST_UP = 1e-3, 1 / 3, 1.5


def reward_scale(return_rms: float) -> float:
    """What rewards are multiplied by, as a float32: values are in units of `return_rms`."""
    return float(np.float32(1 / (return_rms or 1.0)))


def follow_returns(return_rms: float, square: float, epoch: int) -> float:
    """The next unit: RETURN_RATE of the way to the returns of an epoch, more in the first ones.

    square  mean square of these returns, in the unit that they were learned in
    """
    rate = max(RETURN_RATE, 1 / (epoch + 2))
    return max(LEAST_RETURN, (return_rms or 1.0) * math.sqrt(1 + rate * (square - 1)))


def next_rate_factor(factor: float, target_kl: float, kl: float) -> float:
    """The next factor of the learning rate: KL divergence grows with the square of the rate."""
    change = math.sqrt(target_kl / kl) if kl > 0 else MOST_UP
    return min(1.0, max(LEAST_FACTOR, factor * min(MOST_UP, max(MOST_DOWN, change))))


# ---- loss -------------------------------------------------------------------------------------

def ppo_loss(log_prob: Tensor, entropy: Tensor, value: Tensor, batch: Mapping[str, Tensor],
             settings: Train, ent_coef: float, means: Means | None = None
             ) -> tuple[Tensor, Tensor, Tensor]:
    """The loss, its parts in the order of LOSSES, and the importance ratio; arguments are (S, T).

    batch: log_prob_old, value_old (the rollout's), advantage, returns, and q (S, 1), which weighs
    only the normalised advantage. Mean and deviation are those of the minibatch; the variance is
    a sum divided by n. `live` (S, T), where it is there: rows without an agent do not count.
    means: of several ranks; loss and parts are then what this rank's rows add to those of all.
    """
    means = means or Means()
    if "live" in batch:
        return _loss_of_live(log_prob, entropy, value, batch, settings, ent_coef, means)
    mean, advantage = means.part, batch["advantage"]
    if settings.norm_adv:
        advantage = advantage - means.whole(advantage)
        advantage = advantage / (means.whole(advantage.square()).sqrt() + 1e-8)
    advantage = batch["q"] * advantage
    log_ratio = log_prob - batch["log_prob_old"]
    ratio = log_ratio.exp()
    clip = settings.clip_coef
    policy_loss = mean(torch.max(-advantage * ratio, -advantage * ratio.clamp(1 - clip, 1 + clip)))
    moved = (value - batch["value_old"]).clamp(-settings.vf_clip_coef, settings.vf_clip_coef)
    clipped_error = (batch["value_old"] + moved - batch["returns"]).square()
    value_loss = 0.5 * mean(torch.max((value - batch["returns"]).square(), clipped_error))
    loss = policy_loss + settings.vf_coef * value_loss - ent_coef * mean(entropy)
    with torch.no_grad():
        parts = torch.stack([policy_loss, value_loss, mean(entropy), -mean(log_ratio),
                             mean(ratio - 1 - log_ratio),
                             mean(((ratio - 1).abs() > clip).to(ratio.dtype))])
    return loss, parts, ratio.detach()


def _loss_of_live(log_prob: Tensor, entropy: Tensor, value: Tensor, batch: Mapping[str, Tensor],
                  settings: Train, ent_coef: float, means: Means) -> tuple[Tensor, Tensor, Tensor]:
    live = batch["live"]
    rows = {name: batch[name].expand(live.shape)[live]
            for name in ("log_prob_old", "value_old", "advantage", "returns", "q")}
    loss, parts, ratio = ppo_loss(log_prob[live], entropy[live], value[live], rows, settings,
                                  ent_coef, means)
    return loss, parts, torch.ones_like(value).masked_scatter(live, ratio)


def explained_variance(values: Tensor, returns: Tensor, means: Means | None = None) -> float:
    """1 - Var(R - V) / Var(R): 1 is perfect, 0 no better than a constant. 0 where R is constant."""
    mean = (means or Means()).whole

    def variance(x: Tensor) -> float:
        return float(mean((x - mean(x)).square()))

    spread = variance(returns)
    return 1 - variance(returns - values) / spread if spread > 0 else 0.0
