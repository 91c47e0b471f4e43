// Clinic: the front desk of a small clinic. Patients come at random and wait in three queues:
// minor, urgent and critical. Each minute the desk may call the first patient of one queue to one
// of three doctors, of whom the first is quicker than the others. A treatment is paid when it is
// done, the less the longer the patient had to wait. Patients do not wait for ever: who has lost
// patience (or worse) costs, and too many of them close the clinic before the shift is over. In
// the middle of the shift there is a rush hour.
//
// Two heads: whom to call (0 nobody, else the queue plus one) and to which doctor. The mask allows
// a queue if somebody waits there and a doctor is free, and doctors who are free. If none is, all
// may be chosen, as nobody can be called anyway. A call that is not possible does nothing.
//
// A shift starts at a random minute of its first quarter, so that clinics do not all close at once.
#pragma once

#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define CLASSES 3
#define DOCTORS 3
#define QUICK 0                // the doctor who needs three fifths of the time
#define QCAP 8                 // chairs of each queue
#define LONGEST 20.0f          // minutes, for the observation
#define CALLS (CLASSES + 1)    // width of the first head

#define NOBODY -1

//                                   minor urgent critical
static const float WORTH[CLASSES] = {0.2f, 0.5f, 1.0f};
static const float RATE[CLASSES] = {0.12f, 0.06f, 0.03f};     // patients a minute
static const int PATIENCE[CLASSES] = {60, 25, 10};            // minutes
static const int LENGTH[CLASSES] = {6, 10, 14};               // minutes, and up to 4 more

enum {
    OBS_QUEUE,                             // [0, 1]  how full each queue is
    OBS_WAITED = OBS_QUEUE + CLASSES,      // [0, 1]  patience used up by the first of each queue
    OBS_BUSY = OBS_WAITED + CLASSES,       // [0, 1]  minutes until each doctor is free
    OBS_CASE = OBS_BUSY + DOCTORS,         // [0, 1]  what each doctor treats, 0 nobody
    OBS_TIME = OBS_CASE + DOCTORS,         // [0, 1]
    OBS_RUSH,                              // [0, 1]  1 in the rush hour
    OBS_LOST,                              // [0, 1]  1 would close the clinic
    OBS_COUNT
};

// Required struct. Only use floats!
typedef struct {
    float perf;                // worth of the patients treated over that of all who left
    float score;               // worth of the patients treated
    float episode_return;
    float episode_length;
    float lost;                // patients
    float wait;                // minutes, mean of those who were called
    float n;                   // Required as the last field
} Log;

typedef struct {
    int head;                  // place of the first in its ring
    int count;
} Queue;

typedef struct {
    int patient;               // class or NOBODY
    int left;                  // minutes
    float fee;
} Doctor;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* action_mask;
    int num_agents;
    unsigned int rng;

    // settings
    int shift;
    int max_lost;
    float load;
    float rush;
    float late_discount;
    float lost_cost;

    Queue queues[CLASSES];
    Doctor doctors[DOCTORS];
    int minute;
    int steps;
    int since[CLASSES][QCAP];  // rings: minute in which each patient came
    int treated[CLASSES];
    int gone[CLASSES];
    int calls;
    int waited;                // minutes, sum of those who were called
    float ret;
} Clinic;

void init(Clinic* env) {
    if (env->shift < 4) env->shift = 4;
    if (env->max_lost < 1) env->max_lost = 1;
}

void c_close(Clinic* env) {
}

static int chance(Clinic* env, float p) {
    return (float)(rand_r(&env->rng) % 1000003) / 1000003.0f < p;
}

static int rush_hour(Clinic* env) {
    return 3 * env->minute >= env->shift && 3 * env->minute < 2 * env->shift;
}

static int lost(Clinic* env) {
    return env->gone[0] + env->gone[1] + env->gone[2];
}

static void write_mask(Clinic* env) {
    unsigned char* mask = env->action_mask;
    int idle = 0;
    for (int d = 0; d < DOCTORS; d++) {
        idle += env->doctors[d].patient == NOBODY;
    }
    mask[0] = 1;
    for (int c = 0; c < CLASSES; c++) {
        mask[1 + c] = idle > 0 && env->queues[c].count > 0;
    }
    for (int d = 0; d < DOCTORS; d++) {
        mask[CALLS + d] = idle == 0 || env->doctors[d].patient == NOBODY;
    }
}

static void compute_observations(Clinic* env) {
    float* obs = env->observations;
    float waited[CLASSES] = {0.0f};
    for (int c = 0; c < CLASSES; c++) {
        Queue* q = &env->queues[c];
        if (q->count > 0) {
            waited[c] = (float)(env->minute - env->since[c][q->head]) / PATIENCE[c];
        }
    }
    for (int c = 0; c < CLASSES; c++) {
        obs[OBS_QUEUE + c] = (float)env->queues[c].count / QCAP;
        obs[OBS_WAITED + c] = waited[c];
    }
    for (int d = 0; d < DOCTORS; d++) {
        obs[OBS_BUSY + d] = env->doctors[d].left / LONGEST;
        obs[OBS_CASE + d] = (float)(env->doctors[d].patient + 1) / CLASSES;
    }
    obs[OBS_TIME] = (float)env->minute / env->shift;
    obs[OBS_RUSH] = rush_hour(env);
    obs[OBS_LOST] = (float)lost(env) / env->max_lost;
}

