/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs keep. net/ebpf/src/layout.rs has the same structures; a test compares their sizes. */
#ifndef MIDPATH_MAPS_H
#define MIDPATH_MAPS_H

#include "kernel.h"
#include "rpm_core.h"

#define RPM_DEVICE_NAME 16

/* Written by `midpathd rpm up`, and all that `status` needs to know what runs. */
struct rpm_config {
    struct rpm_params params;
    __u64 hash_key[2];
    /* For tests: this is the time. */
    __u64 test_now_ns;
    __u64 rate_bps;
    __u64 buffer_bytes;
    __u32 burst_bytes;
    __u32 dev_ifindex;
    __u32 queue_ifindex;
    __u32 exit_ifindex;
    __u32 register_mask;
    /* What rpm_divert writes on a packet, so that rpm_enqueue knows it. */
    __u32 ticket;
    /* The device has no link header. */
    __u32 bare;
    __u32 version;
    char device[RPM_DEVICE_NAME];
};

/* Eight buckets for each doubling from 1 µs (2^10 ns) on: a quantile is within 6 % of the truth. */
#define RPM_SOJOURN_FIRST 10
#define RPM_SOJOURN_STEPS 8
#define RPM_SOJOURN_BUCKETS (24 * RPM_SOJOURN_STEPS)

/* One per CPU. */
struct rpm_stats {
    /* Through the queue. */
    __u64 packets;
    __u64 bytes;
    __u64 sojourn_sum_ns;
    /* The AQM's decisions, and what became of them: */
    __u64 signals;
    __u64 counted;
    __u64 saturated;
    __u64 marked_ce;
    __u64 dropped;
    /* neither marked nor dropped: not IP, CE already, SYN, RST, or not ECT under a step. */
    __u64 spared;
    /* Why a signal that was for a register went forward. */
    __u64 collisions;
    __u64 no_acks;
    __u64 accecn;
    __u64 strange;
    /* TCP that came back through the device. */
    __u64 returned;
    __u64 marked_ece;
    /* of these: ECE was set already. */
    __u64 already_ece;
    __u64 return_collisions;
    __u64 return_strange;
    /*
     * Times of signals that registers took, and of signals that left them, each summed: their difference, and the time now
     * for each that waits, is how long all have waited.
     */
    __u64 counted_at_ns;
    __u64 gone_at_ns;
    /* Registers. */
    __u64 aged;
    __u64 claimed;
    __u64 fallen;
    /* What should not happen. */
    __u64 too_long;
    __u64 unstamped;
    __u64 foreign;
    __u64 failed;
    __u64 sojourn[RPM_SOJOURN_BUCKETS];
};

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct rpm_config);
} rpm_config SEC(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct rpm_entrance);
} rpm_entrance SEC(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct rpm_port);
} rpm_port SEC(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct rpm_stats);
} rpm_stats SEC(".maps");

/* `midpathd rpm up --flows` sets how many. */
struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, 65536);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct rpm_register);
} rpm_registers SEC(".maps");

#define MAP_OF_ONE(function, type, map)                                                                                \
    static __always_inline type *function(void)                                                                        \
    {                                                                                                                  \
        __u32 zero = 0;                                                                                                \
        return bpf_map_lookup_elem(&map, &zero);                                                                       \
    }
MAP_OF_ONE(config_of, struct rpm_config, rpm_config)
MAP_OF_ONE(entrance_of, struct rpm_entrance, rpm_entrance)
MAP_OF_ONE(port_of, struct rpm_port, rpm_port)
MAP_OF_ONE(stats_of, struct rpm_stats, rpm_stats)

/* floor(log2(x)) for x > 0, without a loop. */
static __always_inline __u32 log2_floor(__u64 x)
{
    __u32 bits = 0;

    if (x >> 32) {
        bits += 32;
        x >>= 32;
    }
    if (x >> 16) {
        bits += 16;
        x >>= 16;
    }
    if (x >> 8) {
        bits += 8;
        x >>= 8;
    }
    if (x >> 4) {
        bits += 4;
        x >>= 4;
    }
    if (x >> 2) {
        bits += 2;
        x >>= 2;
    }
    return bits + (__u32)(x >> 1);
}

/* Linear within a doubling. The first bucket holds all below it, the last all above. */
static __always_inline __u64 sojourn_bucket(__u64 ns)
{
    __u64 log, bucket;

    if (ns >> RPM_SOJOURN_FIRST == 0)
        return 0;
    log = log2_floor(ns);
    bucket = (log - RPM_SOJOURN_FIRST) * RPM_SOJOURN_STEPS + (ns >> (log - 3)) - RPM_SOJOURN_STEPS;
    return bucket < RPM_SOJOURN_BUCKETS ? bucket : RPM_SOJOURN_BUCKETS - 1;
}

#endif
