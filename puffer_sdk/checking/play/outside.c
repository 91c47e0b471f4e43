/* outside.c -- what the environment wants of the machine: files, addresses, programs.
 *
 * Env libraries are linked with --wrap=fopen, --wrap=connect and so on (driver.py lists them), so
 * their calls come here first, those of constructors as well. Each becomes a fact, once, with what
 * the system said to it. Nothing is kept from the env: that is the sandbox's part.
 */
#define _GNU_SOURCE
#include "system.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "harness.h"

enum { MOST = 32, MAX_WORDS = 64 };

// A fact, unless there has been the same one. failed: errno tells why
static void tell(const char* call, const char* what, bool failed) {
    static uint64_t told[MOST];
    static int count;
    int error = errno;
    uint64_t hash = hash_bytes(hash_bytes(1, call, strlen(call)), what, strlen(what));
    bool known = count == MOST;
    for (int i = 0; i < count; i++) {
        known |= told[i] == hash;
    }
    if (!known) {
        told[count++] = hash;
        report(outside, .call = call, .what = what, .denied = failed ? strerror(error) : "");
    }
    errno = error;
}

// The result of a call of a system's function that gives -1 when it fails
static int told(const char* call, const char* what, int result) {
    tell(call, what, result == -1);
    return result;
}

//------------------------------------------------------------------------------------
// Files
//------------------------------------------------------------------------------------
FILE* __wrap_fopen(const char* path, const char* mode) {
    FILE* file = fopen(path, mode);
    tell(strpbrk(mode, "wa+") ? "fopen to write" : "fopen", path, !file);
    return file;
}

DIR* __wrap_opendir(const char* path) {
    DIR* folder = opendir(path);
    tell("opendir", path, !folder);
    return folder;
}

static int open_at(int folder, const char* path, int flags, mode_t mode) {
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    return told(writes ? "open to write" : "open", path, openat(folder, path, flags, mode));
}

int __wrap_open(const char* path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(list, int) : 0;
    va_end(list);
    return open_at(AT_FDCWD, path, flags, mode);
}

int __wrap_openat(int folder, const char* path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(list, int) : 0;
    va_end(list);
    return open_at(folder, path, flags, mode);
}

int __wrap_creat(const char* path, mode_t mode) {
    return told("open to write", path, creat(path, mode));
}

int __wrap_remove(const char* path) { return told("remove", path, remove(path)); }
int __wrap_unlink(const char* path) { return told("unlink", path, unlink(path)); }
int __wrap_rmdir(const char* path) { return told("rmdir", path, rmdir(path)); }
int __wrap_rename(const char* from, const char* to) {
    return told("rename", from, rename(from, to));
}
int __wrap_mkdir(const char* path, mode_t mode) { return told("mkdir", path, mkdir(path, mode)); }

void* __wrap_dlopen(const char* path, int flags) {
    void* library = dlopen(path, flags);
    tell("dlopen", path ? path : "itself", !library);
    return library;
}

//------------------------------------------------------------------------------------
// Addresses
//------------------------------------------------------------------------------------
static const char* name_of(const struct sockaddr* at, socklen_t size, char* out, size_t room) {
    char host[INET6_ADDRSTRLEN] = "";
    if (at->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
        const struct sockaddr_in* inet = (const void*)at;
        inet_ntop(AF_INET, &inet->sin_addr, host, sizeof host);
        snprintf(out, room, "%s:%d", host, ntohs(inet->sin_port));
    } else if (at->sa_family == AF_INET6 && size >= sizeof(struct sockaddr_in6)) {
        const struct sockaddr_in6* inet = (const void*)at;
        inet_ntop(AF_INET6, &inet->sin6_addr, host, sizeof host);
        snprintf(out, room, "[%s]:%d", host, ntohs(inet->sin6_port));
    } else if (at->sa_family == AF_UNIX && size > sizeof(sa_family_t)) {
        const struct sockaddr_un* local = (const void*)at;
        snprintf(out, room, "%.*s", (int)(size - sizeof(sa_family_t)), local->sun_path);
    } else {
        snprintf(out, room, "an address of family %d", at->sa_family);
    }
    return out;
}

