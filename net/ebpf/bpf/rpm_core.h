/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reverse Path congestion Marking, the algorithm: CoDel, and the registers of the paper's algorithm 1.
 *
 * Nothing in here knows the kernel. The BPF programs include this file, and so does the small program that tests build
 * for user space, so that both are held to the vectors in tests/vectors/rpm. Whoever includes it brings __u8 … __u64
 * and __s32.
 *
 * Times are nanoseconds, but for registers: these count ticks of 2^20 ns (1.05 ms) in 32 bits, good for 52 days.
 */
#ifndef MIDPATH_RPM_CORE_H
#define MIDPATH_RPM_CORE_H

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
/* In user space nobody else looks. */
#ifndef RPM_LOCK
struct bpf_spin_lock {
    __u32 free;
};
#define RPM_LOCK(lock)
#define RPM_UNLOCK(lock)
#endif

/* A 64-bit clock that started at boot does not reach the end of this type, so it stands for "not set" (RFC 8289, §5.5). */
#define RPM_UNSET 0ULL
#define RPM_TICK_SHIFT 20
/* Another CPU may have looked at its clock a moment later and yet have come first: so many ticks ahead are no age. */
#define RPM_SKEW_TICKS 16

enum rpm_aqm {
    /* Signals every packet that waited longer than `target`. */
    RPM_AQM_STEP = 0,
    /* RFC 8289. */
    RPM_AQM_CODEL = 1,
    /* CoDel as a P4 switch runs it: 32-bit time, no second look at the queue. */
    RPM_AQM_CODEL_DATAPLANE = 2,
};

enum rpm_mode {
    /* No signals: the shaper alone. */
    RPM_MODE_OFF = 0,
    /* CE in the data packet (the paper's CoDel-FWD). */
    RPM_MODE_FWD = 1,
    /* ECE in an ACK on its way back. */
    RPM_MODE_RPM = 2,
    /* Both. */
    RPM_MODE_BOTH = 3,
};

enum rpm_registers {
    /* A register belongs to one flow, from the first packet that comes back to `age` after the last one. Ours. */
    RPM_REGISTERS_GUARDED = 0,
    /* The paper's algorithm 1 to the letter: a counter at the place that the hash gives. */
    RPM_REGISTERS_PLAIN = 1,
};

struct rpm_params {
    /* CoDel's TARGET, or the step's threshold. */
    __u64 target_ns;
    /* CoDel's INTERVAL; below 2^31 ns. */
    __u64 interval_ns;
    /* RFC 8289's maxpacket: with no more than this left in the queue, CoDel is content. */
    __u64 mtu_bytes;
    /* Ticks after which a register without a packet on the way back has no owner any more. */
    __u32 age_ticks;
    /* A register counts up to this; below 2^16. */
    __u32 register_max;
    __u8 aqm;
    __u8 mode;
    __u8 registers;
    /* One register for all flows of the port (§III-C). */
    __u8 aggregate;
    /*
     * Guarded registers: a packet whose sequence or acknowledgement number is farther than this from the flow's last ACK
     * is taken for a stranger's; in MiB, below 2^11. 0: no packet is.
     */
    __u32 window_mib;
};

/* -- CoDel --------------------------------------------------------------------------------------------------------- */

/* RFC 8289's state, §5.1. */
struct rpm_codel {
    __u64 first_above_ns;
    __u64 drop_next_ns;
    __u32 count;
    __u32 last_count;
    __u32 dropping;
    /* A packet was dropped in the dropping state: the next drop is scheduled if the packet after it is as late. */
    __u32 dropped;
};

/* The data plane's state: three registers of 32 bits. */
struct rpm_dataplane {
    __u32 next_ns;
    __u32 count;
    __u32 above;
};

struct rpm_aqm_state {
    struct rpm_codel codel;
    struct rpm_dataplane dataplane;
    __u32 reserved;
};

/* Newton's step towards 1/sqrt(m): y (3 - m y^2) / 2. m has 30 fractional bits, y has 31. */
static __always_inline __u64 rpm_root_step(__u64 y, __u64 m)
{
    __u64 square = (y * y) >> 30;

    return (y * (((3ULL << 62) - square * m) >> 31)) >> 32;
}

