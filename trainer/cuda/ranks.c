/* ranks.c -- what several GPUs tell each other.  what each has -> all of it, on each
 *
 * Pieces are copied from GPU to GPU and added where they arrive, in the order of ranks. So all have
 * the same bits, from run to run as well, whatever connects them: no collective decides an order. */
#include "internal.h"

// ---- opening ----------------------------------------------------------------------------------

// Sums in another order would part them for good, and another kind of GPU sums in another
static int32_t check_alike(PufferTrainer* trainer, char* error) {
    DeviceFacts first, other;
    device_facts(trainer->ranks->device, &first);
    EACH_RANK(trainer, rank) {
        device_facts(rank->device, &other);
        if (other.major != first.major || other.minor != first.minor
            || other.multiprocessors != first.multiprocessors)
            return fail(error, "the GPUs are of different kinds: %s and %s", first.name, other.name);
    }
    return 0;
}

int32_t ranks_open(PufferTrainer* trainer, char* error) {
    EACH_RANK(trainer, rank) {
        rank->trainer = trainer;
        rank->number = (int32_t)(rank - trainer->ranks);
        rank->first_row = rank->number * (trainer->config.agents / trainer->config.gpus);
        rank->device = device_open(trainer->config.devices[rank->number], error);
        if (!rank->device) return -1;
        for (Rank* other = trainer->ranks; other < rank; other++)
            device_meet(rank->device, other->device);
        rank->stream = stream_open(rank->device);
        rank->weights_ready = event_open(rank->device);
        rank->fork = event_open(rank->device);
        rank->updated = event_open(rank->device);
        rank->wrote = event_open(rank->device);
        rank->took = event_open(rank->device);
    }
    return check_alike(trainer, error);
}

// The first one last: it has pinned the envs' memory, which the others may still read
void ranks_close(PufferTrainer* trainer) {
    for (int32_t i = trainer->config.gpus - 1; i >= 0; i--) {
        Device* device = trainer->ranks[i].device;
        if (!device) continue;
        if (i == 0 && trainer->direct) device_unpin(device, trainer->envs.block);
        device_close(device);
    }
}

int32_t ranks_wait(PufferTrainer* trainer, char* error) {
    int32_t failed = 0;
    EACH_RANK(trainer, rank) failed |= stream_wait(rank->stream);
    return failed ? device_failed(trainer, error) : 0;
}

// ---- exchange ---------------------------------------------------------------------------------

// kind: where a Rank has it
static Exchange* exchange_of(Rank* rank, size_t kind) {
    return (Exchange*)((char*)rank + kind);
}

void* exchange_own(const Rank* rank, const Exchange* exchange) {
    return exchange->all + (size_t)rank->number * exchange->bytes;
}

static void fetch_piece(Rank* to, Rank* from, size_t kind) {
    const Exchange *here = exchange_of(to, kind), *there = exchange_of(from, kind);
    size_t at = (size_t)from->number * here->bytes;
    stream_copy(to->stream, here->all + at, there->all + at, here->bytes);
}

// A rank writes its next piece when all have fetched this one
void ranks_exchange(PufferTrainer* trainer, size_t kind) {
    EACH_RANK(trainer, rank) stream_mark(rank->stream, rank->wrote);
    EACH_RANK(trainer, to) {
        EACH_RANK(trainer, from) {
            if (from == to) continue;
            stream_after(to->stream, from->wrote);
            fetch_piece(to, from, kind);
        }
        stream_mark(to->stream, to->took);
    }
    EACH_RANK(trainer, rank)
        EACH_RANK(trainer, other)
            if (other != rank) stream_after(rank->stream, other->took);
}
