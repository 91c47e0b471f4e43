"""The algorithm once more, slow on purpose: NumPy, float64, one loop per index. The tests' oracle.

Nothing here is shared with the trainers but the formulas. Gradients are central differences, so
no derivative is written down twice. Sizes: S segments, T ticks, D, H, A as in training/reference.
"""
import math

import numpy as np


def sigmoid(u):
    return 1 / (1 + math.exp(-u)) if u >= 0 else math.exp(u) / (1 + math.exp(u))


def candidate(u):
    return u + 0.5 if u >= 0 else sigmoid(u)


def advantages(rewards, values, bootstrap, ended, truncated, ratio, gamma, lam, rho_clip, c_clip,
               finals=None, highest=np.inf):
    """(N, T), straight from the definition: discounted deltas, written as a recursion."""
    agents, horizon = rewards.shape
    out = np.zeros((agents, horizon))
    for i in range(agents):
        later = 0.0
        for t in reversed(range(horizon)):
            following = bootstrap[i] if t == horizon - 1 else values[i, t + 1]
            if ended[i, t]:
                following = (0.0, values[i, t], finals[i, t] if finals is not None else None)[
                    int(truncated[i, t])]
                following = min(following, highest)
            rho, c = min(ratio[i, t], rho_clip), min(ratio[i, t], c_clip)
            delta = rho * (rewards[i, t] + gamma * following - values[i, t])
            later = delta + gamma * lam * c * (0.0 if ended[i, t] else later)
            out[i, t] = later
    return out


def earned_return(rewards, ended, truncated, gamma):
    """The highest return of rewards alone, straight from the definition; at least 0."""
    returns, (agents, horizon) = [0.0], rewards.shape
    for i in range(agents):
        for start in range(horizon):
            end = next((t for t in range(start, horizon) if ended[i, t]), horizon - 1)
            back = sum(gamma ** (t - start) * float(rewards[i, t]) for t in range(start, end + 1))
            known = ended[i, end] and not truncated[i, end]
            returns.append(back if known else back / (1 - gamma ** horizon))
    return max(returns)


def plain_gae(rewards, values, bootstrap, ended, gamma, lam):
    """Textbook GAE without importance weights, as an explicit double sum."""
    agents, horizon = rewards.shape
    out = np.zeros((agents, horizon))
    extended = np.concatenate([values, bootstrap[:, None]], 1)
    for i in range(agents):
        for t in range(horizon):
            weight = 1.0
            for k in range(t, horizon):
                go = 0.0 if ended[i, k] else 1.0
                target = rewards[i, k] + gamma * go * extended[i, k + 1]
                out[i, t] += weight * (target - values[i, k])
                if ended[i, k]:
                    break
                weight *= gamma * lam
    return out