/*
 * §5.3 `control_law`: interval / sqrt(count), within 2^-28 of it, rounded down.
 *
 * count = m * 4^k with 1 <= m < 4; four steps find y = 1/sqrt(m), from the chord (7 - m)/6 that is at most 18 % off,
 * without a loop that a verifier would have to follow.
 */
static __always_inline __u64 rpm_interval_by_sqrt(__u64 interval_ns, __u32 count)
{
    __u64 m = count, y;
    __u32 k = 0;

    if (count <= 1)
        return interval_ns;
    if (m >> 16) {
        k += 8;
        m >>= 16;
    }
    if (m >> 8) {
        k += 4;
        m >>= 8;
    }
    if (m >> 4) {
        k += 2;
        m >>= 4;
    }
    if (m >> 2)
        k += 1;
    m = ((__u64)count << 30) >> (2 * k);

    y = ((7ULL << 30) - m) / 3;
    y = rpm_root_step(rpm_root_step(y, m), m);
    y = rpm_root_step(rpm_root_step(y, m), m);
    return ((interval_ns * y) >> 31) >> k;
}

/* §5.5 `dodequeue`: whether the packet that waited `sojourn_ns` finds the delay too high for too long. */
static __always_inline int rpm_codel_ok_to_drop(struct rpm_codel *s, const struct rpm_params *p, __u64 now_ns,
                                                __u64 sojourn_ns, __u64 backlog_bytes)
{
    if (sojourn_ns < p->target_ns || backlog_bytes <= p->mtu_bytes) {
        s->first_above_ns = RPM_UNSET;
        return 0;
    }
    if (s->first_above_ns == RPM_UNSET) {
        s->first_above_ns = now_ns + p->interval_ns;
        return 0;
    }
    return now_ns >= s->first_above_ns;
}

/*
 * §5.6 `deque`, turned inside out: told of each packet that leaves the queue, says whether it is to be signalled.
 *
 * `marks`: the signal will be a mark. The RFC has no pseudo-code for marks; here, as in Linux, the next one is
 * scheduled at once. After a drop the RFC looks at the packet that leaves in its place, which is the next one told.
 */
static __always_inline int rpm_codel_signals(struct rpm_codel *s, const struct rpm_params *p, __u64 now_ns,
                                             __u64 sojourn_ns, __u64 backlog_bytes, int marks)
{
    int ok = rpm_codel_ok_to_drop(s, p, now_ns, sojourn_ns, backlog_bytes);
    __u32 delta;

    if (s->dropping) {
        s->dropping = ok;
        if (ok && s->dropped)
            s->drop_next_ns += rpm_interval_by_sqrt(p->interval_ns, s->count);
        s->dropped = 0;
        if (!ok || now_ns < s->drop_next_ns)
            return 0;
        s->count++;
        if (marks)
            s->drop_next_ns += rpm_interval_by_sqrt(p->interval_ns, s->count);
        else
            s->dropped = 1;
        return 1;
    }
    if (!ok)
        return 0;
    s->dropping = 1;
    /* "… assume that the drop rate that controlled the queue on the last cycle is a good starting point." */
    delta = s->count - s->last_count;
    s->count = 1;
    if ((__s32)delta > 1 && (now_ns < s->drop_next_ns || now_ns - s->drop_next_ns < 16 * p->interval_ns))
        s->count = delta;
    s->last_count = s->count;
    s->drop_next_ns = now_ns + rpm_interval_by_sqrt(p->interval_ns, s->count);
    return 1;
}

/*
 * CoDel on a P4 switch (the paper's [24]): the first violation sets the next mark one interval ahead; the first mark
 * raises count to 2, so that the next follows interval/sqrt(2) after the schedule, not after now; a packet below target
 * clears the state. Times are compared modulo 2^32 ns (4.29 s): `next` has come if it lies less than 2^31 ns back.
 */
