// expect: PUF307
// Keep a submarine at the right depth under a noisy sonar. Fault: the echo is a float that noise
// pushes below 0 and above 255, and it is cast to a byte as it is.
#pragma once
#define PINGS 6
#define OBS_SIZE (PINGS + 1)
#define ACT_SIZES {3}

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Sonar {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float depth, drift, paid;
    int tick;
} Sonar;

static float noise(Sonar* s) {                  // [-1, 1)
    s->rng ^= s->rng << 13; s->rng ^= s->rng >> 17; s->rng ^= s->rng << 5;
    return (float)(s->rng & 0xFFFF) / 32768.0f - 1.0f;
}

static void listen(Sonar* s) {
    for (int i = 0; i < PINGS; i++) {
        float echo = 255.0f * s->depth + 40.0f * noise(s);
        s->observations[i] = (unsigned char)echo;
    }
    s->observations[PINGS] = (unsigned char)(s->tick / 2);
}

void c_reset(Sonar* s) {
    if (s->rng == 0) s->rng = 7;
    s->depth = 0.5f;
    s->drift = 0.02f * noise(s);
    s->paid = 0.0f;
    s->tick = 0;
    listen(s);
}

void c_step(Sonar* s) {
    s->drift = 0.95f * s->drift + 0.004f * noise(s);
    s->depth += 0.03f * (s->actions[0] - 1.0f) + s->drift;
    s->tick++;
    int out = s->depth < 0.0f || s->depth > 1.0f, done = out || s->tick == 180;
    s->rewards[0] = out ? -1.0f : 0.01f;
    s->terminals[0] = (float)done;
    s->paid += s->rewards[0];
    if (done) {
        s->log.perf += (float)!out;
        s->log.score += s->paid;
        s->log.episode_return += s->paid;
        s->log.episode_length += (float)s->tick;
        s->log.n += 1.0f;
        c_reset(s);
        return;
    }
    listen(s);
}

void c_render(Sonar* s) { (void)s; }
void c_close(Sonar* s) { (void)s; }
