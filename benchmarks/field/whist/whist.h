/* whist.h -- a short whist: you and a partner against two others, one hand at a time.
 *
 *              2 partner
 *        1                 3            28 cards: four suits of seven. Everyone gets seven, a
 *              0 you                    trump suit is drawn, the leader rotates from deal to deal.
 *
 * Follow suit if you can, otherwise play anything. The highest trump takes the trick, or without
 * one the highest card of the suit that was led; the winner leads to the next. Of the seven tricks
 * of a deal, each one that a side takes beyond the third is a point for it, at once. The first side
 * with `target` points wins the game, which is one episode: play stops in the middle of the deal.
 *
 * One step is one card of yours. The three other seats are scripted and play before and after it,
 * until it is your turn again.
 *
 * An illegal card. action_mask holds what may be played. Whoever does not look at it can still ask
 * for a card that is not in the hand, or that does not follow suit: then the lowest legal card is
 * played instead, the step's reward is lower by the setting `revoke`, and the log counts it. The
 * game goes on as usual: no such step can hang, end or cheat it.
 */
#pragma once

#include <stdint.h>
#include <string.h>
#include "raylib.h"

#define SUITS    4
#define RANKS    7
#define CARDS    (SUITS * RANKS)
#define SEATS    4
#define BOOK     3              // tricks of a deal that count nothing
#define NOBODY   (-1)

//-- What the player sees: one-hot, in floats -------------------------------------
enum {
    OBS_HAND,                                   // [0, 1]   1 per card in the hand
    OBS_TABLE = OBS_HAND + CARDS,               // [0, 1]   this trick: a block for seats 1, 2, 3
    OBS_GONE  = OBS_TABLE + (SEATS - 1) * CARDS, // [0, 1]  cards of the deal's earlier tricks
    OBS_TRUMP = OBS_GONE + CARDS,               // [0, 1]   one of four
    OBS_LED   = OBS_TRUMP + SUITS,              // [0, 1]   one of four; all 0 if it is yours to lead
    OBS_SCORE = OBS_LED + SUITS,                // [0, 1]   tricks / RANKS, ours and theirs, then
                                                //          points / target, ours and theirs
    OBS_COUNT = OBS_SCORE + 4
};
#define OBS_SIZE  OBS_COUNT
#define ACT_SIZES {CARDS}       // the card: suit * RANKS + rank, rank 6 the highest

typedef struct Log {
    float perf;                 // [0, 1]   games won
    float score;                // [-1, 1]  lead in points at the end, over the target
    float episode_return;
    float episode_length;       // your cards
    float deals;                // deals begun
    float revokes;              // illegal cards asked for
    float n;
} Log;

// Where a card is: a seat's hand (0..3), in front of a seat (4..7), or out of the deal
enum { IN_HAND = 0, ON_TABLE = SEATS, OUT = 2 * SEATS };

typedef struct Whist {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* action_mask; // CARDS bytes
    int num_agents;
    unsigned int rng;
    // settings
    int target;                 // points to win a game
    float skill;                // how often a scripted seat thinks; else any legal card
    float trick_reward;         // a trick won or lost
    float game_reward;          // the game won or lost
    float revoke;               // what asking for an illegal card costs
    // the game
    unsigned char place[CARDS];
    int trump;
    int led;                    // suit, or NOBODY before the first card of the trick
    int leader;                 // seat that led to this trick
    int turn;                   // seat to play
    int played;                 // cards of this trick
    int first;                  // seat that led to this deal
    int tricks[2];              // this deal, of seats 0 + 2 and of 1 + 3
    int points[2];              // this game
    int deals;
    int cards;                  // that you played in this game
    int revokes;
    float ret;
} Whist;

static inline uint32_t draw(Whist* env) {
    uint32_t z = (env->rng += 0x6D2B79F5u);
    z = (z ^ (z >> 15)) * (z | 1u);
    z ^= z + (z ^ (z >> 7)) * (z | 61u);
    return z ^ (z >> 14);
}

static inline int below(Whist* env, int count) {
    return (int)(((uint64_t)draw(env) * (uint64_t)count) >> 32);
}

static inline int suit_of(int card) { return card / RANKS; }
static inline int rank_of(int card) { return card % RANKS; }

//-- Rules ------------------------------------------------------------------------
// Fills legal[] and returns how many there are: at least 1 for a seat with cards
static int legal_cards(const Whist* env, int seat, unsigned char* legal) {
    int count = 0;
    for (int card = 0; card < CARDS; card++) {
        legal[card] = env->place[card] == IN_HAND + seat && suit_of(card) == env->led;
        count += legal[card];
    }
    if (count > 0) return count;
    for (int card = 0; card < CARDS; card++) {
        legal[card] = env->place[card] == IN_HAND + seat;
        count += legal[card];
    }
    return count;
}