static __always_inline int rpm_dataplane_signals(struct rpm_dataplane *s, const struct rpm_params *p, __u64 now_ns,
                                                 __u64 sojourn_ns)
{
    __u32 now = (__u32)now_ns;

    if (sojourn_ns < p->target_ns) {
        s->above = 0;
        s->count = 0;
        s->next_ns = 0;
        return 0;
    }
    if (!s->above) {
        s->above = 1;
        s->count = 1;
        s->next_ns = now + (__u32)p->interval_ns;
        return 0;
    }
    if ((__s32)(now - s->next_ns) < 0)
        return 0;
    s->count++;
    s->next_ns += (__u32)rpm_interval_by_sqrt(p->interval_ns, s->count);
    return 1;
}

/* Whether the packet that leaves the queue now is to be signalled. */
static __always_inline int rpm_aqm_signals(struct rpm_aqm_state *s, const struct rpm_params *p, __u64 now_ns,
                                           __u64 sojourn_ns, __u64 backlog_bytes, int marks)
{
    if (p->mode == RPM_MODE_OFF)
        return 0;
    if (p->aqm == RPM_AQM_CODEL)
        return rpm_codel_signals(&s->codel, p, now_ns, sojourn_ns, backlog_bytes, marks);
    if (p->aqm == RPM_AQM_CODEL_DATAPLANE)
        return rpm_dataplane_signals(&s->dataplane, p, now_ns, sojourn_ns);
    return sojourn_ns > p->target_ns;
}

/* -- Which way a signal goes ---------------------------------------------------------------------------------------- */

/* The ECN field of RFC 3168, §5. */
enum rpm_ecn { RPM_ECN_NOT_ECT = 0, RPM_ECN_ECT1 = 1, RPM_ECN_ECT0 = 2, RPM_ECN_CE = 3 };

/* TCP's flags, with AE (RFC 9768, once NS) as the ninth. */
enum rpm_flag {
    RPM_FIN = 0x001,
    RPM_SYN = 0x002,
    RPM_RST = 0x004,
    RPM_ACK = 0x010,
    RPM_ECE = 0x040,
    RPM_CWR = 0x080,
    RPM_AE = 0x100,
    RPM_ACE = RPM_AE | RPM_CWR | RPM_ECE,
};

struct rpm_packet {
    /* IPv4 or IPv6. */
    __u8 ip;
    __u8 ecn;
    /* TCP in one piece, with its whole header in sight. */
    __u8 tcp;
    __u8 reserved;
    __u16 flags;
    __u16 reserved2;
    /* Whose register it is; never 0. */
    __u32 tag;
    __u32 sequence;
    __u32 acknowledgement;
};

enum rpm_way {
    RPM_WAY_PASS = 0,
    RPM_WAY_DROP = 1,
    RPM_WAY_FORWARD = 2,
    RPM_WAY_REGISTER = 3,
};

/* Whether a signal to this packet is a mark, or none, but not a drop. */
static __always_inline int rpm_marks(const struct rpm_params *p, const struct rpm_packet *packet)
{
    return !packet->ip || packet->ecn != RPM_ECN_NOT_ECT || p->aqm == RPM_AQM_STEP;
}

/* Where a signal to this packet goes, as far as the packet alone says. */
static __always_inline enum rpm_way rpm_way_of(const struct rpm_params *p, const struct rpm_packet *packet)
{
    /* ARP and the like are left alone. A CE from another router is the signal already. */
    if (!packet->ip || packet->ecn == RPM_ECN_CE)
        return RPM_WAY_PASS;
    if (packet->ecn == RPM_ECN_NOT_ECT)
        return rpm_marks(p, packet) ? RPM_WAY_PASS : RPM_WAY_DROP;
    if (packet->tcp && (packet->flags & (RPM_SYN | RPM_RST)))
        return RPM_WAY_PASS;
    if (p->mode == RPM_MODE_FWD || !packet->tcp || (packet->flags & RPM_AE))
        return RPM_WAY_FORWARD;
    return RPM_WAY_REGISTER;
}

/* -- Registers ------------------------------------------------------------------------------------------------------ */