void c_reset(Clinic* env) {
    memset(env->queues, 0, sizeof(env->queues));
    memset(env->since, 0, sizeof(env->since));
    for (int d = 0; d < DOCTORS; d++) {
        env->doctors[d] = (Doctor){NOBODY, 0, 0.0f};
    }
    memset(env->treated, 0, sizeof(env->treated));
    memset(env->gone, 0, sizeof(env->gone));
    env->minute = rand_r(&env->rng) % (env->shift / 4);
    env->steps = 0;
    env->calls = 0;
    env->waited = 0;
    env->ret = 0.0f;
    write_mask(env);
    compute_observations(env);
}

static void call(Clinic* env, int c, int d) {
    Queue* q = &env->queues[c];
    Doctor* doctor = &env->doctors[d];
    if (q->count == 0 || doctor->patient != NOBODY) return;
    int waited = env->minute - env->since[c][q->head];
    q->head = (q->head + 1) % QCAP;
    q->count--;
    env->calls++;
    env->waited += waited;

    int minutes = LENGTH[c] + rand_r(&env->rng) % 5;
    doctor->patient = c;
    doctor->left = d == QUICK ? minutes * 3 / 5 : minutes;
    doctor->fee = WORTH[c] * (1.0f - env->late_discount * ((float)waited / PATIENCE[c]));
}

// The doctors work for a minute. Returns what they earn in it
static float treat(Clinic* env) {
    float earned = 0.0f;
    for (int d = 0; d < DOCTORS; d++) {
        Doctor* doctor = &env->doctors[d];
        if (doctor->patient == NOBODY) continue;
        if (--doctor->left > 0) continue;
        earned += doctor->fee;
        env->treated[doctor->patient]++;
        doctor->patient = NOBODY;
    }
    return earned;
}

// New patients come, others give up. Returns what those cost
static float queue_up(Clinic* env) {
    float cost = 0.0f;
    for (int c = 0; c < CLASSES; c++) {
        Queue* q = &env->queues[c];
        float rate = RATE[c] * env->load * (rush_hour(env) ? env->rush : 1.0f);
        if (chance(env, rate)) {
            if (q->count == QCAP) {
                env->gone[c]++;
                cost += WORTH[c] * env->lost_cost;
            } else {
                env->since[c][(q->head + q->count) % QCAP] = env->minute;
                q->count++;
            }
        }
        while (q->count > 0 && env->minute - env->since[c][q->head] > PATIENCE[c]) {
            q->head = (q->head + 1) % QCAP;
            q->count--;
            env->gone[c]++;
            cost += WORTH[c] * env->lost_cost;
        }
    }
    return cost;
}

static void add_log(Clinic* env) {
    float treated = 0.0f, gone = 0.0f;
    for (int c = 0; c < CLASSES; c++) {
        treated += WORTH[c] * env->treated[c];
        gone += WORTH[c] * env->gone[c];
    }
    env->log.perf += treated > 0.0f ? treated / (treated + gone) : 0.0f;
    env->log.score += treated;
    env->log.episode_return += env->ret;
    env->log.episode_length += env->steps;
    env->log.lost += lost(env);
    env->log.wait += env->calls > 0 ? (float)env->waited / env->calls : 0.0f;
    env->log.n += 1.0f;
}

void c_step(Clinic* env) {
    env->terminals[0] = 0.0f;

    int who = (int)env->actions[0];
    int doctor = (int)env->actions[1];
    if (who > 0) {
        call(env, who - 1, doctor);
    }
    float earned = treat(env);
    env->minute++;
    env->steps++;
    earned -= queue_up(env);
    env->rewards[0] = earned;
    env->ret += earned;

    if (env->minute >= env->shift || lost(env) >= env->max_lost) {
        env->terminals[0] = 1.0f;
        add_log(env);
        c_reset(env);
        return;
    }
    write_mask(env);
    compute_observations(env);
}

void c_render(Clinic* env) {
    const Color colors[CLASSES] = {SKYBLUE, ORANGE, RED};
    if (!IsWindowReady()) {
        InitWindow(640, 340, "PufferLib Clinic");
        SetTargetFPS(8);
    }
    if (IsKeyDown(KEY_ESCAPE)) {
        exit(0);
    }

    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int c = 0; c < CLASSES; c++) {
        for (int i = 0; i < env->queues[c].count; i++) {
            DrawCircle(40 + 36 * i, 50 + 50 * c, 14, colors[c]);
        }
    }
    for (int d = 0; d < DOCTORS; d++) {
        Doctor* doctor = &env->doctors[d];
        int y = 36 + 50 * d;
        DrawRectangleLines(400, y, 200, 30, d == QUICK ? GOLD : RAYWHITE);
        if (doctor->patient != NOBODY) {
            DrawRectangle(402, y + 2, doctor->left * 10, 26, colors[doctor->patient]);
        }
    }
    DrawText(TextFormat("minute %d of %d%s", env->minute, env->shift,
        rush_hour(env) ? ", rush hour" : ""), 26, 220, 20, RAYWHITE);
    DrawText(TextFormat("lost %d of %d", lost(env), env->max_lost), 26, 250, 20, RAYWHITE);
    DrawText(TextFormat("return %.2f", env->ret), 26, 280, 20, RAYWHITE);
    EndDrawing();
}
