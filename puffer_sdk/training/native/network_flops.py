"""How many operations the products of training take.  sizes of a network -> FLOP by phase

An operation is a multiplication or an addition: two for each element of a product and each term of
its sum. Products that the trainer skips, of bytes that are 0, count as if it made them.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MUON_STEPS = 5          # of Newton and Schulz, as kernels/kernels.h has it
UPDATED = "update: Muon"


@dataclass(frozen=True)
class Network:
    """The sizes that decide what its products cost."""

    obs_size: int
    outputs: int                # logits and the value
    hidden: int
    layers: int

    @classmethod
    def of(cls, obs_size: int, act_sizes: Sequence[int], hidden: int, layers: int) -> Network:
        return cls(obs_size, sum(act_sizes) + 1, hidden, layers)

    @property
    def encoder(self) -> float:
        """FLOP of the encoder for one row."""
        return 2.0 * self.obs_size * self.hidden

    @property
    def body(self) -> float:
        """FLOP of all layers for one row."""
        return 6.0 * self.layers * self.hidden ** 2

    @property
    def decoder(self) -> float:
        """FLOP of logits and value for one row."""
        return 2.0 * self.hidden * self.outputs

    def muon(self, whole: bool) -> float:
        """FLOP of a step of Muon, for all matrices.

        whole    a symmetric product takes all of its operations, as on a GPU; the CPU's takes half
        """
        sides = [(self.obs_size, self.hidden), (self.outputs, self.hidden),
                 *[(3 * self.hidden, self.hidden)] * self.layers]
        share, total = 1.0 if whole else 0.5, 0.0
        for wide, tall in map(sorted, sides):
            total += 2.0 * wide * wide * (share * (tall + wide) + tall)
        return MUON_STEPS * total

    def by_phase(self, acted: float, learned: float, updates: float) -> dict[str, float]:
        """FLOP of each phase of the CPU's trainer that multiplies matrices.

        acted, learned    rows that passed forward; rows that were learned from
        updates           steps of the optimizer
        """
        return {"rollout: encoder": acted * self.encoder, "rollout: layers": acted * self.body,
                "rollout: decoder": acted * self.decoder,
                "update: encoder": learned * self.encoder, "update: layers": learned * self.body,
                "update: loss": 3 * learned * self.decoder,
                "update: gradients of activations": learned * self.body,
                "update: gradients of weights": learned * self.body,
                "update: encoder backward": learned * self.encoder,
                UPDATED: updates * self.muon(whole=False)}

    def layer_product(self) -> tuple[int, int]:
        """Terms and columns of the product that most of the time goes to."""
        return 3 * self.hidden, self.hidden

    def encoder_product(self) -> tuple[int, int]:
        """The same for the encoder."""
        return self.obs_size, self.hidden
