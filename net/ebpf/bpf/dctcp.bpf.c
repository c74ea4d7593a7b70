/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * DCTCP (RFC 8257) as a congestion control of the kernel's TCP, for kernels that were built without one. It is for the
 * laboratory (`midpath lab rpm`): a host that is to use DCTCP should have the kernel's own.
 */
#include "kernel.h"

/* What it needs of the kernel's structures; their places are looked up when it is loaded. */
#define KERNEL_STRUCT __attribute__((preserve_access_index))

/* A type that is only announced is no match for the kernel's. */
struct sock {
};

struct inet_connection_sock {
    struct {
        __u8 pending;
    } KERNEL_STRUCT icsk_ack;
    __u64 icsk_ca_priv[13];
} KERNEL_STRUCT;

struct tcp_sock {
    struct inet_connection_sock inet_conn;
    __u32 rcv_nxt;
    __u32 snd_una;
    __u32 snd_nxt;
    __u32 snd_cwnd;
    __u32 snd_ssthresh;
    __u32 delivered;
    __u32 delivered_ce;
    __u8 ecn_flags;
} KERNEL_STRUCT;

struct tcp_congestion_ops {
    __u32 (*ssthresh)(struct sock *sk);
    void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
    void (*set_state)(struct sock *sk, __u8 new_state);
    void (*cwnd_event)(struct sock *sk, int event);
    void (*in_ack_event)(struct sock *sk, __u32 flags);
    __u32 (*undo_cwnd)(struct sock *sk);
    void (*init)(struct sock *sk);
    __u32 flags;
    char name[16];
};

/* From the kernel's types, where they are numbers that no user-space header has. */
enum { CA_RECOVERY = 3 };
enum { EVENT_LOSS = 3, EVENT_ECN_NO_CE = 4, EVENT_ECN_IS_CE = 5 };
enum { ACK_TIMER = 2, ACK_NOW = 16 };
enum { ECN_DEMAND_CWR = 4 };
enum { NEEDS_ECN = 2 };

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __attribute__((section(".ksyms")));
static long (*bpf_tcp_send_ack)(void *tp, __u32 rcv_nxt) = (void *)BPF_FUNC_tcp_send_ack;

/* §4.2: g = 1/16; alpha with ten fractional bits, 1 at first. */
#define G_SHIFT 4
#define ALPHA_BITS 10
#define ALPHA_ONE (1U << ALPHA_BITS)

struct dctcp {
    __u32 alpha;
    /* The window of data over which alpha is taken ends here (§3.3, step 2: WindowEnd). */
    __u32 window_end;
    __u32 delivered;
    __u32 delivered_ce;
    /* Before the last reduction, in case it turns out to be undue. */
    __u32 cwnd_before;
    /* The receiver's: §3.2, DCTCP.CE, and what was acknowledged when it last changed. */
    __u32 ce;
    __u32 rcv_nxt;
};

static __always_inline struct dctcp *state_of(struct tcp_sock *tp)
{
    return (struct dctcp *)tp->inet_conn.icsk_ca_priv;
}

static __always_inline __u32 larger(__u32 a, __u32 b)
{
    return a > b ? a : b;
}

static __always_inline void begin_window(struct tcp_sock *tp, struct dctcp *ca)
{
    ca->window_end = tp->snd_nxt;
    ca->delivered = tp->delivered;
    ca->delivered_ce = tp->delivered_ce;
}

SEC("struct_ops/dctcp_init")
void dctcp_init(__u64 *arguments)
{
    struct tcp_sock *tp = (void *)arguments[0];
    struct dctcp *ca = state_of(tp);

    ca->alpha = ALPHA_ONE;
    ca->ce = 0;
    ca->cwnd_before = 0;
    ca->rcv_nxt = tp->rcv_nxt;
    begin_window(tp, ca);
}

