/* A file system that fails on demand: loaded with LD_PRELOAD, see disk.py.

   After disk_arm(n, code, 0) the call number n that changes a regular file or a folder fails with
   this error; with a third argument of 1 all later ones fail as well. A write that fails has written
   half of its bytes, as on a full disk. Standard output and error never fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int armed, failing, error, forever, calls;

void disk_arm(int number, int code, int all) {
    armed = 1, failing = number, error = code, forever = all, calls = 0;
}

int disk_disarm(void) {
    armed = 0;
    return calls;
}

static int fails(void) {
    if (!armed) return 0;
    int number = calls++;
    if (number != failing && !(forever && number > failing)) return 0;
    errno = error;
    return 1;
}

static int on_disk(int file) {
    struct stat status;
    int before = errno, kept = armed && file > 2 && !fstat(file, &status);
    errno = before;
    return kept && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

#define WRITES(name, parameters, arguments, half, ...)                 \
    ssize_t name parameters {                                          \
        ssize_t (*real)(__VA_ARGS__) = dlsym(RTLD_NEXT, #name);        \
        if (!on_disk(file) || !fails()) return real arguments;         \
        int code = errno;                                              \
        if (size > 1) real half;                                       \
        errno = code;                                                  \
        return -1;                                                     \
    }

WRITES(write, (int file, const void *bytes, size_t size), (file, bytes, size),
       (file, bytes, size / 2), int, const void *, size_t)
WRITES(pwrite, (int file, const void *bytes, size_t size, off_t at), (file, bytes, size, at),
       (file, bytes, size / 2, at), int, const void *, size_t, off_t)
WRITES(pwrite64, (int file, const void *bytes, size_t size, off64_t at), (file, bytes, size, at),
       (file, bytes, size / 2, at), int, const void *, size_t, off64_t)

#define ON_FILE(name, parameters, arguments, ...) \
    int name parameters {                         \
        if (on_disk(file) && fails()) return -1;  \
        return REAL(int, name, __VA_ARGS__) arguments; \
    }

ON_FILE(fsync, (int file), (file), int)
ON_FILE(fdatasync, (int file), (file), int)
ON_FILE(fchmod, (int file, mode_t mode), (file, mode), int, mode_t)
ON_FILE(ftruncate, (int file, off_t size), (file, size), int, off_t)
ON_FILE(ftruncate64, (int file, off64_t size), (file, size), int, off64_t)

#define ON_PATH(name, parameters, arguments, ...) \
    int name parameters {                         \
        if (fails()) return -1;                   \
        return REAL(int, name, __VA_ARGS__) arguments; \
    }

ON_PATH(rename, (const char *from, const char *to), (from, to), const char *, const char *)
ON_PATH(unlink, (const char *path), (path), const char *)
ON_PATH(chmod, (const char *path, mode_t mode), (path, mode), const char *, mode_t)

#define CREATES(name)                                                          \
    int name(const char *path, int flags, ...) {                               \
        va_list rest;                                                          \
        va_start(rest, flags);                                                 \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                          \
        if (flags & (O_CREAT | O_TRUNC) && fails()) return -1;                 \
        return REAL(int, name, const char *, int, ...)(path, flags, mode);     \
    }

CREATES(open)
CREATES(open64)