// What a card is worth in this trick: below RANKS it cannot win
static inline int strength(const Whist* env, int card) {
    if (suit_of(card) == env->trump) return 2 * RANKS + rank_of(card);
    if (suit_of(card) == env->led) return RANKS + rank_of(card);
    return rank_of(card);
}

// The card that takes the trick as it lies, or NOBODY before the first one
static int winning_card(const Whist* env) {
    int best = NOBODY;
    for (int card = 0; card < CARDS; card++) {
        if (env->place[card] < ON_TABLE || env->place[card] >= OUT) continue;
        if (best == NOBODY || strength(env, card) > strength(env, best)) best = card;
    }
    return best;
}

static void put_down(Whist* env, int seat, int card) {
    if (env->played == 0) {
        env->leader = seat;
        env->led = suit_of(card);
    }
    env->place[card] = (unsigned char)(ON_TABLE + seat);
    env->played += 1;
    env->turn = (seat + 1) % SEATS;
}

static void deal(Whist* env) {
    unsigned char deck[CARDS];
    for (int i = 0; i < CARDS; i++) deck[i] = (unsigned char)i;
    for (int i = CARDS - 1; i > 0; i--) {
        int j = below(env, i + 1);
        unsigned char card = deck[j];
        deck[j] = deck[i], deck[i] = card;
    }
    for (int i = 0; i < CARDS; i++) env->place[deck[i]] = (unsigned char)(IN_HAND + i % SEATS);
    env->trump = below(env, SUITS);
    env->turn = env->leader = env->first;
    env->led = NOBODY, env->played = 0;
    env->tricks[0] = env->tricks[1] = 0;
    env->deals += 1;
}

// Four cards lie there: to the side that won them. Returns that side
static int gather(Whist* env) {
    int winner = env->place[winning_card(env)] - ON_TABLE;
    for (int card = 0; card < CARDS; card++) {
        if (env->place[card] >= ON_TABLE) env->place[card] = OUT;
    }
    int side = winner % 2;
    env->tricks[side] += 1;
    if (env->tricks[side] > BOOK) env->points[side] += 1;
    env->turn = winner, env->led = NOBODY, env->played = 0;
    return side;
}

//-- The other three seats --------------------------------------------------------
static int any_legal(Whist* env, const unsigned char* legal, int count) {
    int skip = below(env, count);
    for (int card = 0; card < CARDS; card++) {
        if (legal[card] && skip-- == 0) return card;
    }
    return NOBODY;              // not reached: count is the number of legal cards
}

static int lowest_legal(const Whist* env, const unsigned char* legal) {
    int best = NOBODY;
    for (int card = 0; card < CARDS; card++) {
        if (!legal[card]) continue;
        if (best == NOBODY || strength(env, card) < strength(env, best)) best = card;
    }
    return best;
}

// Nobody outside of this hand holds a higher card of the suit any more
static int is_master(const Whist* env, int seat, int card) {
    for (int higher = card + 1; higher < (suit_of(card) + 1) * RANKS; higher++) {
        if (env->place[higher] < SEATS && env->place[higher] != IN_HAND + seat) return 0;
    }
    return 1;
}

// Lead a card that cannot be beaten in its suit, else a low one. Later: leave the trick to the
// partner, else win it as cheaply as possible, else throw the lowest away
static int scripted_card(Whist* env, int seat) {
    unsigned char legal[CARDS];
    int count = legal_cards(env, seat, legal);
    if ((float)below(env, 1000) >= 1000.0f * env->skill) return any_legal(env, legal, count);

    int lowest = lowest_legal(env, legal);
    int winning = winning_card(env);
    if (winning == NOBODY) {
        for (int card = CARDS - 1; card >= 0; card--) {
            if (legal[card] && suit_of(card) != env->trump && is_master(env, seat, card)) return card;
        }
        return lowest;
    }
    if ((env->place[winning] - ON_TABLE) % 2 == seat % 2) return lowest;
    int best = NOBODY;
    for (int card = 0; card < CARDS; card++) {
        if (!legal[card] || strength(env, card) < strength(env, winning)) continue;
        if (best == NOBODY || strength(env, card) < strength(env, best)) best = card;
    }
    return best == NOBODY ? lowest : best;
}

