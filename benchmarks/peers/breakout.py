"""Breakout in Python: the rules and observations of examples/breakout, one copy as a gymnasium.Env.

For races of vectorisers. Numbers are Python's, which are faster than NumPy's one by one; the row of
an observation is NumPy's. tests/interop/to_learners/test_peers.py plays it beside the one in C.
"""
from __future__ import annotations

import math

import gymnasium
import numpy as np
from gymnasium import spaces

WIDTH, HEIGHT, BALL = 576.0, 330.0, 32.0
PADDLE, PADDLE_HEIGHT, PADDLE_SPEED, MARGIN = 62.0, 8.0, 620.0, 10.0
PADDLE_Y = HEIGHT - PADDLE_HEIGHT - MARGIN
SLOW, FAST, SPEEDUP, SPEEDUP_HITS, FAST_ROWS = 256.0, 448.0, 64.0, 4, 3
ROWS, COLS, BRICK_WIDTH, BRICK_HEIGHT, BRICKS_TOP = 6, 18, 32.0, 12.0, 50.0
BRICKS_BOTTOM = BRICKS_TOP + ROWS * BRICK_HEIGHT
POINTS, WALLS, BALLS = (7, 7, 4, 4, 1, 1), 2, 5
BEST = WALLS * COLS * sum(POINTS)
FRAMES, FRAME, MAX_TICKS = 4, 1 / 60, 20000
SERVE_DROP, SERVE_ANGLE, STEEP_ANGLE = 30.0, 0.96, 1.05
STAY, LEFT, RIGHT = range(3)
NOTHING, SIDE, CEILING, STRUCK = -1, -2, -3, -4         # else the index of a brick


def cell(place: float, size: float, count: int) -> int:
    """Of `count` cells in a row, the one that holds `place`, or the nearest."""
    return min(max(int(place / size), 0), count - 1)


