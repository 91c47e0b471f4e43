/* again.c -- does the next episode differ from this one: c_reset twice in a row, and once more after
 * another seed.
 *
 * Where another seed makes another episode, chance has a part in it. If the same env then begins
 * every one of its episodes alike, its generator does not move on.
 */
#include "harness.h"

enum { ROUNDS = 6, BETWEEN = 24 };    // moments of each env; steps between two

void experiment_again(void) {
    Batch b = batch_open(PACKED);
    batch_reset(&b, -1);
    int64_t tests = 0, same = 0, by_seed = 0, t = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < BETWEEN; k++) {
            watch.step = ++t;
            batch_act(&b, -1, t);
            batch_step(&b, -1, 0);
        }
        for (int e = 0; e < b.envs; e++) {
            uint64_t first[3];
            for (int k = 0; k < 3; k++) {
                if (k == 2) {
                    batch_seed(&b, e, (uint32_t)mix((uint64_t)(round * b.envs + e)));
                }
                batch_reset(&b, e);
                first[k] = hash_array(&b, e, OBSERVATIONS, 1);
            }
            tests++;
            same += first[0] == first[1];
            by_seed += first[2] != first[1];
        }
    }
    fact(again, .tests = tests, .same = same, .by_seed = by_seed);
    batch_close(&b);
}