def seen(weights, row, parts):
    """A row (D,) -> (E,): plain numbers, then each part's features, by row, column, filter."""
    taken, features = set(), []
    for number, part in enumerate(parts):
        taken |= set(range(part.first, part.first + part.count))
        raw = row[part.first:part.first + part.count]
        raw = raw.reshape(part.channels, part.height, part.width).transpose(1, 2, 0) \
            if part.planes else raw.reshape(part.height, part.width, part.channels)
        cells = np.zeros((part.height, part.width, part.inputs))
        for y, x in np.ndindex(part.height, part.width):
            first = 0
            for channel in range(part.channels):
                count = part.ids[channel] if part.ids else 0
                for one in range(count):
                    cells[y, x, first + one] = raw[y, x, channel] == one
                if not count:
                    cells[y, x, first] = raw[y, x, channel]
                first += count or 1
        for level, layer in enumerate(part.layers):
            weight = weights[f"parts.{number}.{level}"].reshape(
                layer.filters, layer.kernel, layer.kernel, cells.shape[2])
            out = np.zeros(((cells.shape[0] - layer.kernel) // layer.stride + 1,
                            (cells.shape[1] - layer.kernel) // layer.stride + 1, layer.filters))
            for y, x, f in np.ndindex(out.shape):
                patch = cells[y * layer.stride:y * layer.stride + layer.kernel,
                              x * layer.stride:x * layer.stride + layer.kernel]
                total = (weight[f] * patch).sum()
                out[y, x, f] = 0 if total < 0 else total
            cells = out
        if part.kind == "list":
            there = [y for y in range(part.height)
                     if part.mask is None or raw[y, 0, part.mask] != 0]
            features += [max([0, *(cells[y, 0, f] for y in there)]) for f in range(cells.shape[2])]
        else:
            features += cells.ravel().tolist()
    return np.array([row[i] for i in range(len(row)) if i not in taken] + features, np.float64)


def network(weights, obs, state0, ended, parts=()):
    """weights: encoder, layers.0.., decoder. obs (S, T, D) -> logits (S, T, A), values (S, T)."""
    layers = [weights[name] for name in sorted(weights) if name.startswith("layers.")]
    hidden = weights["encoder"].shape[0]
    segments, horizon = obs.shape[:2]
    out = np.zeros((segments, horizon, weights["decoder"].shape[0]))
    for i in range(segments):
        state = [np.array(state0[i, number], np.float64) for number in range(len(layers))]
        for t in range(horizon):
            x = weights["encoder"] @ seen(weights, obs[i, t].astype(np.float64), parts)
            for number, weight in enumerate(layers):
                product = weight @ x
                for unit in range(hidden):
                    z = sigmoid(product[hidden + unit])
                    h = (1 - z) * state[number][unit] + z * candidate(product[unit])
                    s = sigmoid(product[2 * hidden + unit])
                    state[number][unit] = h
                    x[unit] = s * h + (1 - s) * x[unit]
                if ended[i, t]:
                    state[number] = np.zeros(hidden)
            out[i, t] = weights["decoder"] @ x
    return out[..., :-1], out[..., -1]


def log_prob_and_entropy(logits, actions, sizes, logstd=None, mask=None):
    """One row: logits (A,), actions (K,), mask (A,) -> two numbers, summed over heads."""
    log_prob = entropy = 0.0
    first = dimension = 0
    for head, width in enumerate(sizes):
        mine = logits[first:first + width]
        if width == 1:
            deviation = math.exp(min(max(logstd[dimension], -20), 2))
            distance = (actions[head] - mine[0]) / deviation
            log_prob -= 0.5 * distance ** 2 + math.log(deviation) + 0.5 * math.log(2 * math.pi)
            entropy += math.log(deviation) + 0.5 * math.log(2 * math.pi * math.e)
            dimension += 1
        else:
            legal = [j for j in range(width) if mask is None or mask[first + j]]
            total = sum(math.exp(mine[j]) for j in legal)
            chances = {j: math.exp(mine[j]) / total for j in legal}
            log_prob += math.log(chances[int(actions[head])])
            entropy -= sum(p * math.log(p) for p in chances.values())
        first += width
    return log_prob, entropy


def row_loss(log_ratio, advantage, value, value_old, target, clip, value_clip):
    """One row's parts of the loss, from an advantage that is normalised and weighted."""
    ratio = math.exp(log_ratio)
    bound = min(max(ratio, 1 - clip), 1 + clip)
    moved = min(max(value - value_old, -value_clip), value_clip)
    return {"policy": max(-advantage * ratio, -advantage * bound),
            "value": 0.5 * max((value - target) ** 2, (value_old + moved - target) ** 2),
            "old_kl": -log_ratio, "approx_kl": ratio - 1 - log_ratio,
            "clipped": abs(ratio - 1) > clip, "ratio": ratio}


def loss(weights, batch, sizes, settings, ent_coef):
    """The minibatch loss and its parts. batch holds (S, T, ..) float64 arrays and q (S,)."""
    logits, values = network(weights, batch["obs"], batch["state0"], batch["ended"])
    segments, horizon = values.shape
    advantage = batch["advantage"]
    mean, deviation = advantage.mean(), math.sqrt(((advantage - advantage.mean()) ** 2).mean())
    policy_loss = value_loss = entropies = old_kl = kl = clipped = 0.0
    ratios = np.zeros((segments, horizon))
    for i in range(segments):
        for t in range(horizon):
            mask = None if batch.get("mask") is None else batch["mask"][i, t]
            log_prob, entropy = log_prob_and_entropy(logits[i, t], batch["actions"][i, t], sizes,
                                                     weights.get("logstd"), mask)
            a = advantage[i, t]
            if settings.norm_adv:
                a = (a - mean) / (deviation + 1e-8)
            a *= batch["q"][i]
            row = row_loss(log_prob - batch["log_prob_old"][i, t], a, values[i, t],
                           batch["value_old"][i, t], batch["returns"][i, t], settings.clip_coef,
                           settings.vf_clip_coef)
            policy_loss += row["policy"]
            value_loss += row["value"]
            entropies += entropy
            old_kl += row["old_kl"]
            kl += row["approx_kl"]
            clipped += row["clipped"]
            ratios[i, t] = row["ratio"]
    count = segments * horizon
    parts = {"policy": policy_loss / count, "value": value_loss / count,
             "entropy": entropies / count, "old_approx_kl": old_kl / count,
             "approx_kl": kl / count, "clipfrac": clipped / count}
    total = parts["policy"] + settings.vf_coef * parts["value"] - ent_coef * parts["entropy"]
    return total, parts, values, ratios


def gradient(function, weights, step=1e-5):
    """Central differences of function(weights), one weight at a time."""
    out = {}
    for name, weight in weights.items():
        out[name] = np.zeros_like(weight)
        for index in np.ndindex(weight.shape):
            kept = weight[index]
            weight[index] = kept + step
            above = function(weights)
            weight[index] = kept - step
            below = function(weights)
            weight[index] = kept
            out[name][index] = (above - below) / (2 * step)
    return out


COEFFICIENTS = [(4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
                (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012)]


def muon(weights, grads, moments, learning_rate, settings, step_number):
    """One optimiser step in place; moments is filled on first use. Returns the gradient norm."""
    norm = math.sqrt(sum((g ** 2).sum() for g in grads.values()))
    scale = min(1.0, settings.max_grad_norm / norm)
    for name, weight in weights.items():
        g = grads[name] * scale
        if weight.ndim == 1:
            first = moments.setdefault(f"adam.m.{name}", np.zeros_like(weight))
            second = moments.setdefault(f"adam.v.{name}", np.zeros_like(weight))
            first[:] = 0.9 * first + 0.1 * g
            second[:] = settings.beta2 * second + (1 - settings.beta2) * g ** 2
            unbiased = first / (1 - 0.9 ** step_number)
            spread = np.sqrt(second / (1 - settings.beta2 ** step_number))
            weight -= learning_rate * unbiased / (spread + settings.eps)
            continue
        m = moments.setdefault(f"muon.{name}", np.zeros_like(weight))
        m[:] = settings.beta1 * m + g
        u = g + settings.beta1 * m
        rows, columns = u.shape
        x = u / max(np.sqrt((u ** 2).sum()), 1e-7)
        for a, b, c in COEFFICIENTS:
            if rows <= columns:
                gram = x @ x.T
                x = a * x + (b * gram + c * gram @ gram) @ x
            else:
                gram = x.T @ x
                x = a * x + x @ (b * gram + c * gram @ gram)
        weight -= learning_rate * math.sqrt(max(1.0, rows / columns)) * x
    return norm
