// Random play.  -> counts of each id of two heads, then of a masked head; then sums of a
// continuous one: numbers in text on stdout
#include "puffernet.h"
#include "puffernet.h"

int main(void) {
    int sizes[] = {3, 1, 4}, first[3] = {0}, third[4] = {0}, masked[4] = {0};
    unsigned int rng = 7, again = 7;
    unsigned char mask[8] = {1, 1, 1, 0, 0, 1, 0, 1};
    double sum = 0, squares = 0;
    float lowest = 9, highest = -9;
    for (int i = 0; i < 60000; i++) {
        float actions[3], same[3], legal[3];
        puffernet_random(actions, 1, sizes, 3, &rng);
        puffernet_random(same, 1, sizes, 3, &again);
        if (memcmp(actions, same, sizeof(same))) return 1;
        first[(int)actions[0]]++;
        third[(int)actions[2]]++;
        sum += actions[1];
        squares += actions[1] * actions[1];
        lowest = fminf(lowest, actions[1]);
        highest = fmaxf(highest, actions[1]);
        puffernet_random_masked(legal, mask, 1, sizes, 3, &rng);
        masked[(int)legal[2]]++;
        again = rng;
    }
    for (int i = 0; i < 3; i++) printf("%d ", first[i]);
    for (int i = 0; i < 4; i++) printf("%d ", third[i]);
    for (int i = 0; i < 4; i++) printf("%d ", masked[i]);
    printf("%f %f %f %f\n", sum / 60000, squares / 60000, (double)lowest, (double)highest);
    return 0;
}
