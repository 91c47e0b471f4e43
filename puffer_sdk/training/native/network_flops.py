"""How many operations the products of training take.  sizes of a network -> FLOP by phase

An operation is a multiplication or an addition: two for each element of a product and each term of
its sum. Products that the trainer skips, of bytes that are 0, count as if it made them.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...settings.encoder import Part, parts_of, seen_size

MUON_STEPS = 5          # of Newton and Schulz, as kernels/kernels.h has it
UPDATED = "update: Muon"


@dataclass(frozen=True)
class Network:
    """The sizes that decide what its products cost."""

    obs_size: int
    outputs: int                # logits and the value
    hidden: int
    layers: int
    parts: tuple[Part, ...] = ()    # of the observation

    @classmethod
    def of(cls, obs_size: int, act_sizes: Sequence[int], hidden: int, layers: int,
           encoder: str = "flat") -> Network:
        return cls(obs_size, sum(act_sizes) + 1, hidden, layers, parts_of(encoder, obs_size))

    @property
    def seen(self) -> int:
        """Numbers that the encoder's matrix multiplies."""
        return seen_size(self.parts, self.obs_size)

    @property
    def convolutions(self) -> list[tuple[int, int, float, bool]]:
        """Terms, filters and FLOP for one row of each convolution, and whether it is not its
        part's first one, which gives no gradient of what it sees."""
        return [(terms, filters, 2.0 * height * width * terms * filters, number > 0)
                for part in self.parts for number, ((filters, terms), (height, width, _)) in
                enumerate(zip(part.shapes, part.sizes[1:], strict=True))]

    @property
    def encoder(self) -> float:
        """FLOP of the encoder for one row."""
        return 2.0 * self.seen * self.hidden + sum(flops for _, _, flops, _ in self.convolutions)

    @property
    def encoder_backward(self) -> float:
        """FLOP of the gradients of its weights, and of what convolutions give."""
        features = sum(part.features for part in self.parts if part.layers)
        seen = sum(flops for _, _, flops, later in self.convolutions if later)
        return self.encoder + seen + 2.0 * features * self.hidden

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
        sides = [(self.seen, self.hidden), (self.outputs, self.hidden),
                 *[(3 * self.hidden, self.hidden)] * self.layers,
                 *[(terms, filters) for terms, filters, _, _ in self.convolutions]]
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
                "update: encoder backward": learned * self.encoder_backward,
                UPDATED: updates * self.muon(whole=False)}

    def products(self) -> dict[tuple[int, int], float]:
        """Terms and columns of the products that most of the time goes to, and what each takes of
        a step that is learned from once."""
        found = {(3 * self.hidden, self.hidden): 4 * self.body}
        encoder = self.seen, self.hidden, 2.0 * self.seen * self.hidden, True
        for terms, columns, flops, _ in (encoder, *self.convolutions):
            found[terms, columns] = found.get((terms, columns), 0.0) + 3 * flops
        return found
