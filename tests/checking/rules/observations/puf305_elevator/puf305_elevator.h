// expect: PUF305
/* Bring an elevator to the floor that calls. Fault: what is shown is where the shift began, not
 * where the cabin is now, so that the agent sees the same three bytes for ever. */
#pragma once
#define FLOORS 9
#define OBS_SIZE 3
#define ACT_SIZES {3}

typedef struct { float perf, score, episode_return, episode_length, n; } Log;

typedef struct { int floor, call, door; } Cabin;

typedef struct {
    Log log;
    unsigned char* observations;
    float *actions, *rewards, *terminals;
    int num_agents;
    unsigned int rng;
    Cabin begin, now;
    int served, tick;
} Elevator;

static int random_floor(Elevator* e) {
    e->rng = e->rng * 1103515245u + 12345u;
    return (int)((e->rng >> 16) % FLOORS);
}

static void display(Elevator* e) {
    const Cabin* cabin = &e->begin;
    e->observations[0] = (unsigned char)cabin->floor;
    e->observations[1] = (unsigned char)cabin->call;
    e->observations[2] = (unsigned char)cabin->door;
}

void c_reset(Elevator* e) {
    e->begin = (Cabin){0, 4, 1};
    e->now = e->begin;
    e->now.call = random_floor(e);
    e->served = e->tick = 0;
    display(e);
}

void c_step(Elevator* e) {
    Cabin* c = &e->now;
    int move = (int)e->actions[0] - 1;
    c->door = move == 0;
    if (c->floor + move >= 0 && c->floor + move < FLOORS) c->floor += move;
    e->rewards[0] = e->terminals[0] = 0;
    if (c->door && c->floor == c->call) {
        e->rewards[0] = 1;
        e->served++;
        c->call = random_floor(e);
    }
    if (++e->tick == 100 || e->served == 10) {
        e->terminals[0] = 1;
        e->log.perf += e->served / 10.0f;
        e->log.score += e->served;
        e->log.episode_return += e->served;
        e->log.episode_length += e->tick;
        e->log.n++;
        c_reset(e);
    } else {
        display(e);
    }
}

void c_render(Elevator* e) { (void)e; }
void c_close(Elevator* e) { (void)e; }
