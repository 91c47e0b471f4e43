// expect: PUF422
/* Grind corn while the wind is good. Fault: the bonus for a full day is paid after the entry was
 * made, so that episode_return lacks the last reward. */
#pragma once
#define OBS_SIZE 4
#define ACT_SIZES {3}

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Miller {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int wind, heat, flour, tick;
    float earned;
} Miller;

static int weather(Miller* m) {
    m->rng = m->rng * 1103515245u + 12345u;
    return (int)((m->rng >> 16) % 10);
}

static void look(Miller* m) {
    m->observations[0] = (unsigned char)m->wind;
    m->observations[1] = (unsigned char)m->heat;
    m->observations[2] = (unsigned char)(m->flour / 4);
    m->observations[3] = (unsigned char)(m->tick / 2);
}

void c_reset(Miller* m) {
    m->wind = weather(m);
    m->heat = m->flour = m->tick = 0;
    m->earned = 0.0f;
    look(m);
}

void c_step(Miller* m) {
    int load = (int)m->actions[0];
    m->rewards[0] = 0.0f;
    m->terminals[0] = 0.0f;
    if (load > 0) {
        m->flour += m->wind * load / 4;
        m->heat += load * 2;
        m->rewards[0] = 0.01f * (float)(m->wind * load / 4);
    } else if (m->heat > 0) {
        m->heat -= 3;
        if (m->heat < 0) m->heat = 0;
    }
    if (m->tick % 5 == 0) m->wind = weather(m);
    m->tick++;
    m->earned += m->rewards[0];
    int fire = m->heat > 40, evening = m->tick == 120;
    if (fire || evening) {
        m->log.perf += evening && !fire ? 1.0f : 0.0f;
        m->log.score += (float)m->flour;
        m->log.episode_return += m->earned;
        m->log.episode_length += (float)m->tick;
        m->log.n += 1.0f;
        m->rewards[0] += fire ? -1.0f : 0.5f;
        m->terminals[0] = 1.0f;
        c_reset(m);
        return;
    }
    look(m);
}

void c_render(Miller* m) { (void)m; }
void c_close(Miller* m) { (void)m; }
