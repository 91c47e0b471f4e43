/* legality.c -- does the mask tell what the next action does, and if not: does a later one?
 *
 * A byte is wrong where it allows an action that does nothing, or forbids one that acts. A stale
 * mask is wrong in both ways, and a step in which the agent changes nothing puts it right. What
 * another agent or chance did between is no fault of the mask: where bytes are wrong, the moment is
 * played again with other actions of the others and other draws, and what differs is not counted.
 */
#include "legality.h"
#include <stdlib.h>
#include <string.h>

enum { AGENTS = 8, PLAYS = 4, DOUBTFUL = 8 };    // told apart; of a doubtful moment; moments

typedef struct Owner {    // of one agent's own byte of an action
    int64_t late[2];      // it was wrong, saying this, and is right a step later
    int64_t spoiled;      // it was right, and is wrong a step later
} Owner;

struct Legality {
    Tally bytes[AGENTS][MOST][MOST];    // [agent][byte][action]
    Owner owners[AGENTS][MOST];
    bool certain;     // what others or chance decide is not counted
    int64_t forks;    // beyond those of the caller
};

Legality* legality_open(bool certain) {
    Legality* l = calloc(1, sizeof *l);
    l->certain = certain;
    return l;
}

// Clears values whose effect depends on others or on chance, and bytes whose next state does
static void keep_certain(Legality* l, const Choice* c, const bool* acts, int quiet,
                         const unsigned char* later, bool* counts, bool* lasts) {
    bool again[MOST];
    for (int play = 1; play < PLAYS; play++) {
        bool tried = choice_try(c, play) && choice_acts(c, again);
        l->forks += desc.act_sizes[c->head];
        for (int k = 0; k < desc.act_sizes[c->head]; k++) {
            counts[k] = counts[k] && tried && again[k] == acts[k];
            lasts[k] = lasts[k] && counts[k] && quiet >= 0
                       && outcome_of(quiet)->mask[c->offset + k] == later[c->offset + k];
        }
    }
}

void legality_note(Legality* l, const Choice* c) {
    bool acts[MOST], counts[MOST], lasts[MOST];
    if (c->agent >= AGENTS || !choice_acts(c, acts)) {
        return;
    }
    const unsigned char* mask = mask_of(c->b, c->env, c->agent);
    const int width = desc.act_sizes[c->head], quiet = quiet_value(c, acts);
    unsigned char later[MOST];
    memcpy(later, quiet < 0 || outcome_of(quiet)->ended ? mask : outcome_of(quiet)->mask,
           (size_t)desc.mask_size);
    bool unsure = false;
    for (int k = 0; k < width; k++) {
        const Tally* own = &l->bytes[c->agent][c->offset + k][c->offset + k];
        bool says = mask[c->offset + k];
        bool varies = own->at[!says][0] + own->at[!says][1] > 0;
        counts[k] = lasts[k] = true;
        unsure = unsure || (says != acts[k] && varies) || later[c->offset + k] != says;
    }
    if (l->certain && unsure) {
        keep_certain(l, c, acts, quiet, later, counts, lasts);
    }
    for (int k = 0; k < width; k++) {
        Owner* own = &l->owners[c->agent][c->offset + k];
        bool says = mask[c->offset + k], then = later[c->offset + k];
        for (int byte = 0; counts[k] && byte < desc.mask_size; byte++) {
            l->bytes[c->agent][byte][c->offset + k].at[mask[byte] != 0][acts[k]]++;
        }
        own->late[says] += lasts[k] && says != acts[k] && then == acts[k];
        own->spoiled += lasts[k] && says == acts[k] && then != acts[k];
    }
}

static int64_t of_own(const Legality* l, int agent, int action, int says, int acts) {
    return l->bytes[agent][action][action].at[says][acts];
}

bool legality_is_doubtful(const Legality* l) {
    int64_t wrong[2] = {0}, late[2] = {0}, spoiled = 0;    // [what the byte says]
    for (int agent = 0; agent < AGENTS; agent++) {
        for (int a = 0; a < desc.mask_size; a++) {
            for (int says = 0; says < 2; says++) {
                bool varies = of_own(l, agent, a, !says, 0) + of_own(l, agent, a, !says, 1) > 0;
                wrong[says] += varies ? of_own(l, agent, a, says, !says) : 0;
                late[says] += l->owners[agent][a].late[says];
            }
            spoiled += l->owners[agent][a].spoiled;
        }
    }
    bool often = wrong[0] >= DOUBTFUL && wrong[1] >= DOUBTFUL;
    return often || (late[0] > 0 && late[1] > 0 && late[0] + late[1] >= DOUBTFUL + spoiled);
}

int64_t legality_forks(const Legality* l) { return l->forks; }

static int64_t agreed(const Tally* t) { return t->at[0][0] + t->at[1][1]; }

int twin_of(const Tally (*bytes)[MOST], int action) {
    int twin = -1;
    for (int byte = 0; byte < desc.mask_size; byte++) {
        bool better = twin < 0 || agreed(&bytes[byte][action]) > agreed(&bytes[twin][action]);
        twin = byte != action && better ? byte : twin;
    }
    return twin;
}

static void report_byte(const Legality* l, int agent, int head, int value, int action, bool start) {
    const Tally(*bytes)[MOST] = l->bytes[agent];
    const Tally* own = &bytes[action][action];
    const Owner* owner = &l->owners[agent][action];
    int twin = twin_of(bytes, action);
    const Tally* other = &bytes[twin < 0 ? action : twin][action];
    fact(mask_truth, .agent = agent, .start = start, .action = action, .head = head, .value = value,
         .legal_acts = own->at[1][1], .legal_idle = own->at[1][0], .forbidden_acts = own->at[0][1],
         .forbidden_idle = own->at[0][0], .twin = twin, .twin_acts = other->at[1][1],
         .twin_idle = other->at[0][0], .twin_wrong = other->at[0][1] + other->at[1][0],
         .late_acts = owner->late[0], .late_idle = owner->late[1], .spoiled = owner->spoiled);
}

void legality_report(const Legality* l, int agents, bool start) {
    for (int agent = 0; agent < AGENTS && agent < agents; agent++) {
        for (int head = 0, offset = 0; head < desc.num_atns; head++) {
            for (int k = 0; k < desc.act_sizes[head] && offset + k < desc.mask_size; k++) {
                report_byte(l, agent, head, k, offset + k, start);
            }
            offset += desc.act_sizes[head];
        }
    }
}
