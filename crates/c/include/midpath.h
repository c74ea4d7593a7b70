/* Midpath's simulator for C and C++: a network in which a program sends messages while it runs.
 *
 * A session belongs to the thread that opened it. Callbacks are called by midpath_run, with the time of midpath_now; they may
 * call everything but midpath_run and midpath_close, and must return (no longjmp, no exception). Times are in picoseconds.
 *
 * cc program.c -Icrates/c/include target/release/libmidpath_c.a -lm -lpthread -ldl
 */
#ifndef MIDPATH_H
#define MIDPATH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct midpath midpath;

typedef void (*midpath_callback)(void *arg);

enum midpath_status {
    MIDPATH_OK = 0,
    /* A null pointer, a negative number, a text that is not UTF-8. */
    MIDPATH_BAD_ARGUMENT = 1,
    /* The scenario cannot be run. */
    MIDPATH_BAD_SCENARIO = 2,
    /* No such host, no bytes, no route, a delay beyond the end of time, midpath_run or midpath_close in a callback. */
    MIDPATH_REFUSED = 3,
    MIDPATH_WRONG_THREAD = 4,
    /* Time has reached the scenario's `stop`: also what midpath_run returns then. */
    MIDPATH_STOPPED = 5,
    /* Of midpath_run: messages are under way, and nothing will ever happen to them. */
    MIDPATH_STUCK = 6,
    /* A bug of ours. The session does nothing more. */
    MIDPATH_BROKEN = 7
};

/* What the last call of this thread that did not return MIDPATH_OK has to say. Valid until the next one. */
const char *midpath_error(void);

/* Opens a session on the network of a scenario (TOML), whose files are relative to `folder`. */
int midpath_open(const char *scenario, const char *folder, midpath **session);

/* Closes it and sets it to null. Callbacks that have not been called are not called. */
int midpath_close(midpath **session);

/* How many hosts there are: those of a generated fabric in its order, others in that of the scenario; -1 on an error. */
int64_t midpath_hosts(midpath *session);

/* The number of the host of this name; -1 if there is none. */
int64_t midpath_host(midpath *session, const char *name);

/* Sends `count` bytes from host `src` to host `dst` now: a flow of the scenario's scheme. The callback, which may be null, is
 * called when all of it has come. */
int midpath_send(midpath *session, int64_t src, int64_t dst, uint64_t count, int64_t tag, midpath_callback callback, void *arg);

/* The callback is called when so many bytes have come from `src` to `dst` in messages with this tag, in the order of calls. */
int midpath_recv(midpath *session, int64_t src, int64_t dst, uint64_t count, int64_t tag, midpath_callback callback, void *arg);

/* The callback is called so much later. */
int midpath_schedule(midpath *session, int64_t delay_ps, midpath_callback callback, void *arg);

/* The time; -1 on an error. */
int64_t midpath_now(midpath *session);

/* Lets time go on until all messages have come and nothing is scheduled, or until midpath_halt. It may be called again. */
int midpath_run(midpath *session);

/* Has midpath_run return after the callback at hand. */
int midpath_halt(midpath *session);

/* Packets times links so far; -1 on an error. */
int64_t midpath_packet_hops(midpath *session);

#ifdef __cplusplus
}
#endif

#endif
