/* A wall clock that is stepped by an hour each second, forth and back, for a program that is started with this
 * preloaded. How often the program has asked for it, and for the monotonic clock, is in the file CLOCK_CALLS.
 *
 *     cc -shared -fPIC -O1 -o clock.so clock.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static unsigned long *calls;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void)
{
    const char *file = getenv("CLOCK_CALLS");
    int handle = file ? open(file, O_RDWR) : -1;
    real = dlsym(RTLD_NEXT, "clock_gettime");
    if (handle >= 0) {
        void *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
        calls = shared == MAP_FAILED ? 0 : shared;
        close(handle);
    }
}

static void count(int which)
{
    if (calls)
        __atomic_add_fetch(&calls[which], 1, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
    int done = real(clock, now);
    count(wall ? 0 : 1);
    if (wall && done == 0) {
        struct timespec steady;
        real(CLOCK_MONOTONIC, &steady);
        now->tv_sec += steady.tv_sec % 2 ? 3600 : -3600;
    }
    return done;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
