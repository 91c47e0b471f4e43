"""A shedding game for two: be first to play every card of your hand."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

SUITS = 4
RANKS = 9
CARDS = SUITS * RANKS
SLOTS = 8  # the most cards a hand holds
DEAL = 5


def suit(card):
    return card // RANKS


def rank(card):
    return card % RANKS


class Cards(gym.Env):
    """Play against a simple opponent.

    A card may be played when it shares suit or rank with the top card.
    Actions 0 to SLOTS - 1 play the card in that slot; action SLOTS draws, and
    is a plain pass when the hand is full or the deck is out. The legal actions
    are in info["action_mask"]; an illegal one costs 0.1 and loses the turn.
    Winning gives +1, losing -1.

    Observation: the hand (0 is an empty slot, else card + 1), the top card,
    the size of the opponent's hand, and how many cards are left in the deck.
    """

    metadata = {"render_modes": []}

    DECK = list(range(CARDS))

    def __init__(self, max_turns=60, render_mode=None):
        self.max_turns = max_turns
        self.render_mode = render_mode
        sizes = [CARDS + 1] * SLOTS + [CARDS, SLOTS + 1, CARDS + 1]
        self.observation_space = spaces.MultiDiscrete(sizes)
        self.action_space = spaces.Discrete(SLOTS + 1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.order = list(self.DECK)
        self.np_random.shuffle(self.order)
        self.next_card = 0
        self.hand = [self._deal() for _ in range(DEAL)]
        self.opponent = [self._deal() for _ in range(DEAL)]
        self.top = self._deal()
        self.turns = 0
        return self._observe(), {"action_mask": self._mask()}

    def step(self, action):
        self.turns += 1
        mask = self._mask()
        reward = 0.0
        if not mask[action]:
            reward = -0.1
        elif action == SLOTS:
            self._draw(self.hand)
        else:
            self.top = self.hand.pop(action)

        won = not self.hand
        if not won:
            self._opponent_turn()
        lost = not self.opponent
        if won:
            reward += 1.0
        elif lost:
            reward -= 1.0

        terminated = won or lost
        truncated = not terminated and self.turns >= self.max_turns
        info = {"action_mask": self._mask()}
        return self._observe(), reward, terminated, truncated, info

    def _playable(self, card):
        return suit(card) == suit(self.top) or rank(card) == rank(self.top)

    def _mask(self):
        mask = np.zeros(SLOTS + 1, dtype=np.int8)
        for slot, card in enumerate(self.hand):
            mask[slot] = self._playable(card)
        mask[SLOTS] = 1
        return mask

    def _opponent_turn(self):
        """The opponent plays its highest legal card, or draws."""
        legal = [card for card in self.opponent if self._playable(card)]
        if legal:
            self.top = max(legal, key=rank)
            self.opponent.remove(self.top)
        else:
            self._draw(self.opponent)

    def _draw(self, hand):
        if len(hand) < SLOTS and self.next_card < CARDS:
            hand.append(self._deal())

    def _deal(self):
        card = self.order[self.next_card]
        self.next_card += 1
        return card

    def _observe(self):
        observation = np.zeros(SLOTS + 3, dtype=np.int64)
        for slot, card in enumerate(self.hand):
            observation[slot] = card + 1
        observation[SLOTS] = self.top
        observation[SLOTS + 1] = len(self.opponent)
        observation[SLOTS + 2] = CARDS - self.next_card
        return observation