int __wrap_socket(int domain, int type, int protocol) {
    const char* what = domain == AF_UNIX ? "a local one" : "of the network";
    return told("socket", what, socket(domain, type, protocol));
}

int __wrap_connect(int fd, const struct sockaddr* at, socklen_t size) {
    char name[128];
    return told("connect", name_of(at, size, name, sizeof name), connect(fd, at, size));
}

int __wrap_bind(int fd, const struct sockaddr* at, socklen_t size) {
    char name[128];
    return told("bind", name_of(at, size, name, sizeof name), bind(fd, at, size));
}

ssize_t __wrap_sendto(int fd, const void* data, size_t bytes, int flags, const struct sockaddr* at,
                      socklen_t size) {
    char name[128] = "its peer";
    ssize_t sent = sendto(fd, data, bytes, flags, at, size);
    tell("sendto", at ? name_of(at, size, name, sizeof name) : name, sent < 0);
    return sent;
}

int __wrap_getaddrinfo(const char* host, const char* service, const struct addrinfo* hints,
                       struct addrinfo** out) {
    int status = getaddrinfo(host, service, hints, out);
    errno = status == EAI_SYSTEM ? errno : ENOENT;
    tell("getaddrinfo", host ? host : "this machine", status != 0);
    return status;
}

//------------------------------------------------------------------------------------
// Programs and processes. A program that begins never returns: it is told before
//------------------------------------------------------------------------------------
int __wrap_system(const char* command) {
    tell("system", command ? command : "a shell", false);
    return system(command);
}

FILE* __wrap_popen(const char* command, const char* mode) {
    tell("popen", command, false);
    return popen(command, mode);
}

int __wrap_execve(const char* path, char* const words[], char* const variables[]) {
    tell("execve", path, false);
    return execve(path, words, variables);
}

int __wrap_execv(const char* path, char* const words[]) {
    tell("execv", path, false);
    return execv(path, words);
}

int __wrap_execvp(const char* file, char* const words[]) {
    tell("execvp", file, false);
    return execvp(file, words);
}

// words[0] and what follows it, to its NULL
static void gather(char** words, const char* first, va_list list) {
    words[0] = (char*)first;
    for (int i = 1; i < MAX_WORDS && words[i - 1]; i++) {
        words[i] = va_arg(list, char*);
    }
    words[MAX_WORDS] = NULL;
}

int __wrap_execl(const char* path, const char* first, ...) {
    char* words[MAX_WORDS + 1] = {0};
    va_list list;
    va_start(list, first);
    gather(words, first, list);
    va_end(list);
    tell("execl", path, false);
    return execv(path, words);
}

int __wrap_execlp(const char* file, const char* first, ...) {
    char* words[MAX_WORDS + 1] = {0};
    va_list list;
    va_start(list, first);
    gather(words, first, list);
    va_end(list);
    tell("execlp", file, false);
    return execvp(file, words);
}

int __wrap_posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                       const posix_spawnattr_t* attributes, char* const words[],
                       char* const variables[]) {
    int status = posix_spawn(pid, path, actions, attributes, words, variables);
    errno = status;
    tell("posix_spawn", path, status != 0);
    return status;
}

int __wrap_posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes, char* const words[],
                        char* const variables[]) {
    int status = posix_spawnp(pid, file, actions, attributes, words, variables);
    errno = status;
    tell("posix_spawnp", file, status != 0);
    return status;
}

pid_t __wrap_fork(void) {
    tell("fork", "a process", false);
    return fork();
}

int __wrap_kill(pid_t pid, int number) {
    char what[64];
    snprintf(what, sizeof what, "signal %d to process %d", number, (int)pid);
    return told("kill", what, kill(pid, number));
}