enum rpm_register_flag {
    /* The connection negotiated AccECN: ECE is part of a counter there. */
    RPM_REGISTER_ACCECN = 1,
    /* Nothing came back for this flow when it was to be signalled. */
    RPM_REGISTER_FALLEN = 2,
    /* With one register for all: the flow sends ECT packets, so its sender will understand ECE. */
    RPM_REGISTER_ECT = 4,
};
/*
 * The rest of `flags`: so many ACKs in a row have agreed on where the flow is, up to 3, and where that is: the upper 11 bits
 * of their acknowledgement numbers, 2 MiB each.
 */
#define RPM_AGREED_AT 3
#define RPM_MOST_AGREED 3
#define RPM_PLACE_AT 5
#define RPM_PLACES 0x800

struct rpm_register {
    struct bpf_spin_lock lock;
    /* The owner; 0: nobody. */
    __u32 tag;
    /* When a packet last came back; for a flow that fell back, when it was last to be signalled. */
    __u32 seen;
    /* Signals that wait for an ACK. */
    __u16 count;
    __u16 flags;
};

enum rpm_counted {
    /* The register has it. */
    RPM_COUNTED = 0,
    /* The register is full, and does not count the signal: as many as it holds are on their way. */
    RPM_SATURATED = 1,
    /* The rest is for forward marking. The register is another flow's. */
    RPM_COLLISION = 2,
    /* Nothing has come back for `age`. */
    RPM_NO_ACKS = 3,
    RPM_ACCECN = 4,
    /* The packet does not lie in the flow's window: somebody else may have sent it. */
    RPM_STRANGE = 5,
};

/* What happened to registers, for the statistics. */
struct rpm_events {
    /* Signals dropped because they waited longer than `age`, or longer than the queue that they were of. */
    __u32 aged;
    /* Flows that took a register. */
    __u32 claimed;
    /* Flows that fell back to forward marking. */
    __u32 fallen;
    /* A packet that came back belongs to a flow whose register is another's. */
    __u32 collision;
    /* A packet that came back does not lie in the flow's window. */
    __u32 strange;
};

static __always_inline __u32 rpm_ticks(__u64 now_ns)
{
    return (__u32)(now_ns >> RPM_TICK_SHIFT);
}

/* Whether more than so many ticks have passed since `seen`. */
static __always_inline int rpm_passed(__u32 seen, __u32 tick, __u32 ticks)
{
    return tick - seen + RPM_SKEW_TICKS > ticks + RPM_SKEW_TICKS;
}

static __always_inline int rpm_aged(const struct rpm_params *p, __u32 seen, __u32 tick)
{
    return rpm_passed(seen, tick, p->age_ticks);
}

static __always_inline int rpm_live(const struct rpm_register *r, const struct rpm_params *p, __u32 tick)
{
    return r->tag && !rpm_aged(p, r->seen, tick);
}

static __always_inline __u32 rpm_place_of(__u32 number)
{
    return number >> 21;
}

static __always_inline __u32 rpm_agreed(const struct rpm_register *r)
{
    return (r->flags >> RPM_AGREED_AT) & RPM_MOST_AGREED;
}

/* How many places a number is ahead of the flow, round the circle. */
static __always_inline __u32 rpm_ahead(const struct rpm_register *r, __u32 number)
{
    return (rpm_place_of(number) - (r->flags >> RPM_PLACE_AT)) & (RPM_PLACES - 1);
}

/*
 * Whether the packet does not lie in the flow's window, as far as that is known. Who does not see a flow's packets does not
 * know its numbers: of what he sends in its name, about 2 window / 2^12 MiB is taken for the flow's own.
 */
static __always_inline int rpm_is_strange(const struct rpm_register *r, const struct rpm_params *p, __u32 number)
{
    __u32 ahead = rpm_ahead(r, number), most = p->window_mib / 2;

    return p->window_mib && rpm_agreed(r) && ahead > most && RPM_PLACES - ahead > most;
}

/*
 * Whether the flow's window is known well enough to refuse what lies outside: three ACKs in a row have agreed on it, and one
 * has come in the last quarter of `age`. Else an ACK with other numbers tells where the flow is now, and a SYN begins a new
 * one. (A SYN-ACK alone proves nothing: somebody may have forged it while the right one is on its way.)
 */
