#include <time.h>
#include "puf107_curling.h"
#include "puffernet.h"

void allocate(Curling* env) {
    env->observations = (float*)calloc(3, sizeof(float));
    env->actions = (float*)calloc(1, sizeof(float));
    env->rewards = (float*)calloc(1, sizeof(float));
    env->terminals = (float*)calloc(1, sizeof(float));
}

void demo() {
    Weights* weights = load_weights("resources/curling_weights.bin");
    Curling env = {0};
    env.num_agents = 1;
    env.sheet = 100;
    env.friction = .1;
    allocate(&env);
    c_reset(&env);
    while (env.log.n < 10) {
        c_step(&env);
        c_render(&env);
    }
    c_close(&env);
}

int main() {
    srand(time(NULL));
    demo();
}
