/* puffer_dict.h -- settings in, log values out: PufferLib's Dict, as its 4.0 and its 5.0 have it.
 *
 * A missing key must not become a NULL dereference inside the author's my_init: the call that led
 * here is abandoned instead, with the key's name as its error. A program has nobody to tell: it
 * says which key, and ends.
 */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "puffer_abi.h"

typedef struct DictItem {
    const char* key;    // kept as a pointer: a literal, or as long-lived as the Dict
    double value;
    void* ptr;
    const char* str;    // as the ini has it, as long-lived as key; or NULL
    double* values;     // [len] of a list; else NULL
    int len;
} DictItem;

typedef struct Dict {
    DictItem* items;    // [capacity]
    int size;
    int capacity;
    bool is_vec;    // [vec], not [env]: for error texts
} Dict;

static __thread jmp_buf* puffer_escape;
static __thread PufferError* puffer_error;

__attribute__((format(printf, 3, 4))) static inline void puffer_refuse(PufferError* error, int kind,
                                                                       const char* format, ...) {
    va_list values;
    if (!error) return;
    memset(error, 0, sizeof *error);
    error->kind = kind;
    va_start(values, format);
    vsnprintf(error->text, sizeof error->text, format, values);
    va_end(values);
}

static inline void puffer_name(PufferError* error, const char* name) {
    if (error) snprintf(error->name, sizeof error->name, "%.127s", name);
}

static inline void puffer_fail(int kind, const char* what, const char* name) {
    puffer_refuse(puffer_error, kind, "%s: %s", what, name);
    puffer_name(puffer_error, name);
    if (puffer_escape) longjmp(*puffer_escape, 1);
#ifndef PUFFER_LIBRARY
    fprintf(stderr, "%s: %s\n", what, name);
    exit(2);
#endif
}

static inline Dict* create_dict(int capacity) {
    Dict* dict = (Dict*)calloc(1, sizeof(Dict));
    dict->items = (DictItem*)calloc((size_t)(capacity > 0 ? capacity : 1), sizeof(DictItem));
    dict->capacity = capacity;
    return dict;
}

static inline void puffer_free_dict(Dict* dict) {
    for (int i = 0; dict && i < dict->size; i++) free(dict->items[i].values);
    if (dict) free(dict->items);
    free(dict);
}

static inline DictItem* dict_get_unsafe(Dict* dict, const char* key) {
    for (int i = 0; i < dict->size; i++)
        if (strcmp(dict->items[i].key, key) == 0) return &dict->items[i];
    return NULL;
}

static inline DictItem* puffer_dict_get(Dict* dict, const char* key) {
    DictItem* item = dict_get_unsafe(dict, key);
    if (!item)
        puffer_fail(dict->is_vec ? PUFFER_MISSING_VEC_KEY : PUFFER_MISSING_KEY, "no such key", key);
    return item;
}

#ifdef PUFFER_AGENTS    // PufferLib 5.0
static inline DictItem* dict_find(Dict* dict, const char* key) {
    return dict_get_unsafe(dict, key);
}

static inline double dict_get(Dict* dict, const char* key) {
    return puffer_dict_get(dict, key)->value;
}

static inline const char* dict_get_str(Dict* dict, const char* key) {
    const char* text = puffer_dict_get(dict, key)->str;
    return text ? text : "";
}
#else
static inline DictItem* dict_get(Dict* dict, const char* key) { return puffer_dict_get(dict, key); }
#endif

static inline void dict_set(Dict* dict, const char* key, double value) {
    DictItem* item = dict_get_unsafe(dict, key);
    if (!item) {
        if (dict->size == dict->capacity) {
            puffer_fail(dict->capacity == PUFFER_MAX_LOG ? PUFFER_LOG_FULL : PUFFER_FAILED,
                        "too many entries in a Dict at key", key);
            return;
        }
        item = &dict->items[dict->size++];
        memset(item, 0, sizeof *item);
        item->key = key;
    }
    item->value = value;
}

// "5,4,3,3,2": its numbers, where a text is a list of numbers
static inline void puffer_read_list(DictItem* item) {
    int commas = 0;
    char* end = (char*)item->str;
    for (const char* at = item->str; at && *at; at++) commas += *at == ',';
    if (commas == 0) return;
    item->values = (double*)calloc((size_t)commas + 1, sizeof(double));
    for (const char* at = item->str; *at; at = end + (*end == ',')) {
        double value = strtod(at, &end);
        if (end == at || (*end && *end != ',')) {
            item->len = 0;
            return;
        }
        item->values[item->len++] = value;
        while (*end == ' ') end++;
    }
}

static inline Dict* puffer_dict_from(const PufferSettings* settings, int extra) {
    Dict* dict = create_dict((settings ? settings->count : 0) + extra);
    for (int i = 0; settings && i < settings->count; i++)
        dict_set(dict, settings->items[i].key, settings->items[i].value);
#ifdef PUFFER_AGENTS
    // Of these PufferLib 5.0 has defaults; who plays which agent is decided outside
    static const PufferSetting defaults[] = {{"dr", 0.0, "0"},
                                             {"num_agents", 1.0, "1"},
                                             {"num_bots", 0.0, "0"},
                                             {"num_policies", 1.0, "1"},
                                             {"hist_policy_percent", 0.0, "0"}};
    for (int i = 0; i < dict->size; i++) {
        dict->items[i].str = settings->items[i].text;
        puffer_read_list(&dict->items[i]);
    }
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (!dict_find(dict, defaults[i].key)) {
            dict_set(dict, defaults[i].key, defaults[i].value);
            dict_find(dict, defaults[i].key)->str = defaults[i].text;
        }
#endif
    return dict;
}