static __always_inline int rpm_is_sure(const struct rpm_register *r, const struct rpm_params *p, __u32 tick)
{
    return p->window_mib && rpm_agreed(r) == RPM_MOST_AGREED && !(r->flags & RPM_REGISTER_FALLEN) &&
           !rpm_passed(r->seen, tick, p->age_ticks >> 2);
}

/*
 * Where the flow is, by a packet that has come back. What is known already follows by one place a packet, forth or back: so
 * strangers' ACKs that lie in the window by chance cannot lead it away from a flow that has some of its own.
 */
static __always_inline void rpm_learn(struct rpm_register *r, const struct rpm_params *p,
                                      const struct rpm_packet *packet)
{
    __u32 place = rpm_place_of(packet->acknowledgement), ahead = rpm_ahead(r, packet->acknowledgement);
    __u32 agreed = rpm_agreed(r);

    if (!(packet->flags & RPM_ACK))
        return;
    if (agreed && !rpm_is_strange(r, p, packet->acknowledgement)) {
        if (ahead)
            place = (r->flags >> RPM_PLACE_AT) + (ahead < RPM_PLACES / 2 ? 1 : -1);
        if (agreed < RPM_MOST_AGREED)
            agreed++;
    } else {
        agreed = 1;
    }
    r->flags &= (1 << RPM_AGREED_AT) - 1;
    r->flags |= agreed << RPM_AGREED_AT | place << RPM_PLACE_AT;
}

/* No ACK comes for the signals that wait. */
static __always_inline void rpm_forget(struct rpm_register *r, struct rpm_events *events)
{
    events->aged += r->count;
    r->count = 0;
}

static __always_inline void rpm_claim(struct rpm_register *r, __u32 tag, __u32 flags, __u32 tick,
                                      struct rpm_events *events)
{
    rpm_forget(r, events);
    events->claimed++;
    r->tag = tag;
    r->seen = tick;
    r->flags = flags;
}

static __always_inline enum rpm_counted rpm_add(__u16 *count, const struct rpm_params *p)
{
    if (*count >= p->register_max)
        return RPM_SATURATED;
    (*count)++;
    return RPM_COUNTED;
}

/* Whether one of the flow's registers may be used: its ACKs come back here, and ECE means ECE to it. */
static __always_inline enum rpm_counted rpm_admit(struct rpm_register *r, const struct rpm_params *p,
                                                  const struct rpm_packet *packet, __u32 tick,
                                                  struct rpm_events *events)
{
    int live = rpm_live(r, p, tick);

    if (r->tag != packet->tag) {
        if (live)
            return RPM_COLLISION;
        rpm_claim(r, packet->tag, RPM_REGISTER_FALLEN, tick, events);
        events->fallen++;
        return RPM_NO_ACKS;
    }
    if (r->flags & RPM_REGISTER_ACCECN)
        return RPM_ACCECN;
    if (r->flags & RPM_REGISTER_FALLEN) {
        r->seen = tick;
        return RPM_NO_ACKS;
    }
    if (live)
        return rpm_is_strange(r, p, packet->sequence) ? RPM_STRANGE : RPM_COUNTED;
    rpm_forget(r, events);
    events->fallen++;
    r->seen = tick;
    r->flags |= RPM_REGISTER_FALLEN;
    return RPM_NO_ACKS;
}

/* Algorithm 1, lines 2 to 5: a packet of the flow is to be signalled. */
static __always_inline enum rpm_counted rpm_count(struct rpm_register *r, const struct rpm_params *p,
                                                  const struct rpm_packet *packet, __u32 tick,
                                                  struct rpm_events *events)
{
    enum rpm_counted admitted;

    if (p->registers == RPM_REGISTERS_PLAIN)
        return rpm_add(&r->count, p);
    admitted = rpm_admit(r, p, packet, tick, events);
    return admitted == RPM_COUNTED ? rpm_add(&r->count, p) : admitted;
}

