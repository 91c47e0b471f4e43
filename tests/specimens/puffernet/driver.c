// Plays a policy over a script of observations.  policy.bin + script + call -> what came out
//
//     script   int32: agents, obs_size, kind, masked, K, hidden, layers, ticks, greedy,
//              seed, act_sizes[K]. kind: 0 floats, 1 bytes, 2 ints, 3 bf16; then per tick observations, (masks,) the last tick's terminals
//     output   float32 per tick: actions (agents, K), logits (agents, A), values (agents)
//     call     act: puffernet_load and puffernet_act. five, three: Ocean's calls
#include "puffernet.h"

static void take(void* target, size_t size, size_t count, FILE* script) {
    if (fread(target, size, count, script) != count) {
        fprintf(stderr, "the script is too short\n");
        exit(2);
    }
}

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    const char* call = argv[3];
    FILE *script = fopen(argv[2], "rb"), *output = fopen(argv[4], "wb");
    int32_t head[10], sizes[64];
    if (!script || !output) return 2;
    take(head, sizeof(int32_t), 10, script);
    int agents = head[0], D = head[1], kind = head[2], masked = head[3], K = head[4], A = 0;
    take(sizes, sizeof(int32_t), (size_t)K, script);
    for (int i = 0; i < K; i++) A += sizes[i];

    Weights* weights = NULL;
    PufferNet* net;
    if (!strcmp(call, "act")) {
        net = puffernet_load(argv[1], agents, D, sizes, K);
    } else {
        weights = load_weights(argv[1]);
        net = make_puffernet(weights, agents, D, head[5], head[6], sizes, K);
    }
    if (!net) return 1;
    net->greedy = head[8];
    net->rng = (unsigned)head[9];
    size_t rows = (size_t)agents;
    float* floats = (float*)calloc(rows * (size_t)D, sizeof(float));
    unsigned char* raw = (unsigned char*)calloc(rows, (size_t)D);
    int* ints = (int*)calloc(rows * (size_t)D, sizeof(int));
    uint16_t* halves = (uint16_t*)calloc(rows * (size_t)D, sizeof(uint16_t));
    unsigned char* mask = (unsigned char*)calloc(rows, (size_t)A);
    float* terminals = (float*)calloc(rows, sizeof(float));
    float* actions = (float*)calloc(rows * (size_t)K, sizeof(float));
    for (int tick = 0; tick < head[7]; tick++) {
        if (kind == 1) take(raw, 1, rows * (size_t)D, script);
        else if (kind == 2) take(ints, sizeof(int), rows * (size_t)D, script);
        else if (kind == 3) take(halves, sizeof(uint16_t), rows * (size_t)D, script);
        else take(floats, sizeof(float), rows * (size_t)D, script);
        if (masked) take(mask, 1, rows * (size_t)A, script);
        take(terminals, sizeof(float), rows, script);
        for (size_t i = 0; kind && i < rows * (size_t)D; i++)
            net->obs[i] = floats[i] = kind == 1 ? (float)raw[i] : (float)ints[i];
        net->mask = masked ? mask : NULL;
        if (!strcmp(call, "five")) {
            forward_puffernet(net, floats, actions, masked ? mask : NULL, terminals);
        } else if (!strcmp(call, "three")) {
            forward_puffernet(net, kind ? net->obs : floats, actions);
        } else if (kind == 1) {
            puffernet_act(net, raw, actions, tick ? terminals : NULL);
        } else if (kind == 2) {
            puffernet_act(net, ints, actions, tick ? terminals : NULL);
        } else if (kind == 3) {
            puffernet_act(net, halves, actions, tick ? terminals : NULL);
        } else {
            const float* observations = floats;
            puffernet_act(net, observations, actions, tick ? terminals : NULL);
        }
        fwrite(actions, sizeof(float), rows * (size_t)K, output);
        fwrite(puffernet_logits(net), sizeof(float), rows * (size_t)A, output);
        fwrite(puffernet_values(net), sizeof(float), rows, output);
    }
    puffernet_free(net);
    free(weights);
    free(floats);
    free(raw);
    free(ints);
    free(halves);
    free(mask);
    free(terminals);
    free(actions);
    fclose(script);
    return fclose(output) ? 2 : 0;
}
