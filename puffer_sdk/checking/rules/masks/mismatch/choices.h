/* choices.h -- one agent's choice among the values of one head, each tried from the same moment. */
#pragma once
#include "harness.h"

enum { MOST = 64 };    // actions of an agent

typedef struct Choice {
    Batch* b;
    int env, agent, head;
    int offset;    // of the head in a row of the mask
    int64_t t;     // the step to come
} Choice;

typedef struct Outcome {         // of one value
    uint64_t rows;               // a hash of all rows of the steps that follow
    bool ended;                  // the agent's episode, on the first step
    unsigned char mask[MOST];    // behind the first step
} Outcome;

void choices_open(void);
// Plays each value. play > 0: with other chance, and other actions of the others. false: a fork died
bool choice_try(const Choice* choice, int play);
const Outcome* outcome_of(int value);
// Which values act: their agent sees something that no other value leads to, and that it did not
// see before. false: none does, the choice is without effect now
bool choice_acts(const Choice* choice, bool* acts);
// The value that changes least, which does not act and ends nothing; -1: all act
int quiet_value(const Choice* choice, const bool* acts);
unsigned char* mask_of(const Batch* b, int env, int agent);