/*
 * Guarded registers: signals that wait are at most one and one for each 2 KiB that wait in the queue. While a rate falls more
 * packets are chosen than ACKs come back; what they left would slow the sender long after the queue is gone.
 */
#define RPM_QUEUED_SHIFT 11

static __always_inline void rpm_keep_queued(__u16 *count, __u64 behind_bytes, struct rpm_events *events)
{
    __u64 most = 1 + (behind_bytes >> RPM_QUEUED_SHIFT);

    if (*count <= most)
        return;
    events->aged += *count - (__u32)most;
    *count = (__u16)most;
}

/* One signal less, if there is one that waits. */
static __always_inline int rpm_take(__u16 *count)
{
    if (!*count)
        return 0;
    (*count)--;
    return 1;
}

/* RFC 9768, §3.1.1: a SYN that asks for AccECN. */
static __always_inline int rpm_asks_accecn(__u16 flags)
{
    return (flags & RPM_ACE) == RPM_ACE;
}

/* RFC 9768, table 2: the SYN-ACKs of a server that does AccECN: 010, 011, 100, 110. */
static __always_inline int rpm_grants_accecn(__u16 flags)
{
    __u16 ace = flags & RPM_ACE;

    return ace == RPM_CWR || ace == (RPM_CWR | RPM_ECE) || ace == RPM_AE || ace == (RPM_AE | RPM_CWR);
}

/* A SYN or SYN-ACK of the flow, in either direction: learns whether the connection does AccECN. */
static __always_inline void rpm_on_syn(struct rpm_register *r, const struct rpm_params *p,
                                       const struct rpm_packet *packet, int inbound, __u32 tick,
                                       struct rpm_events *events)
{
    __u16 flags = packet->flags;
    int answer = !!(flags & RPM_ACK);
    __u32 learnt = (answer ? rpm_grants_accecn(flags) : rpm_asks_accecn(flags)) ? RPM_REGISTER_ACCECN : 0;

    if (p->registers == RPM_REGISTERS_PLAIN)
        return;
    if (r->tag == packet->tag) {
        /* Nobody opens a connection again while ACKs of it come back; TCP takes no notice of such a SYN (RFC 5961, §4). */
        if (rpm_is_sure(r, p, tick))
            return;
        /* A new connection between the same ports: what waited was for the old one. */
        if (!answer)
            rpm_forget(r, events);
        r->flags = learnt | (inbound ? 0 : r->flags & RPM_REGISTER_FALLEN);
        if (inbound) {
            r->seen = tick;
            rpm_learn(r, p, packet);
        }
        return;
    }
    if (rpm_live(r, p, tick))
        return;
    /* A bare SYN costs its sender nothing, so it gets a register only where that matters. */
    if (!learnt && !(answer && inbound))
        return;
    rpm_claim(r, packet->tag, learnt, tick, events);
    if (inbound)
        rpm_learn(r, p, packet);
}

/*
 * A packet of the flow has come back, no SYN and no RST: the flow's register is its own from now on. Says whether a
 * sender would understand ECE in this packet.
 */
static __always_inline int rpm_refresh(struct rpm_register *r, const struct rpm_params *p,
                                       const struct rpm_packet *packet, __u32 tick, struct rpm_events *events)
{
    int live = rpm_live(r, p, tick);
    int strange = (packet->flags & RPM_ACK) && rpm_is_strange(r, p, packet->acknowledgement);

    if (r->tag != packet->tag) {
        if (live) {
            events->collision++;
            return 0;
        }
        rpm_claim(r, packet->tag, 0, tick, events);
    } else if (strange && rpm_is_sure(r, p, tick)) {
        events->strange++;
        return 0;
    } else if (!live || strange) {
        rpm_forget(r, events);
    }
    r->seen = tick;
    r->flags &= ~RPM_REGISTER_FALLEN;
    rpm_learn(r, p, packet);
    /* Only AccECN sets AE after the handshake. */
    if (packet->flags & RPM_AE)
        r->flags |= RPM_REGISTER_ACCECN;
    if (!(r->flags & RPM_REGISTER_ACCECN))
        return 1;
    rpm_forget(r, events);
    return 0;
}

