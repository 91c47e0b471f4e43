/* legality.h -- bytes of the mask against what the next action does. */
#pragma once
#include "choices.h"

typedef struct Tally {    // of one byte against one action
    int64_t at[2][2];     // moments: [what the byte says][whether the action acts]
} Tally;

typedef struct Legality Legality;

Legality* legality_open(bool certain);                    // certain: plays wrong moments again
void legality_note(Legality* l, const Choice* choice);    // one that was just tried
bool legality_is_doubtful(const Legality* l);             // wrong in both ways, where bytes change
int64_t legality_forks(const Legality* l);                // beyond one a value
void legality_report(const Legality* l, int agents, bool start);
int twin_of(const Tally (*bytes)[MOST], int action);    // the other byte that tells best; -1: none
