/* A ring all-reduce over the hosts of a star, by callbacks: prints when it ends, in picoseconds.
 * Then what must be refused is, and changes nothing. */

#include "midpath.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                     \
    do {                                                                                \
        if (!(what)) {                                                                  \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what, midpath_error());     \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

static midpath *session;
static int64_t ranks, share, end;

struct come {
    int64_t rank, step;
};

static void begin(int64_t rank, int64_t step);

static void on_come(void *arg) {
    struct come come = *(struct come *)arg;
    free(arg);
    end = midpath_now(session);
    begin(come.rank, come.step + 1);
}

/* Rank `rank` sends step `step`, and the next rank waits for it. */
static void begin(int64_t rank, int64_t step) {
    struct come *come = malloc(sizeof *come);
    if (step == 2 * (ranks - 1) || !come) {
        free(come);
        return;
    }
    come->rank = (rank + 1) % ranks;
    come->step = step;
    CHECK(midpath_recv(session, rank, come->rank, (uint64_t)share, step, on_come, come) == MIDPATH_OK);
    CHECK(midpath_send(session, rank, come->rank, (uint64_t)share, step, NULL, NULL) == MIDPATH_OK);
}

static void never(void *arg) {
    (void)arg;
    fprintf(stderr, "a callback of what was refused\n");
    exit(1);
}

static void within(void *arg) {
    CHECK(midpath_run(session) == MIDPATH_REFUSED);
    CHECK(strstr(midpath_error(), "cannot call it"));
    CHECK(midpath_close(&session) == MIDPATH_REFUSED && session);
    CHECK(midpath_halt(session) == MIDPATH_OK);
    ++*(int *)arg;
}

static void *elsewhere(void *arg) {
    CHECK(midpath_run(arg) == MIDPATH_WRONG_THREAD);
    CHECK(midpath_send(arg, 0, 1, 1, 0, never, NULL) == MIDPATH_WRONG_THREAD);
    CHECK(midpath_close(&session) == MIDPATH_WRONG_THREAD && session);
    CHECK(midpath_now(arg) == -1 && strstr(midpath_error(), "thread"));
    return NULL;
}

static void refused(const char *scenario) {
    midpath *none = NULL;
    CHECK(midpath_open(NULL, ".", &none) == MIDPATH_BAD_ARGUMENT);
    CHECK(midpath_open(scenario, NULL, &none) == MIDPATH_BAD_ARGUMENT);
    CHECK(midpath_open(scenario, ".", NULL) == MIDPATH_BAD_ARGUMENT);
    CHECK(midpath_open("\xff", ".", &none) == MIDPATH_BAD_ARGUMENT && strstr(midpath_error(), "UTF-8"));
    CHECK(midpath_open("scheme = 3", ".", &none) == MIDPATH_BAD_SCENARIO && strstr(midpath_error(), "line 1"));
    CHECK(!none && midpath_close(&none) == MIDPATH_BAD_ARGUMENT && midpath_close(NULL) == MIDPATH_BAD_ARGUMENT);
    CHECK(midpath_run(NULL) == MIDPATH_BAD_ARGUMENT && midpath_now(NULL) == -1 && midpath_hosts(NULL) == -1);

    CHECK(midpath_send(session, -1, 1, 1, 0, never, NULL) == MIDPATH_BAD_ARGUMENT);
    CHECK(midpath_send(session, 0, ranks, 1, 0, never, NULL) == MIDPATH_REFUSED && strstr(midpath_error(), "no host"));
    CHECK(midpath_send(session, 0, INT64_MAX, 1, 0, never, NULL) == MIDPATH_REFUSED);
    CHECK(midpath_send(session, 0, 0, 1, 0, never, NULL) == MIDPATH_REFUSED);
    CHECK(midpath_send(session, 0, 1, 0, 0, never, NULL) == MIDPATH_REFUSED && strstr(midpath_error(), "one byte"));
    CHECK(midpath_recv(session, 0, 1, 0, 0, never, NULL) == MIDPATH_REFUSED);
    CHECK(midpath_recv(session, 0, -7, 1, 0, never, NULL) == MIDPATH_BAD_ARGUMENT);
    CHECK(midpath_schedule(session, -1, never, NULL) == MIDPATH_BAD_ARGUMENT && strstr(midpath_error(), "negative"));
    CHECK(midpath_schedule(session, 0, NULL, NULL) == MIDPATH_BAD_ARGUMENT);
    CHECK(midpath_host(session, "r0") == -1 && midpath_host(session, NULL) == -1 && midpath_host(session, "h1") == 1);
    CHECK(midpath_now(session) == 0 && midpath_packet_hops(session) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    share = atoll(argv[2]);
    CHECK(midpath_open(argv[1], ".", &session) == MIDPATH_OK);
    ranks = midpath_hosts(session);
    refused(argv[1]);
    for (int64_t rank = 0; rank < ranks; rank++) {
        begin(rank, 0);
    }
    CHECK(midpath_run(session) == MIDPATH_OK);
    CHECK(midpath_packet_hops(session) > 0);
    printf("%" PRId64 "\n", end);

    int calls = 0;
    CHECK(midpath_schedule(session, 1000, within, &calls) == MIDPATH_OK);
    CHECK(midpath_schedule(session, 1000, within, &calls) == MIDPATH_OK);
    CHECK(midpath_run(session) == MIDPATH_OK && calls == 1);
    CHECK(midpath_run(session) == MIDPATH_OK && calls == 2);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, elsewhere, session) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(midpath_close(&session) == MIDPATH_OK && !session);
    return 0;
}