/* Algorithm 1, lines 6 to 10: whether this packet, which came back and is no SYN or RST, is to carry ECE. */
static __always_inline int rpm_on_return(struct rpm_register *r, const struct rpm_params *p,
                                         const struct rpm_packet *packet, __u32 tick, __u64 behind_bytes,
                                         struct rpm_events *events)
{
    __u16 flags = packet->flags;

    if (p->registers == RPM_REGISTERS_PLAIN)
        return (flags & RPM_ACK) && !(flags & RPM_AE) && rpm_take(&r->count);
    if (!rpm_refresh(r, p, packet, tick, events) || !(flags & RPM_ACK))
        return 0;
    rpm_keep_queued(&r->count, behind_bytes, events);
    return rpm_take(&r->count);
}

/* -- A port --------------------------------------------------------------------------------------------------------- */

/* What a port keeps beside the flows' registers. */
struct rpm_port {
    struct bpf_spin_lock lock;
    /* The one register for all flows (§III-C), and when an ACK last took from it, or its first signal began to wait. */
    __u32 together_seen;
    __u16 together;
    __u16 reserved;
    __u32 reserved2;
    struct rpm_aqm_state aqm;
    /* For rpm_backlog: the last stamp that came out, the bytes with that stamp, and all that came out. */
    __u64 stamp_ns;
    __u64 stamp_bytes;
    __u64 left_bytes;
    /* Bytes that the last packet has left behind in the queue. */
    __u64 behind_bytes;
};

/* Where packets enter the queue: all bytes, and the last packet. */
struct rpm_entrance {
    __u64 bytes;
    __u64 last_ns;
    __u64 last_bytes;
};

/*
 * Bytes in the queue behind the packet that leaves it, RFC 8289's bytes(), where nobody can ask the queue. What the queue
 * refused is counted as waiting, until the packet with the last stamp has come out: then it is known that none waits.
 */
static __always_inline __u64 rpm_backlog(struct rpm_port *port, const struct rpm_entrance *entrance, __u64 stamp_ns,
                                         __u64 bytes)
{
    __u64 entered = entrance->bytes, last_ns = entrance->last_ns, last_bytes = entrance->last_bytes, behind;

    RPM_LOCK(&port->lock);
    if (port->stamp_ns != stamp_ns) {
        port->stamp_ns = stamp_ns;
        port->stamp_bytes = 0;
    }
    /* What was one packet when it was stamped may have been cut since. */
    port->stamp_bytes += bytes;
    port->left_bytes += bytes;
    if (stamp_ns == last_ns && port->stamp_bytes >= last_bytes)
        port->left_bytes = entered;
    behind = port->left_bytes < entered ? entered - port->left_bytes : 0;
    RPM_UNLOCK(&port->lock);
    return behind;
}

/* The port's register has no owner to lose; it only forgets signals that nobody came for. */
static __always_inline enum rpm_counted rpm_port_count(struct rpm_port *port, const struct rpm_params *p, __u32 tick,
                                                       struct rpm_events *events)
{
    if (p->registers == RPM_REGISTERS_GUARDED && port->together && rpm_aged(p, port->together_seen, tick)) {
        events->aged += port->together;
        port->together = 0;
    }
    if (!port->together)
        port->together_seen = tick;
    return rpm_add(&port->together, p);
}

/* An ACK whose sender will read ECE as a signal has come back. */
static __always_inline int rpm_port_take(struct rpm_port *port, const struct rpm_params *p, __u32 tick,
                                         struct rpm_events *events)
{
    port->together_seen = tick;
    if (p->registers == RPM_REGISTERS_GUARDED)
        rpm_keep_queued(&port->together, port->behind_bytes, events);
    return rpm_take(&port->together);
}

/* The AQM's word on a packet that leaves the queue, and the way of its signal. */
static __always_inline enum rpm_way rpm_outbound(struct rpm_port *port, const struct rpm_params *p,
                                                 const struct rpm_packet *packet, __u64 now_ns, __u64 sojourn_ns,
                                                 __u64 backlog_bytes, int *signalled)
{
    int marks = rpm_marks(p, packet);

    RPM_LOCK(&port->lock);
    port->behind_bytes = backlog_bytes;
    *signalled = rpm_aqm_signals(&port->aqm, p, now_ns, sojourn_ns, backlog_bytes, marks);
    RPM_UNLOCK(&port->lock);
    return *signalled ? rpm_way_of(p, packet) : RPM_WAY_PASS;
}

