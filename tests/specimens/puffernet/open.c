// Opens files that may be damaged, in both ways, and plays what opens.  paths on stdin -> one line
// each on stdout: 'L' or '-' for puffernet_load, then 'M' or '-' for make_puffernet
#include "puffernet.h"

int main(void) {
    char path[4096];
    int sizes[] = {3, 1};
    float observations[2 * 5] = {0.5f}, actions[4], terminals[2] = {1, 0};
    while (fgets(path, sizeof(path), stdin)) {
        path[strcspn(path, "\n")] = 0;
        PufferNet* net = puffernet_load(path, 2, 5, sizes, 2);
        putchar(net ? 'L' : '-');
        for (int i = 0; i < 3; i++) puffernet_act(net, observations, actions, terminals);
        puffernet_free(net);
        Weights* weights = load_weights(path);
        net = make_puffernet(weights, 2, 5, 8, 2, sizes, 2);
        puts(net ? "M" : "-");
        for (int i = 0; i < 3; i++) forward_puffernet(net, observations, actions);
        free_puffernet(net);
        free(weights);
    }
    return 0;
}
