/* A marathon of 400 to 600 ticks, with a finish that random walkers hardly see: rewards are rare, and
 * quiet stretches long. Each day is a little shorter or longer, so that the envs end on different
 * steps. Lengths are counted in frames, two to a step. */
#pragma once
#define FRAMES 2
#define OBS_SIZE 3
#define ACT_SIZES {3}

typedef struct Log {
    float perf;                     // share of stations that were reached
    float episode_return;
    float episode_length;           // frames
    float n;
} Log;

typedef struct Marathon {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int track;                      // [env] metres to the next station
    int frames_left, frame;
    int at, best, stations;
} Marathon;

static unsigned int bits(Marathon* m) {
    m->rng = m->rng * 747796405u + 2891336453u;
    return m->rng >> 12;
}

static void see(Marathon* m) {
    m->observations[0] = (float)m->at / 600.0f;
    m->observations[1] = (float)(m->best - m->at) / 100.0f;
    m->observations[2] = (float)m->frames_left / 1200.0f;
}

void c_reset(Marathon* m) {
    m->frames_left = FRAMES * (400 + (int)(bits(m) % 201));
    m->frame = m->at = m->stations = 0;
    m->best = m->track;
    see(m);
}

void c_step(Marathon* m) {
    m->rewards[0] = 0.0f;
    m->terminals[0] = 0.0f;
    for (int f = 0; f < FRAMES; f++) {
        m->frame++;
        m->frames_left--;
        m->at += (int)m->actions[0] - 1 + (bits(m) % 8 == 0 ? -1 : 0);
        if (m->at < 0) m->at = 0;
        if (m->at < m->best) continue;
        m->rewards[0] += 1.0f;
        m->stations++;
        m->best += m->track;
    }
    if (m->frames_left == 0) {
        m->terminals[0] = 1.0f;
        m->log.perf += (float)m->stations / (1200.0f / (float)m->track);
        m->log.episode_return += (float)m->stations;
        m->log.episode_length += (float)m->frame;
        m->log.n += 1.0f;
        c_reset(m);
        return;
    }
    see(m);
}

void c_render(Marathon* m) { (void)m; }
void c_close(Marathon* m) { (void)m; }
