/* games.c -- who plays which row, and when an env begins a new game.
 *
 * Others' rows are played like this trainer's, by other weights; what is learned from leaves them
 * out. Who plays a row changes only between two games of its env, with a state of zeros. */
#include "internal.h"
#include <string.h>

#define EVEN 1e-6    // of the larger return: sides that differ by less have drawn

int32_t games_check(const PufferTrainer* trainer, Error* error) {
    const PufferGames* games = trainer->envs.games;
    const Policy* own = &trainer->policy;
    for (int32_t i = 0; games && i < games->num_others; i++) {
        const Policy* policy = &games->others[i]->policy;
        if (policy->kernels != own->kernels || policy->dtype != own->dtype || policy->D != own->D
            || policy->E != own->E || policy->num_matrices != own->num_matrices
            || policy->H != own->H || policy->L != own->L || policy->A != own->A
            || policy->K != own->K)
            return fail(error, "player %d has another network", i + 1);
    }
    for (int32_t row = 0; games && row < trainer->config.agents; row++) {
        int32_t now = games->playing[row], next = games->next[row], most = games->num_others;
        if (now < 0 || next < 0 || now > most || next > most || !now != !next)
            return fail(error, "row %d is played by %d, then by %d, of %d others", row, now, next,
                        most);
    }
    return 0;
}

void games_begin(PufferTrainer* trainer) {
    const PufferGames* games = trainer->envs.games;
    for (int32_t i = 0; games && i < games->num_others; i++)
        if (games->others[i]->stale) policy_pack(games->others[i]);
}

void game_note(PufferTrainer* trainer, int64_t row, float reward, int lived, int over) {
    const PufferGames* games = trainer->envs.games;
    games->won[row] += (double)reward;
    if (lived && over) games->over[row] = 1;
}

// PUFFER_ of a game of these rows
static int judge(const PufferGames* games, int64_t row, int64_t end) {
    double sums[2] = {0.0, 0.0}, counts[2] = {0.0, 0.0};
    for (; row < end; row++) {
        int ours = !games->playing[row];
        sums[ours] += games->had[row] ? games->won[row] : 0.0;
        counts[ours] += games->had[row];
    }
    for (int side = 0; side < 2; side++)
        if (counts[side] > 0.0) sums[side] /= counts[side];
    double gap = sums[1] - sums[0], size[2];
    for (int side = 0; side < 2; side++) size[side] = sums[side] < 0.0 ? -sums[side] : sums[side];
    double even = EVEN * (size[0] > size[1] ? size[0] : size[1]);
    return gap > even ? PUFFER_WON : gap < -even ? PUFFER_LOST : PUFFER_DREW;
}

static void end_game(PufferTrainer* trainer, int64_t first, int64_t end) {
    const PufferGames* games = trainer->envs.games;
    int64_t size = (int64_t)trainer->policy.L * trainer->policy.H_padded;
    int32_t other = 0;
    for (int64_t row = first; row < end; row++)
        if (games->playing[row]) other = games->playing[row];
    if (other)
        __atomic_fetch_add(&games->results[other - 1][judge(games, first, end)], 1,
                           __ATOMIC_RELAXED);
    for (int64_t row = first; row < end; row++) {
        games->won[row] = 0.0;
        games->had[row] = games->over[row] = 0;
        if (games->playing[row] == games->next[row]) continue;
        games->playing[row] = games->next[row];
        memset(trainer->state + row * size, 0, sizeof(float) * (size_t)size);
    }
}

void games_turn(PufferTrainer* trainer, int64_t first, int64_t rows) {
    const PufferGames* games = trainer->envs.games;
    const int64_t* first_row = trainer->envs.first_row;
    if (!games) return;
    int32_t low = 0, high = trainer->envs.num_envs;    // the env that begins with this row
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (first_row[middle] < first) low = middle + 1;
        else high = middle;
    }
    for (int32_t env = low; first_row[env] < first + rows; env++) {
        int had = 0, open = 0;
        for (int64_t row = first_row[env]; row < first_row[env + 1]; row++) {
            had |= games->had[row];
            open |= games->had[row] && !games->over[row];
        }
        if (had && !open) end_game(trainer, first_row[env], first_row[env + 1]);
        for (int64_t row = first_row[env]; row < first_row[env + 1]; row++)
            games->had[row] |= !trainer->envs.alive || trainer->envs.alive[row];
    }
}
