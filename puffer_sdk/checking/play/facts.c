/* facts.c -- writes facts: facts.def -> lines of JSON in options.facts.
 *
 * A fact is appended with open/write/close, so that it survives a crash in the next
 * instruction, an env that closes descriptors, and one that changes directory.
 */
#define _GNU_SOURCE
#include "harness.h"
#include <execinfo.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { FACT_BYTES = 8192 };

typedef struct Line {    // a fact that is being written
    char text[FACT_BYTES];
    size_t size;
    bool too_long;    // then it is dropped
} Line;

volatile bool finished;
static bool silent;    // a fork: its end is an answer, not a fact

//------------------------------------------------------------------------------------
// Lines
//------------------------------------------------------------------------------------
static void append(const char* text, size_t size) {
    if (silent) {
        return;
    }
    int file = open(options.facts, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) {
        return;
    }
    while (size > 0) {
        ssize_t done = write(file, text, size);
        if (done <= 0) {
            break;
        }
        text += done;
        size -= (size_t)done;
    }
    close(file);
}

static void __attribute__((format(printf, 2, 3))) put(Line* line, const char* format, ...) {
    size_t room = sizeof line->text - 1 - line->size;
    va_list list;
    va_start(list, format);
    int size = line->too_long ? 0 : vsnprintf(line->text + line->size, room, format, list);
    va_end(list);
    line->too_long = line->too_long || size < 0 || (size_t)size >= room;
    line->size += line->too_long ? 0 : (size_t)size;
}

static void put_text(Line* line, const char* text) {
    put(line, "\"");
    for (const char* c = text ? text : ""; *c; c++) {
        if (*c == '"' || *c == '\\') {
            put(line, "\\%c", *c);
        } else if (*c == '\n') {
            put(line, "\\n");
        } else if ((unsigned char)*c >= 32) {
            put(line, "%c", *c);
        }
    }
    put(line, "\"");
}

static void put_value(Line* line, float value) {
    if (isfinite(value)) {
        put(line, "%.9g", value);
    } else {
        put(line, "\"%s\"", isnan(value) ? "nan" : value > 0.0f ? "inf" : "-inf");
    }
}

static void put_stack(Line* line, const Stack* stack) {
    put(line, "[");
    for (int i = 0; i < stack->depth; i++) {
        put(line, "%s\"0x%llx\"", i ? ", " : "", (unsigned long long)(uintptr_t)stack->frames[i]);
    }
    put(line, "]");
}

static void end_line(Line* line) {
    put(line, "}");
    if (!line->too_long) {
        line->text[line->size] = '\n';
        append(line->text, line->size + 1);
    }
}

//------------------------------------------------------------------------------------
// A writer for each kind
//------------------------------------------------------------------------------------
// clang-format off
#define FACT(kind)         void write_##kind(const struct fact_##kind* f) {                  \
                               Line line;                                                    \
                               line.size = 0;                                                \
                               line.too_long = false;                                        \
                               (void)f;                                                      \
                               put(&line, "{\"fact\": \"%s\"", #kind);
#define INT(name)          put(&line, ", \"" #name "\": %lld", (long long)f->name);
#define REAL(name, format) put(&line, ", \"" #name "\": " format, f->name);
#define VALUE(name)        put(&line, ", \"" #name "\": "); put_value(&line, f->name);
#define TEXT(name)         put(&line, ", \"" #name "\": "); put_text(&line, f->name);
#define HEX(name)          put(&line, ", \"" #name "\": \"0x%llx\"", (unsigned long long)f->name);
#define PLACE(name)        put(&line, ", \"" #name "\": [%d, %d]", f->name.pointer,          \
                               f->name.offset);
#define LIST(name, type)   put(&line, ", \"" #name "\": [%s]", f->name ? f->name : "");
#define STACK(name)        put(&line, ", \"" #name "\": "); put_stack(&line, &f->name);
#define IF(name)           if (f->name) {
#define FI                 }
#define END(kind)          end_line(&line); }
// clang-format on
#include "facts.def"

//------------------------------------------------------------------------------------
// Places, and the last fact
//------------------------------------------------------------------------------------
const char* phase_name(int phase) {
    static const char* const names[] = {"idle", "init", "reset", "step", "close", "render"};
    return (unsigned)phase < 6 ? names[phase] : "idle";
}

Stack stack_here(void) {
    Stack stack;
    stack.depth = backtrace(stack.frames, MAX_STACK);
    return stack;
}

void refuse(const PufferError* error) {
    fact(failed, .text = error->text, .reason = error->kind, .a = error->a, .b = error->b,
         .name = error->name);
    finished = true;
    _exit(3);
}

void fail(const char* text) {
    PufferError error = {.kind = PUFFER_FAILED};
    snprintf(error.text, sizeof error.text, "%s", text);
    refuse(&error);
}

void finish(void) {
    finished = true;
    fact(end);
    _exit(0);
}

void silence_facts(void) { silent = true; }
