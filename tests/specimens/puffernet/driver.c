// Plays a policy over a script of observations.  policy.bin + script + call -> what came out
//
//     script   int32: agents, obs_size, bytes (0 or 1), masked, K, hidden, layers, ticks, greedy,
//              seed, act_sizes[K]; then per tick observations, (masks,) the last tick's terminals
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
    int agents = head[0], D = head[1], bytes = head[2], masked = head[3], K = head[4], A = 0;
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
    unsigned char* mask = (unsigned char*)calloc(rows, (size_t)A);
    float* terminals = (float*)calloc(rows, sizeof(float));
    float* actions = (float*)calloc(rows * (size_t)K, sizeof(float));
    for (int tick = 0; tick < head[7]; tick++) {
        if (bytes) take(raw, 1, rows * (size_t)D, script);
        else take(floats, sizeof(float), rows * (size_t)D, script);
        if (masked) take(mask, 1, rows * (size_t)A, script);
        take(terminals, sizeof(float), rows, script);
        for (size_t i = 0; bytes && i < rows * (size_t)D; i++) net->obs[i] = floats[i] = raw[i];
        net->mask = masked ? mask : NULL;
        if (!strcmp(call, "five")) {
            forward_puffernet(net, floats, actions, masked ? mask : NULL, terminals);
        } else if (!strcmp(call, "three")) {
            forward_puffernet(net, bytes ? net->obs : floats, actions);
        } else if (bytes) {
            puffernet_act(net, raw, actions, tick ? terminals : NULL);
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
    free(mask);
    free(terminals);
    free(actions);
    fclose(script);
    return fclose(output) ? 2 : 0;
}