static __always_inline int rpm_uses_registers(const struct rpm_params *p)
{
    return p->mode == RPM_MODE_RPM || p->mode == RPM_MODE_BOTH;
}

static __always_inline int rpm_is_syn(const struct rpm_packet *packet)
{
    return packet->flags & RPM_SYN;
}

/* Whether the flow's register has to be looked at for this packet that leaves. */
static __always_inline int rpm_outbound_looks(const struct rpm_params *p, const struct rpm_packet *packet,
                                              enum rpm_way way)
{
    if (!packet->tcp || !rpm_uses_registers(p))
        return 0;
    return rpm_is_syn(packet) || way == RPM_WAY_REGISTER || (p->aggregate && packet->ecn != RPM_ECN_NOT_ECT);
}

/* A packet that leaves, at its flow's register: says what becomes of the packet, and into `counted` of its signal. */
static __always_inline enum rpm_way rpm_outbound_register(struct rpm_port *port, struct rpm_register *r,
                                                          const struct rpm_params *p, const struct rpm_packet *packet,
                                                          enum rpm_way way, __u64 now_ns, enum rpm_counted *counted,
                                                          struct rpm_events *events)
{
    __u32 tick = rpm_ticks(now_ns);

    RPM_LOCK(&r->lock);
    if (rpm_is_syn(packet))
        rpm_on_syn(r, p, packet, 0, tick, events);
    else if (p->aggregate && packet->ecn != RPM_ECN_NOT_ECT && r->tag == packet->tag)
        r->flags |= RPM_REGISTER_ECT;
    if (way == RPM_WAY_REGISTER) {
        if (!p->aggregate)
            *counted = rpm_count(r, p, packet, tick, events);
        else if (p->registers == RPM_REGISTERS_PLAIN)
            *counted = RPM_COUNTED;
        else
            *counted = rpm_admit(r, p, packet, tick, events);
    }
    RPM_UNLOCK(&r->lock);
    if (way != RPM_WAY_REGISTER)
        return way;

    if (p->aggregate && *counted == RPM_COUNTED) {
        RPM_LOCK(&port->lock);
        *counted = rpm_port_count(port, p, tick, events);
        RPM_UNLOCK(&port->lock);
    }
    if (*counted == RPM_COUNTED || *counted == RPM_SATURATED)
        return p->mode == RPM_MODE_BOTH ? RPM_WAY_FORWARD : RPM_WAY_PASS;
    return RPM_WAY_FORWARD;
}

/* A TCP packet that came in through the port: whether it is to carry ECE. */
static __always_inline int rpm_inbound(struct rpm_port *port, struct rpm_register *r, const struct rpm_params *p,
                                       const struct rpm_packet *packet, __u64 now_ns, struct rpm_events *events)
{
    __u32 tick = rpm_ticks(now_ns);
    int understands, ece = 0;

    if (packet->flags & RPM_RST)
        return 0;
    RPM_LOCK(&r->lock);
    if (rpm_is_syn(packet)) {
        rpm_on_syn(r, p, packet, 1, tick, events);
        understands = 0;
    } else if (!p->aggregate) {
        ece = rpm_on_return(r, p, packet, tick, port->behind_bytes, events);
        understands = 0;
    } else if (p->registers == RPM_REGISTERS_PLAIN) {
        understands = !(packet->flags & RPM_AE);
    } else {
        understands = rpm_refresh(r, p, packet, tick, events) && (r->flags & RPM_REGISTER_ECT);
    }
    RPM_UNLOCK(&r->lock);

    if (understands && (packet->flags & RPM_ACK)) {
        RPM_LOCK(&port->lock);
        ece = rpm_port_take(port, p, tick, events);
        RPM_UNLOCK(&port->lock);
    }
    return ece;
}

#endif
