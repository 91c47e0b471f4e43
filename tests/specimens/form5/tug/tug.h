// tug.h -- two pullers on a line of places, in PufferLib 5.0's form.
// Each is paid for standing on the middle; nobody steps over the edge: such moves are masked.
#include "raylib.h"
typedef float obs_t;
#include "pufferenv.h"

#define OBS_SIZE 3
#define NUM_ATNS 1
#define ACT_SIZES {3}
#define PUF_STEPS_PER_SEC 20

struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
};

struct Env {
    Log log;
    Agent agents[2];
    int num_agents;
    int tag;
    int boundary_reached;
    unsigned int rng;
    int length;
    int edge;
    int tick;
    int place[2];
    float paid;
};
typedef Env Tug;

static void observe(Tug* env) {
    for (int i = 0; i < env->num_agents; i++) {
        Agent* agent = &env->agents[i];
        agent->observations[0] = (float)env->place[i] / (float)env->edge;
        agent->observations[1] = (float)env->place[1 - i] / (float)env->edge;
        agent->observations[2] = (float)env->tick / (float)env->length;
        agent->action_mask[0] = env->place[i] > -env->edge;
        agent->action_mask[1] = 1;
        agent->action_mask[2] = env->place[i] < env->edge;
    }
}

void puf_init(Env* env, Dict* kwargs) {
    env->length = (int)dict_get(kwargs, "length");
    env->edge = (int)dict_get(kwargs, "edge");
    env->num_agents = 2;
    for (int i = 0; i < env->num_agents; i++) {
        env->agents[i].policy = 0;
        env->agents[i].action_mask = NULL;
    }
}

void puf_reset(Tug* env) {
    env->tick = 0;
    env->paid = 0.0f;
    for (int i = 0; i < env->num_agents; i++)
        env->place[i] = rand_r(&env->rng) % (2 * env->edge + 1) - env->edge;
    observe(env);
}

void puf_step(Tug* env) {
    env->tick++;
    bool over = env->tick >= env->length;
    for (int i = 0; i < env->num_agents; i++) {
        int to = env->place[i] + (int)env->agents[i].actions[0] - 1;
        if (abs(to) <= env->edge) env->place[i] = to;
        env->agents[i].rewards[0] = env->place[i] == 0 ? 1.0f : 0.0f;
        env->agents[i].terminals[0] = over ? 1.0f : 0.0f;
        env->paid += env->agents[i].rewards[0] / (float)env->num_agents;
    }
    if (!over) {
        observe(env);
        return;
    }
    env->log.perf += env->paid / (float)env->length;
    env->log.score += env->paid;
    env->log.episode_return += env->paid;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    puf_reset(env);
}

void puf_render(Tug* env) {
    if (!IsWindowReady()) InitWindow(320, 80, "tug");
    BeginDrawing();
    ClearBackground((Color){16, 24, 32, 255});
    DrawLine(160, 0, 160, 80, GRAY);
    for (int i = 0; i < env->num_agents; i++)
        DrawCircle(160 + 140 * env->place[i] / env->edge, 24 + 32 * i, 12.0f, i ? RED : GREEN);
    EndDrawing();
    puf_web_vsync();
}

void puf_close(Tug* env) {
    (void)env;
    if (IsWindowReady()) CloseWindow();
}

void puf_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