//-- The player -------------------------------------------------------------------
static void observe(Whist* env) {
    float* obs = env->observations;
    memset(obs, 0, OBS_COUNT * sizeof(float));
    for (int card = 0; card < CARDS; card++) {
        int place = env->place[card];
        if (place == IN_HAND) obs[OBS_HAND + card] = 1.0f;
        else if (place == OUT) obs[OBS_GONE + card] = 1.0f;
        else if (place > ON_TABLE) obs[OBS_TABLE + (place - ON_TABLE - 1) * CARDS + card] = 1.0f;
    }
    obs[OBS_TRUMP + env->trump] = 1.0f;
    if (env->led != NOBODY) obs[OBS_LED + env->led] = 1.0f;
    for (int side = 0; side < 2; side++) {
        obs[OBS_SCORE + side] = (float)env->tricks[side] / RANKS;
        obs[OBS_SCORE + 2 + side] = (float)env->points[side] / (float)env->target;
    }
    legal_cards(env, 0, env->action_mask);
}

static inline int game_over(const Whist* env) {
    return env->points[0] >= env->target || env->points[1] >= env->target;
}

// The others play until it is seat 0's turn or the game is decided. Tricks that end on the way are
// paid for; the last trick of a deal is followed by the next deal. Returns the reward
static float others_play(Whist* env) {
    float reward = 0.0f;
    for (;;) {
        if (env->played == SEATS) {
            reward += gather(env) == 0 ? env->trick_reward : -env->trick_reward;
            if (game_over(env)) return reward;
            if (env->tricks[0] + env->tricks[1] == RANKS) {
                env->first = (env->first + 1) % SEATS;
                deal(env);
            }
        }
        if (env->turn == 0) return reward;
        put_down(env, env->turn, scripted_card(env, env->turn));
    }
}

void c_reset(Whist* env) {
    env->points[0] = env->points[1] = 0;
    env->deals = env->cards = 0;
    env->revokes = 0;
    env->ret = 0.0f;
    env->first = below(env, SEATS);
    deal(env);
    others_play(env);           // no trick is complete before your first card
    observe(env);
}

void c_step(Whist* env) {
    unsigned char legal[CARDS];
    legal_cards(env, 0, legal);
    float asked = env->actions[0];
    int card = asked >= 0.0f && asked < (float)CARDS ? (int)asked : NOBODY;
    float reward = 0.0f;
    if (card == NOBODY || !legal[card]) {
        card = lowest_legal(env, legal);
        env->revokes += 1;
        reward -= env->revoke;
    }
    put_down(env, 0, card);
    env->cards += 1;
    reward += others_play(env);

    int over = game_over(env);
    int won = env->points[0] >= env->target;
    if (over) reward += won ? env->game_reward : -env->game_reward;
    env->ret += reward;
    env->rewards[0] = reward;
    env->terminals[0] = over ? 1.0f : 0.0f;
    if (!over) {
        observe(env);
        return;
    }
    env->log.perf += won ? 1.0f : 0.0f;
    env->log.score += (float)(env->points[0] - env->points[1]) / (float)env->target;
    env->log.episode_return += env->ret;
    env->log.episode_length += (float)env->cards;
    env->log.deals += (float)env->deals;
    env->log.revokes += (float)env->revokes;
    env->log.n += 1.0f;
    c_reset(env);
}

void init(Whist* env) {
    if (env->target < 1) env->target = 1;
}

void c_close(Whist* env) { (void)env; }

static void draw_card(int card, int x, int y, Color back) {
    static const char* const names = "89TJQKA";
    const Color suits[SUITS] = {BLACK, RED, DARKGREEN, DARKBLUE};
    DrawRectangle(x, y, 44, 60, back);
    DrawText(TextFormat("%c", names[rank_of(card)]), x + 14, y + 16, 28, suits[suit_of(card)]);
}

void c_render(Whist* env) {
    if (!IsWindowReady()) {
        InitWindow(520, 420, "whist");
        SetTargetFPS(2);
    }
    const int spot_x[SEATS] = {238, 148, 238, 328}, spot_y[SEATS] = {200, 150, 100, 150};
    BeginDrawing();
    ClearBackground((Color){24, 70, 50, 255});
    int held = 0;
    for (int card = 0; card < CARDS; card++) {
        int place = env->place[card];
        if (place == IN_HAND) {
            draw_card(card, 80 + 52 * held, 330, env->action_mask[card] ? RAYWHITE : GRAY);
            held += 1;
        } else if (place >= ON_TABLE && place < OUT) {
            draw_card(card, spot_x[place - ON_TABLE], spot_y[place - ON_TABLE], RAYWHITE);
        }
    }
    DrawText("trump", 420, 12, 20, RAYWHITE);
    draw_card(env->trump * RANKS + RANKS - 1, 430, 38, GOLD);
    DrawText(TextFormat("tricks %d : %d", env->tricks[0], env->tricks[1]), 12, 12, 20, RAYWHITE);
    DrawText(TextFormat("points %d : %d of %d", env->points[0], env->points[1], env->target),
             12, 38, 20, GOLD);
    EndDrawing();
}
