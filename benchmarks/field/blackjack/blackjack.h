/* blackjack.h -- blackjack against the house, from a shoe that can be counted.  One agent, one
 * head of seven actions, masked.
 *
 * An episode is one sitting: so many hands from the same bankroll, or until it does not pay for
 * the lowest bet. A hand is a bet, then hits until the player stands, doubles, surrenders, has
 * too much, or holds `max_cards` cards with no more than 21, which wins at once. The dealer
 * shows one card, keeps the other hidden, looks for a blackjack before the player acts, and
 * draws up to 17. There is no splitting and no insurance.
 *
 * The shoe holds `decks` decks. It is shuffled when a sitting begins, and between two hands once
 * `penetration` percent of it are dealt. The agent sees how many cards of each rank it has not
 * seen yet; the hidden card is one of those until it is turned over.
 *
 * Units: money in chips. A card is its rank, 0 to 9: an ace, 2 to 9, and all that count 10.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>             // uint64_t
#include <stdlib.h>             // malloc, free
#include <string.h>             // memset
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

#define RANKS   10
#define ACE     0
#define TEN     9
#define NO_CARD (-1)
#define LEAST   4               // points of two cards: an ace counts 11 there
#define MOST    21              // points that are not too many

//-- Interface --------------------------------------------------------------------
enum {                          // observations, one byte each
    OBS_BETTING,                // 2 ids    1: it is time to bet; the hand below is empty then
    OBS_SOFT,                   // 2 ids    1: an ace of the player's counts 11
    OBS_CARDS,                  // [0, 10]  cards of the player's
    OBS_STAKE,                  // 4 ids    0: none; else 1 + the index of the bet
    OBS_CHIPS,                  // [0, 20]  chips, in tenths of the bankroll, at most 20
    OBS_HANDS,                  // [0, 10]  hands to go, this one included, in tenths, rounded up
    OBS_TOTAL,                  // 2 ids    one of 18 is 1: the player's points; none while betting
    OBS_SHOWN = OBS_TOTAL + MOST - LEAST + 1,   // 2 ids    one of 10 is 1: the dealer's card; none: 0
    OBS_UNSEEN = OBS_SHOWN + RANKS,     // [0, 10]  of each rank, tenths not seen, rounded up
    OBS_COUNT = OBS_UNSEEN + RANKS
};
#define OBS_SIZE OBS_COUNT      // 44

// Actions, pick one. What is not allowed is played as ACT_BET_LOW where a bet is due, else as
// ACT_STAND
enum {
    ACT_BET_LOW,
    ACT_BET_MID,
    ACT_BET_HIGH,
    ACT_STAND,
    ACT_HIT,
    ACT_DOUBLE,                 // with two cards: twice the stake, one more card
    ACT_SURRENDER,              // with two cards: half the stake is lost
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

//-- Rules: those that are no settings --------------------------------------------
#define DEALER_MIN  17          // the dealer draws below that
#define HAND_CARDS  22          // no hand of two needs more: cards below the cut of the shoe

//-- State ------------------------------------------------------------------------
typedef struct Log {            // sums over sittings, divided by n when reported
    float perf;                 // [0, 1]  score, in twice the bankroll, at most 1
    float score;                // chips at the end
    float episode_return;       // what the trainer maximises
    float episode_length;       // ticks
    float won;                  // share of hands that brought money
    float n;                    // sittings summed here; must stay the last field
} Log;

typedef struct Hand {
    int count;                  // cards
    int hard;                   // points, with every ace 1
    bool ace;                   // there is one
} Hand;

typedef struct Blackjack {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    unsigned char* observations;    // out [OBS_SIZE]
    unsigned char* action_mask;     // out [ACT_COUNT]  1 = allowed
    float* actions;                 // in  [1]  an ACT_ value, stored as a float
    float* rewards;                 // out [1]
    float* terminals;               // out [1]
    int num_agents;
    unsigned int rng;

    // Settings, from [env] in blackjack.ini
    int decks;
    int penetration;            // percent of the shoe, before it is shuffled
    int hands;                  // of a sitting
    int bankroll;               // chips at the beginning
    int bet_low, bet_mid, bet_high;
    int max_cards;              // so many cards with 21 or less win; 3 to 10
    int hit_soft_17;            // 1: the dealer draws with an ace that counts 11, and 17
    float blackjack_pays;       // times the stake
    float reward_scale;         // reward of a chip

    // From init to c_close
    unsigned char* shoe;        // (52 * decks)  ranks
    int cards, cut;             // in the shoe; dealt before it is shuffled

    // c_reset sets all of this
    int dealt;                  // cards of the shoe that are out
    int unseen[RANKS];          // cards of the shoe that nobody saw yet
    Hand player, dealer;
    int shown, hidden;          // the dealer's cards; NO_CARD while betting
    int bet, stake;             // index of the bet, NO_CARD while betting; chips at stake
    int chips;                  // those at stake are still among them
    int played, won;            // hands of this sitting
    int tick;
    float episode_return;
} Blackjack;

// Uniform in [0, count)
static inline int random_below(unsigned int* rng, int count) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (int)(((uint64_t)bits * (uint64_t)count) >> 32);
}

//-- The shoe and the hands ---------------------------------------------------------
static inline int cards_of_rank(const Blackjack* env, int rank) {
    return env->decks * (rank == TEN ? 16 : 4);
}

static void shuffle(Blackjack* env) {
    int card = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        env->unseen[rank] = cards_of_rank(env, rank);
        for (int i = 0; i < env->unseen[rank]; i++) {
            env->shoe[card++] = (unsigned char)rank;
        }
    }
    for (int last = env->cards - 1; last > 0; last--) {
        int other = random_below(&env->rng, last + 1);
        unsigned char rank = env->shoe[last];
        env->shoe[last] = env->shoe[other];
        env->shoe[other] = rank;
    }
    env->dealt = 0;
}

// The next card, into a hand. Whoever sees it calls see()
static inline int deal(Blackjack* env, Hand* hand) {
    int rank = env->shoe[env->dealt++];
    hand->count += 1;
    hand->hard += rank + 1;
    hand->ace = hand->ace || rank == ACE;
    return rank;
}

static inline void see(Blackjack* env, int rank) {
    env->unseen[rank] -= 1;
}

static inline bool is_soft(const Hand* hand) {
    return hand->ace && hand->hard + 10 <= MOST;
}

static inline int points(const Hand* hand) {
    return hand->hard + (is_soft(hand) ? 10 : 0);
}

static inline bool is_blackjack(const Hand* hand) {
    return hand->count == 2 && points(hand) == MOST;
}

static inline int bet_of(const Blackjack* env, int bet) {
    return bet == ACT_BET_LOW ? env->bet_low : bet == ACT_BET_MID ? env->bet_mid : env->bet_high;
}

//-- What the agent sees, and may do ------------------------------------------------
static bool allowed(const Blackjack* env, int action) {
    bool betting = env->bet == NO_CARD, first = env->player.count == 2;
    switch (action) {
        case ACT_STAND: case ACT_HIT: return !betting;
        case ACT_DOUBLE: return !betting && first && env->chips >= 2 * env->stake;
        case ACT_SURRENDER: return !betting && first;
        default: return betting && env->chips >= bet_of(env, action);
    }
}

static inline unsigned char tenths(int part, int whole) {
    return (unsigned char)((10 * part + whole - 1) / whole);
}

static void observe(Blackjack* env) {
    unsigned char* obs = env->observations;
    bool betting = env->bet == NO_CARD;
    int chips = 10 * env->chips / env->bankroll;
    memset(obs, 0, OBS_SIZE);
    obs[OBS_BETTING] = betting;
    obs[OBS_SOFT] = is_soft(&env->player);
    obs[OBS_CARDS] = (unsigned char)env->player.count;
    obs[OBS_STAKE] = (unsigned char)(env->bet + 1);
    obs[OBS_CHIPS] = (unsigned char)(chips < 20 ? chips : 20);
    obs[OBS_HANDS] = tenths(env->hands - env->played, env->hands);
    if (!betting) {
        obs[OBS_TOTAL + points(&env->player) - LEAST] = 1;
        obs[OBS_SHOWN + env->shown] = 1;
    }
    for (int rank = 0; rank < RANKS; rank++) {
        obs[OBS_UNSEEN + rank] = tenths(env->unseen[rank], cards_of_rank(env, rank));
    }

    for (int action = 0; action < ACT_COUNT; action++) {
        env->action_mask[action] = allowed(env, action);
    }
}

//-- A hand -------------------------------------------------------------------------
// Empty hands, and a shuffle if the cut has come up
static void clear_table(Blackjack* env) {
    env->player = env->dealer = (Hand){0, 0, false};
    env->shown = env->hidden = NO_CARD;
    env->bet = NO_CARD;
    env->stake = 0;
    if (env->dealt >= env->cut) {
        shuffle(env);
    }
}

// The hand is over: its chips change hands, and everybody sees the hidden card
static void settle(Blackjack* env, int gain) {
    see(env, env->hidden);
    env->chips += gain;
    env->rewards[0] += (float)gain * env->reward_scale;
    env->won += gain > 0 ? 1 : 0;
    env->played += 1;
    clear_table(env);
}

// The dealer draws, then the points are compared
static void showdown(Blackjack* env) {
    while (points(&env->dealer) < DEALER_MIN
            || (env->hit_soft_17 && is_soft(&env->dealer) && points(&env->dealer) == DEALER_MIN)) {
        see(env, deal(env, &env->dealer));
    }
    int mine = points(&env->player), theirs = points(&env->dealer);
    settle(env, theirs > MOST || mine > theirs ? env->stake : mine < theirs ? -env->stake : 0);
}

// Two cards each, and whatever a blackjack decides at once
static void open_hand(Blackjack* env, int bet) {
    env->bet = bet;
    env->stake = bet_of(env, bet);
    see(env, deal(env, &env->player));
    env->shown = deal(env, &env->dealer);
    see(env, env->shown);
    see(env, deal(env, &env->player));
    env->hidden = deal(env, &env->dealer);
    bool mine = is_blackjack(&env->player), theirs = is_blackjack(&env->dealer);
    if (mine && !theirs) {
        settle(env, (int)((float)env->stake * env->blackjack_pays));
    } else if (mine || theirs) {
        settle(env, mine ? 0 : -env->stake);
    }
}

// One more card. Returns whether the hand is over, and settles it if so
static bool take_card(Blackjack* env) {
    see(env, deal(env, &env->player));
    bool bust = points(&env->player) > MOST, full = env->player.count >= env->max_cards;
    if (bust || full) {
        settle(env, bust ? -env->stake : env->stake);
    }
    return bust || full;
}

static void play(Blackjack* env, int action) {
    if (action == ACT_HIT) {
        take_card(env);
    } else if (action == ACT_SURRENDER) {
        settle(env, -env->stake / 2);
    } else if (action == ACT_DOUBLE) {
        env->stake *= 2;
        if (!take_card(env)) {
            showdown(env);
        }
    } else {
        showdown(env);
    }
}

//-- Functions: init, c_close, then the two that matter ---------------------------
void init(Blackjack* env) {
    if (env->decks < 1) env->decks = 1;
    if (env->hands < 1) env->hands = 1;
    if (env->bankroll < env->bet_low) env->bankroll = env->bet_low;
    env->cards = 52 * env->decks;
    env->cut = env->cards * env->penetration / 100;
    if (env->cut > env->cards - HAND_CARDS) env->cut = env->cards - HAND_CARDS;
    env->shoe = (unsigned char*)malloc((size_t)env->cards);
}

void c_close(Blackjack* env) {
    free(env->shoe);
}

// Begin a sitting. Leaves rewards and terminals alone: they describe the step that ended
void c_reset(Blackjack* env) {
    env->chips = env->bankroll;
    env->played = env->won = 0;
    env->tick = 0;
    env->episode_return = 0.0f;
    shuffle(env);
    clear_table(env);
    observe(env);
}

// Advance one tick: a bet, or a decision about the hand
void c_step(Blackjack* env) {
    const bool betting = env->bet == NO_CARD;
    int action = (int)env->actions[0];
    if (action < 0 || action >= ACT_COUNT || !allowed(env, action)) {
        action = betting ? ACT_BET_LOW : ACT_STAND;
    }
    env->rewards[0] = 0.0f;
    env->tick += 1;
    if (betting) {
        open_hand(env, action);
    } else {
        play(env, action);
    }
    env->episode_return += env->rewards[0];

    bool over = env->bet == NO_CARD && (env->played >= env->hands || env->chips < env->bet_low);
    env->terminals[0] = over ? 1.0f : 0.0f;
    if (!over) {
        observe(env);
        return;
    }

    float perf = (float)env->chips / (2.0f * (float)env->bankroll);
    env->log.perf += perf < 1.0f ? perf : 1.0f;
    env->log.score += (float)env->chips;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.won += (float)env->won / (float)env->played;
    env->log.n += 1.0f;
    c_reset(env);               // the next observation opens the next sitting
}

//-- Drawing: reads the state and never changes it ---------------------------------
#ifndef PUFFER_DEVICE
void c_render(Blackjack* env) {
    const Color felt = {20, 70, 50, 255};
    if (!IsWindowReady()) {
        InitWindow(480, 240, "blackjack");
        SetTargetFPS(2);
    }
    BeginDrawing();
    ClearBackground(felt);
    DrawText(TextFormat("%d chips, hand %d of %d", env->chips, env->played + 1, env->hands), 16,
             16, 20, RAYWHITE);
    if (env->bet == NO_CARD) {
        DrawText("place your bet", 16, 100, 30, GOLD);
    } else {
        DrawText(TextFormat("dealer shows %d", env->shown + 1), 16, 70, 30, RAYWHITE);
        DrawText(TextFormat("you have %d%s", points(&env->player),
                            is_soft(&env->player) ? " (soft)" : ""), 16, 120, 30, GOLD);
        DrawText(TextFormat("stake %d", env->stake), 16, 170, 30, RAYWHITE);
    }
    int left = 448 * (env->cards - env->dealt) / env->cards;
    DrawRectangle(16, 220, left, 8, GOLD);      // the shoe
    EndDrawing();
}
#endif
