/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The algorithm in user space: one line a packet on standard input, one line an answer on standard output.
 *
 *     params TARGET INTERVAL MTU AGE_TICKS REGISTER_MAX AQM MODE REGISTERS AGGREGATE WINDOW
 *     out NOW SOJOURN BEHIND PLACE TAG ECN TCP FLAGS SEQ ->  SIGNAL WAY COUNTED REGISTER
 *     in NOW PLACE TAG FLAGS ACK                        ->  ECE REGISTER
 *     root INTERVAL COUNT                               ->  interval / sqrt(count)
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef int32_t __s32;
typedef uint64_t __u64;

#include "../../bpf/rpm_core.h"

#define PLACES 256

static struct rpm_params params;
static struct rpm_port port;
static struct rpm_register registers[PLACES];

static unsigned shown(unsigned place)
{
    return params.aggregate ? port.together : registers[place].count;
}

static int on_out(const char *line)
{
    unsigned long long now, sojourn, behind;
    unsigned place, tag, ecn, tcp, flags, sequence;
    enum rpm_counted counted = RPM_COUNTED;
    struct rpm_events events = {0};
    struct rpm_packet packet = {0};
    enum rpm_way way;
    int signalled, asked;

    if (sscanf(line, "out %llu %llu %llu %u %u %u %u %u %u", &now, &sojourn, &behind, &place, &tag, &ecn, &tcp, &flags,
               &sequence) != 9)
        return -1;
    packet.ip = 1;
    packet.ecn = ecn;
    packet.tcp = tcp;
    packet.flags = flags;
    packet.tag = tag;
    packet.sequence = sequence;
    way = rpm_outbound(&port, &params, &packet, now, sojourn, behind, &signalled);
    asked = way == RPM_WAY_REGISTER;
    if (rpm_outbound_looks(&params, &packet, way))
        way = rpm_outbound_register(&port, &registers[place % PLACES], &params, &packet, way, now, &counted, &events);
    printf("%d %d %d %u\n", signalled, way, asked ? (int)counted : -1, shown(place % PLACES));
    return 0;
}

static int on_in(const char *line)
{
    unsigned long long now;
    unsigned place, tag, flags, acknowledgement;
    struct rpm_events events = {0};
    struct rpm_packet packet = {0};
    int ece = 0;

    if (sscanf(line, "in %llu %u %u %u %u", &now, &place, &tag, &flags, &acknowledgement) != 5)
        return -1;
    packet.ip = packet.tcp = 1;
    packet.flags = flags;
    packet.tag = tag;
    packet.acknowledgement = acknowledgement;
    if (rpm_uses_registers(&params))
        ece = rpm_inbound(&port, &registers[place % PLACES], &params, &packet, now, &events);
    printf("%d %u\n", ece, shown(place % PLACES));
    return 0;
}

static int on_params(const char *line)
{
    unsigned long long target, interval, mtu;
    unsigned age, most, aqm, mode, kind, aggregate, window;

    if (sscanf(line, "params %llu %llu %llu %u %u %u %u %u %u %u", &target, &interval, &mtu, &age, &most, &aqm, &mode,
               &kind, &aggregate, &window) != 10)
        return -1;
    params.target_ns = target;
    params.interval_ns = interval;
    params.mtu_bytes = mtu;
    params.age_ticks = age;
    params.register_max = most;
    params.aqm = aqm;
    params.mode = mode;
    params.registers = kind;
    params.aggregate = aggregate;
    params.window_mib = window;
    return 0;
}

static int on_root(const char *line)
{
    unsigned long long interval;
    unsigned count;

    if (sscanf(line, "root %llu %u", &interval, &count) != 2)
        return -1;
    printf("%llu\n", (unsigned long long)rpm_interval_by_sqrt(interval, count));
    return 0;
}

int main(void)
{
    char line[256];
    int bad;

    while (fgets(line, sizeof(line), stdin)) {
        if (!strncmp(line, "out", 3))
            bad = on_out(line);
        else if (!strncmp(line, "in", 2))
            bad = on_in(line);
        else if (!strncmp(line, "root", 4))
            bad = on_root(line);
        else
            bad = on_params(line);
        if (bad) {
            fprintf(stderr, "not understood: %s", line);
            return 1;
        }
    }
    return 0;
}