/* §3.3: once a window, alpha = (1 - g) alpha + g M, M being the share of what was acknowledged with ECE. */
SEC("struct_ops/dctcp_in_ack_event")
void dctcp_in_ack_event(__u64 *arguments)
{
    struct tcp_sock *tp = (void *)arguments[0];
    struct dctcp *ca = state_of(tp);
    __u32 marked, all, alpha = ca->alpha, decay;

    if ((__s32)(tp->snd_una - ca->window_end) < 0)
        return;
    marked = tp->delivered_ce - ca->delivered_ce;
    all = larger(tp->delivered - ca->delivered, 1);
    /* What is too small to shift goes at once: alpha could never become 0 else. */
    decay = alpha >> G_SHIFT;
    alpha -= decay ? decay : alpha;
    alpha += (__u32)(((__u64)marked << (ALPHA_BITS - G_SHIFT)) / all);
    ca->alpha = alpha < ALPHA_ONE ? alpha : ALPHA_ONE;
    begin_window(tp, ca);
}

/* §3.3, step 9: cwnd (1 - alpha/2). */
SEC("struct_ops/dctcp_ssthresh")
__u32 dctcp_ssthresh(__u64 *arguments)
{
    struct tcp_sock *tp = (void *)arguments[0];
    struct dctcp *ca = state_of(tp);
    __u64 cut = ((__u64)tp->snd_cwnd * ca->alpha) >> (ALPHA_BITS + 1);

    ca->cwnd_before = tp->snd_cwnd;
    return larger(tp->snd_cwnd - (__u32)cut, 2);
}

SEC("struct_ops/dctcp_cong_avoid")
void dctcp_cong_avoid(__u64 *arguments)
{
    tcp_reno_cong_avoid((void *)arguments[0], (__u32)arguments[1], (__u32)arguments[2]);
}

SEC("struct_ops/dctcp_undo_cwnd")
__u32 dctcp_undo_cwnd(__u64 *arguments)
{
    struct tcp_sock *tp = (void *)arguments[0];

    return larger(tp->snd_cwnd, state_of(tp)->cwnd_before);
}

/* §3.5: loss is answered as by any TCP. */
static __always_inline void halve(struct tcp_sock *tp)
{
    state_of(tp)->cwnd_before = tp->snd_cwnd;
    tp->snd_ssthresh = larger(tp->snd_cwnd >> 1, 2);
}

SEC("struct_ops/dctcp_set_state")
void dctcp_set_state(__u64 *arguments)
{
    if ((__u8)arguments[1] == CA_RECOVERY)
        halve((void *)arguments[0]);
}

/* §3.2: the receiver's ECE says whether what it acknowledges was marked; a change is acknowledged at once. */
static __always_inline void echo(struct tcp_sock *tp, __u32 ce)
{
    if (ce)
        tp->ecn_flags |= ECN_DEMAND_CWR;
    else
        tp->ecn_flags &= ~ECN_DEMAND_CWR;
}

static __always_inline void on_mark(struct tcp_sock *tp, __u32 ce)
{
    struct dctcp *ca = state_of(tp);

    if (ca->ce != ce) {
        if (tp->inet_conn.icsk_ack.pending & ACK_TIMER) {
            /* An ACK was delayed: it is for what came before. */
            echo(tp, ca->ce);
            bpf_tcp_send_ack(tp, ca->rcv_nxt);
        }
        tp->inet_conn.icsk_ack.pending |= ACK_NOW;
    }
    ca->ce = ce;
    ca->rcv_nxt = tp->rcv_nxt;
    echo(tp, ce);
}

SEC("struct_ops/dctcp_cwnd_event")
void dctcp_cwnd_event(__u64 *arguments)
{
    struct tcp_sock *tp = (void *)arguments[0];
    int event = (int)arguments[1];

    if (event == EVENT_ECN_IS_CE)
        on_mark(tp, 1);
    else if (event == EVENT_ECN_NO_CE)
        on_mark(tp, 0);
    else if (event == EVENT_LOSS)
        halve(tp);
}

SEC(".struct_ops")
struct tcp_congestion_ops midpath_dctcp = {
    .init = (void *)dctcp_init,
    .in_ack_event = (void *)dctcp_in_ack_event,
    .ssthresh = (void *)dctcp_ssthresh,
    .cong_avoid = (void *)dctcp_cong_avoid,
    .undo_cwnd = (void *)dctcp_undo_cwnd,
    .set_state = (void *)dctcp_set_state,
    .cwnd_event = (void *)dctcp_cwnd_event,
    .flags = NEEDS_ECN,
    .name = "midpath_dctcp",
};

/* The kernel takes a congestion control under a licence like its own only. */
char dctcp_license[] SEC("license") = "GPL and additional rights";
