"""A Gaussian process in NumPy.  points, values -> mean and standard deviation at other points

Matern 5/2 kernel with a length for each column, a signal's variance and a noise that is inferred,
all at the most likely values under log-normal priors (lengths grow with the root of the number of
columns, after Hvarfner et al. 2024, "Vanilla Bayesian optimization performs great in high
dimensions"). Everything is float64 and deterministic.
"""
from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ROOT5 = math.sqrt(5.0)
JITTER = 1e-6                                   # of the values' variance
LENGTH, LENGTH_SPREAD = math.log(0.5), 1.0      # of log length, less log(d) / 2
NOISE, NOISE_SPREAD = math.log(0.02), 1.5       # of the noise's log variance
BOUNDS = (-3.0, 4.0), (-3.0, 3.0), (-11.0, 1.0)     # log length, log signal, log noise


def squares(a: Floats, b: Floats) -> Floats:
    """[n, m]: squared distances of rows."""
    found: Floats = (-2 * a) @ b.T
    found += (a * a).sum(1)[:, None]
    found += (b * b).sum(1)
    np.maximum(found, 0.0, out=found)
    return found


def matern(squared: Floats) -> tuple[Floats, Floats]:
    """The kernel at squared distances, and -2 times its derivative by them."""
    slope = np.sqrt(squared)        # in place: at many candidates, memory takes the time
    slope *= ROOT5
    kernel = np.exp(-slope)
    slope += 1
    slope *= kernel
    kernel *= squared
    kernel *= 5 / 3
    kernel += slope
    slope *= 5 / 3
    return kernel, slope


class GaussianProcess:
    """search(points, values) for the kernel's parameters, fit(points, values), predict(points).

    A fit without a search keeps the parameters: it costs a tenth.
    """

    def __init__(self, columns: int):
        self.columns = columns
        self.centre = np.array([*[LENGTH + 0.5 * math.log(columns)] * columns, 0.0, NOISE])
        self.spread = np.array([*[LENGTH_SPREAD] * columns, 1.0, NOISE_SPREAD])
        self.parameters = self.centre
        low, high = zip(*[BOUNDS[0]] * columns, *BOUNDS[1:])
        self.low, self.high = np.array(low), np.array(high)

    def loss(self, parameters: Floats, points: Floats, values: Floats) -> tuple[float, Floats]:
        """Negative log posterior of the parameters, and its gradient."""
        d = self.columns
        lengths, (signal, noise) = np.exp(parameters[:d]), np.exp(parameters[d:])
        scaled = points / lengths
        kernel, slope = matern(squares(scaled, scaled))
        covariance = signal * kernel
        covariance[np.diag_indices_from(covariance)] += noise + JITTER
        try:
            lower = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            return math.inf, np.zeros_like(parameters)
        inverse = np.linalg.inv(covariance)
        weights = inverse @ values
        loss = 0.5 * values @ weights + np.log(np.diag(lower)).sum()
        pull = 0.5 * (inverse - np.outer(weights, weights))
        gradient = np.empty_like(parameters)
        # sum over pairs of w * (x_i - x_j)^2, a column at a time, without an [n, n, d] array
        w = pull * slope * signal
        gradient[:d] = 2 * (w.sum(1) @ (scaled * scaled)) - 2 * (scaled * (w @ scaled)).sum(0)
        gradient[d] = (pull * kernel).sum() * signal
        gradient[d + 1] = np.trace(pull) * noise
        away = (parameters - self.centre) / self.spread
        return loss + 0.5 * (away * away).sum(), gradient + away / self.spread

    def search(self, points: Floats, values: Floats, steps: int = 30) -> GaussianProcess:
        """The most likely parameters, from the prior's: they depend on these data alone."""
        self.parameters = self.centre
        if len(values) > 1:
            scaled = (values - values.mean()) / (values.std() or 1.0)
            self.parameters = minimize(lambda at: self.loss(at, points, scaled), self.centre,
                                       self.low, self.high, steps)
        return self

    def fit(self, points: Floats, values: Floats) -> GaussianProcess:
        """points [n, columns] in about [0, 1], values [n] in any unit; n >= 1."""
        self.points, self.weighed = points, values
        self.mean, self.scale = values.mean(), values.std() or 1.0
        scaled = (values - self.mean) / self.scale
        d = self.columns
        self.lengths = np.exp(self.parameters[:d])
        self.signal, self.noise = np.exp(self.parameters[d:])
        covariance = self.kernel(points, points)
        covariance[np.diag_indices_from(covariance)] += self.noise + JITTER
        self.inverse = np.linalg.inv(covariance)
        self.weights = self.inverse @ scaled
        return self

    def kernel(self, a: Floats, b: Floats) -> Floats:
        kernel, _ = matern(squares(a / self.lengths, b / self.lengths))
        kernel *= self.signal
        return kernel

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation [m] of the value without its noise, in its unit."""
        across = self.kernel(points, self.points)
        variance = self.signal - ((across @ self.inverse) * across).sum(1)
        return (across @ self.weights * self.scale + self.mean,
                np.sqrt(np.maximum(variance, 1e-12)) * self.scale)

    def predict_mean(self, points: Floats) -> Floats:
        """The mean alone, which costs a tenth."""
        mean: Floats = self.kernel(points, self.points) @ self.weights * self.scale + self.mean
        return mean


def minimize(function: Callable[[Floats], tuple[float, Floats]], start: Floats, low: Floats,
             high: Floats, steps: int, memory: int = 8) -> Floats:
    """Projected L-BFGS within bounds: function(x) -> (value, gradient). Returns the best x."""
    x, (value, gradient) = start, function(start)
    pairs: list[tuple[Floats, Floats]] = []
    for _ in range(steps):
        free = ((x > low) | (gradient < 0)) & ((x < high) | (gradient > 0))
        if np.abs(gradient * free).max(initial=0.0) < 1e-3:
            break
        direction = -descend(gradient * free, pairs) * free
        if direction @ gradient >= 0:
            direction, pairs = -gradient * free, []
        direction /= max(1.0, np.abs(direction).max() / 2)      # a step changes a log by 2 at most
        step = 1.0 if pairs else min(1.0, 1 / max(np.abs(gradient * free).sum(), 1e-12))
        for _ in range(12):
            at = np.clip(x + step * direction, low, high)
            new_value, new_gradient = function(at)
            if new_value <= value + 1e-4 * gradient @ (at - x):
                break
            step *= 0.4
        else:
            break
        moved, turned = at - x, new_gradient - gradient
        if moved @ turned > 1e-10:
            pairs = [*pairs[1 - memory:], (moved, turned)]
        small = value - new_value < 1e-4
        x, value, gradient = at, new_value, new_gradient
        if small:
            break
    return x


def descend(gradient: Floats, pairs: list[tuple[Floats, Floats]]) -> Floats:
    """The inverse Hessian's estimate times a gradient: L-BFGS's two loops."""
    q: Floats = gradient.copy()
    alphas: list[float] = []
    for moved, turned in reversed(pairs):
        alphas.append(float((moved @ q) / (moved @ turned)))
        q -= alphas[-1] * turned
    if pairs:
        moved, turned = pairs[-1]
        q *= (moved @ turned) / (turned @ turned)
    for (moved, turned), alpha in zip(pairs, reversed(alphas)):
        q += moved * (alpha - (turned @ q) / (moved @ turned))
    return q
