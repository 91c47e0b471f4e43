/* ranks.c -- exchange between GPUs.  one part from each -> all parts, on each
 *
 * Pieces are copied from GPU to GPU and added where they arrive, in the order of ranks. So all have
 * the same bits, from run to run as well, whatever connects them: no collective picks an order. */
#include "internal.h"

#define MOST_HEAP ((int64_t)4 << 30)

// ---- opening ----------------------------------------------------------------------------------

// Another kind of GPU sums in another order, and then the weights differ for good
static int32_t check_alike(PufferTrainer* trainer, Error* error) {
    DeviceFacts first, other;
    device_facts(trainer->ranks->device, &first);
    EACH_RANK(trainer, rank) {
        device_facts(rank->device, &other);
        if (other.major != first.major || other.minor != first.minor
            || other.multiprocessors != first.multiprocessors)
            return fail(error, "the GPUs are of different kinds: %s and %s", first.name,
                        other.name);
    }
    return 0;
}

// For malloc of envs: a quarter of the unused memory, before anything runs on the GPU. Where CUDA no longer allows
// that, an earlier trainer of this process has set it
static void take_heap(Rank* rank) {
    DeviceFacts facts;
    if (!rank->trainer->config.envs_on_gpu) return;
    device_facts(rank->device, &facts);
    int64_t heap = facts.unused / 4 < MOST_HEAP ? facts.unused / 4 : MOST_HEAP;
    rank->trainer->heap = device_heap(rank->device, (size_t)heap);
}

int32_t ranks_open(PufferTrainer* trainer, Error* error) {
    char text[PUFFER_ERROR_SIZE];
    int32_t fault;
    EACH_RANK(trainer, rank) {
        rank->trainer = trainer;
        rank->number = (int32_t)(rank - trainer->ranks);
        rank->first_row = rank->number * (trainer->config.agents / trainer->config.gpus);
        rank->device = device_open(trainer->config.devices[rank->number], &fault, text);
        if (!rank->device) return fail_as(error, error_kind(fault), "%s", text);
        take_heap(rank);
        for (Rank* other = trainer->ranks; other < rank; other++)
            device_meet(rank->device, other->device);
        rank->stream = stream_open(rank->device);
        rank->weights_ready = event_open(rank->device);
        rank->fork = event_open(rank->device);
        rank->updated = event_open(rank->device);
        rank->wrote = event_open(rank->device);
    }
    return check_alike(trainer, error);
}

// All wait before one ends: they read each other's memory. The first ends last: it has pinned the
// envs' memory, which the others may still read
void ranks_close(PufferTrainer* trainer) {
    EACH_RANK(trainer, rank)
        if (rank->stream) stream_wait(rank->stream);
    for (int32_t i = trainer->config.gpus - 1; i >= 0; i--) {
        Device* device = trainer->ranks[i].device;
        if (!device) continue;
        if (i == 0 && trainer->direct) device_unpin(device, trainer->envs.block);
        device_close(device);
    }
}

int32_t ranks_wait(PufferTrainer* trainer, Error* error) {
    int32_t failed = 0;
    EACH_RANK(trainer, rank) failed |= stream_wait(rank->stream);
    return failed ? device_failed(trainer, error) : 0;
}

// ---- exchange ---------------------------------------------------------------------------------

void* exchange_own(const Rank* rank, const Exchange* exchange) {
    return exchange->all + (size_t)rank->number * exchange->bytes;
}

typedef void (*Fetch)(Rank* to, const Rank* from);

static void fetch(Rank* to, const Exchange* here, const Rank* from, const Exchange* there) {
    size_t at = (size_t)from->number * here->bytes;
    stream_copy(to->stream, here->all + at, there->all + at, here->bytes);
}

static void fetch_totals(Rank* to, const Rank* from) {
    fetch(to, &to->totals, from, &from->totals);
}

static void fetch_gradients(Rank* to, const Rank* from) {
    fetch(to, &to->losses, from, &from->losses);
    fetch(to, &to->shares, from, &from->shares);
}

// No event marks that all ranks have fetched a piece. The two exchanges alternate, and a rank
// starts one after it has fetched all of the other: so nothing is overwritten too early
static void exchange(PufferTrainer* trainer, Fetch fetch_all) {
    EACH_RANK(trainer, rank) stream_mark(rank->stream, rank->wrote);
    EACH_RANK(trainer, to)
        EACH_RANK(trainer, from) {
            if (from == to) continue;
            stream_after(to->stream, from->wrote);
            fetch_all(to, from);
        }
}

void exchange_totals(PufferTrainer* trainer) { exchange(trainer, fetch_totals); }
void exchange_gradients(PufferTrainer* trainer) { exchange(trainer, fetch_gradients); }