class Breakout(gymnasium.Env):
    """Five balls, two walls, 864 points; a brick is worth a reward of 1."""

    observation_space = spaces.Box(-1.0, 1.0, (10 + ROWS * COLS,), np.float32)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.balls, self.score, self.tick = BALLS, 0, 0
        self.build_wall()
        self.next_ball()
        return self.look(), {}

    def step(self, action):
        move = (0, -1, 1)[action] * PADDLE_SPEED * FRAME        # stay, left, right
        reward, lost, cleared = 0.0, False, False
        for _ in range(FRAMES):
            if not self.fired:
                angle = self.serve_angle()
                self.vx, self.vy = self.speed * math.sin(angle), self.speed * math.cos(angle)
                self.fired = True
            self.paddle_x = min(max(self.paddle_x + move, 0.0), WIDTH - self.paddle)
            reward += self.fly()
            lost, cleared = self.y >= PADDLE_Y + PADDLE_HEIGHT, self.score >= BEST
            if lost or cleared:
                break
        self.balls -= lost
        self.tick += 1
        over = cleared or self.balls == 0
        late = not over and self.tick >= MAX_TICKS
        if lost and not over and not late:
            self.next_ball()
        return self.look(), reward, over, late, {"score": self.score} if over or late else {}

    # -- what it looks like

    def look(self) -> np.ndarray:
        row = np.empty(10 + ROWS * COLS, np.float32)
        row[:10] = (self.paddle_x / WIDTH, PADDLE_Y / HEIGHT, self.x / WIDTH, self.y / HEIGHT,
                    self.vx / FAST, self.vy / FAST, self.fired, self.score / BEST,
                    self.balls / BALLS, self.paddle / PADDLE)
        row[10:] = self.bricks
        return row

    def serve_angle(self) -> float:
        return self.np_random.uniform(-SERVE_ANGLE, SERVE_ANGLE)

    def build_wall(self) -> None:
        self.bricks, self.standing = [1.0] * (ROWS * COLS), ROWS * COLS

    def next_ball(self) -> None:
        self.paddle, self.paddle_x = PADDLE, (WIDTH - PADDLE) / 2
        self.x, self.y, self.vx, self.vy = (WIDTH - BALL) / 2, HEIGHT / 2 - SERVE_DROP, 0.0, 0.0
        self.speed, self.hits, self.fired = SLOW, 0, False

    # -- the ball's flight: up to one contact a frame

    def fly(self) -> float:
        """One frame, or what there is of it until a contact. Returns the reward."""
        dx, dy = self.vx * FRAME, self.vy * FRAME
        time, _, at, upright, what = self.first_contact(dx, dy)
        self.x += dx * time
        self.y += dy * time
        if what == NOTHING:
            return 0.0
        if upright:
            self.x, self.vx = at, -self.vx
        else:
            self.y, self.vy = at, -self.vy
        if what == STRUCK:
            self.return_ball()
        elif what == CEILING and self.paddle == PADDLE:
            self.paddle /= 2
            self.paddle_x += self.paddle / 2
        elif what >= 0:
            return self.break_brick(what)
        return 0.0

    def first_contact(self, dx: float, dy: float) -> tuple:
        """(share of the frame until then, pixels that meet, where it stops the ball, whether it
        turns vx round, what it is). The first one; of two at once, that of more pixels."""
        x, y = self.x, self.y
        found = []
        if min(y, y + dy) < BRICKS_BOTTOM and max(y, y + dy) + BALL > BRICKS_TOP:
            self.meet_bricks(found, dx, dy)
        if x + dx < 0:
            self.meet_upright(found, dx, dy, 0.0, 0.0, HEIGHT, SIDE)
        elif x + BALL + dx > WIDTH:
            self.meet_upright(found, dx, dy, WIDTH - BALL, 0.0, HEIGHT, SIDE)
        if y + dy < 0:
            self.meet_level(found, dx, dy, 0.0, 0.0, WIDTH, CEILING)
        elif y + BALL + dy > PADDLE_Y and y + BALL <= PADDLE_Y:
            self.meet_level(found, dx, dy, PADDLE_Y - BALL, self.paddle_x,
                            self.paddle_x + self.paddle, STRUCK)
        first = (1.0, 0.0, 0.0, False, NOTHING)
        for each in found:
            if each[0] >= 0 and each[1] > 0 and (
                    each[0] < first[0] or (each[0] == first[0] and each[1] > first[1])):
                first = each
        return first

    def meet_upright(self, found: list, dx, dy, at, low, high, what) -> None:
        time = (at - self.x) / dx
        y = self.y + time * dy
        found.append((time, min(high, y + BALL) - max(low, y), at, True, what))

    def meet_level(self, found: list, dx, dy, at, low, high, what) -> None:
        time = (at - self.y) / dy
        x = self.x + time * dx
        found.append((time, min(high, x + BALL) - max(low, x), at, False, what))

    def meet_bricks(self, found: list, dx: float, dy: float) -> None:
        """All bricks in the box that the ball sweeps, by the faces that it may come upon."""
        x, y = self.x, self.y
        rows = range(cell(min(y, y + dy) - BRICKS_TOP, BRICK_HEIGHT, ROWS),
                     cell(max(y, y + dy) + BALL - BRICKS_TOP, BRICK_HEIGHT, ROWS) + 1)
        columns = range(cell(min(x, x + dx), BRICK_WIDTH, COLS),
                        cell(max(x, x + dx) + BALL, BRICK_WIDTH, COLS) + 1)
        for row in rows:
            top = BRICKS_TOP + row * BRICK_HEIGHT
            for column in columns:
                brick, left = row * COLS + column, column * BRICK_WIDTH
                if not self.bricks[brick]:
                    continue
                if dx:
                    at = left - BALL if dx > 0 else left + BRICK_WIDTH
                    self.meet_upright(found, dx, dy, at, top, top + BRICK_HEIGHT, brick)
                at = top - BALL if dy > 0 else top + BRICK_HEIGHT
                self.meet_level(found, dx, dy, at, left, left + BRICK_WIDTH, brick)

    def break_brick(self, brick: int) -> float:
        row = brick // COLS
        self.bricks[brick] = 0.0
        self.standing -= 1
        self.score += POINTS[row]
        if row < FAST_ROWS:
            self.speed = FAST
        return 1.0

    def return_ball(self) -> None:
        """Up again: where it strikes the paddle decides the angle."""
        reach = (self.paddle + BALL) / 2
        angle = STEEP_ANGLE * (self.x + BALL / 2 - self.paddle_x - self.paddle / 2) / reach
        self.hits += 1
        if self.hits % SPEEDUP_HITS == 0:
            self.speed = min(self.speed + SPEEDUP, FAST)
        self.vx, self.vy = self.speed * math.sin(angle), -self.speed * math.cos(angle)
        if self.standing == 0:
            self.build_wall()
