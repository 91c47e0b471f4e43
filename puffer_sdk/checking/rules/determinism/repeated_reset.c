/* repeated_reset.c -- does the next episode differ from this one: c_reset twice in a row, and once more after
 * another seed.
 *
 * Where another seed makes another episode, chance has a part in it. If the same env then begins
 * every one of its episodes alike, its generator does not move on. Where it plays the same game
 * again and again, by the same actions, but other envs play others, it keeps its first seed.
 */
#include "harness.h"
#include <stdlib.h>

enum { ROUNDS = 6, BETWEEN = 24, PLAYED = 16 };    // moments; steps between two, and of a game

// What follows on an opening, always by the same actions
static uint64_t play_game(Batch* b, int env, uint64_t hash) {
    for (int k = 1; k <= PLAYED; k++) {
        batch_act(b, env, k);
        batch_step(b, env, 0);
        hash = hash_rows(b, env, hash);
    }
    return hash;
}

void experiment_again(void) {
    Batch b = batch_open(PACKED);
    batch_reset(&b, -1);
    int64_t tests = 0, same = 0, by_seed = 0, t = 0;
    uint64_t* games = calloc((size_t)b.envs, sizeof *games);
    bool* moves = calloc((size_t)b.envs, sizeof *moves);    // its games are not all alike
    for (int round = 0; round < (options.repeat ? options.repeat : ROUNDS); round++) {
        batch_play(&b, &t, BETWEEN);
        for (int e = 0; e < b.envs; e++) {
            uint64_t first[4], game = 0;
            for (int k = 0; k < 4; k++) {
                if (k == 3) {
                    batch_seed(&b, e, (uint32_t)mix((uint64_t)(round * b.envs + e)));
                }
                batch_reset(&b, e);
                first[k] = hash_array(&b, e, OBSERVATIONS, 1);
                game = k == 1 ? play_game(&b, e, first[k]) : game;
            }
            moves[e] = moves[e] || (round > 0 && game != games[e]);
            games[e] = game;
            tests++;
            same += first[0] == first[1];
            by_seed += first[3] != first[2];    // and not what the game before them left behind
        }
    }
    int kept = 0, others = 0;
    for (int e = 0; e < b.envs; e++) {
        kept += !moves[e];
        others += !moves[e] && games[e] != games[0];
    }
    fact(again, .tests = tests, .same = same, .by_seed = by_seed, .envs = b.envs, .kept = kept,
         .others = others);
    free(games);
    free(moves);
    batch_close(&b);
}
