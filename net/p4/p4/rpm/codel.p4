/* SPDX-License-Identifier: Apache-2.0 */
/* Algorithm 1, line 1: which packets are chosen. */
#ifndef MIDPATH_RPM_CODEL_P4
#define MIDPATH_RPM_CODEL_P4

#include "types.p4"

/*
 * RFC 8289, section 5.3 control_law: interval / sqrt(count), within 2^-28 of it.
 *
 * count = m * 4^k with 1 <= m < 4. Four steps find y = 1/sqrt(m), from the chord (7 - m)/6.
 */
control ControlLaw(in time_t interval, in bit<32> count, out time_t gap) {
    bit<64> m;
    bit<64> y;
    bit<8> k;

    /* Newton's step: y (3 - m y^2) / 2. m has 30 fractional bits, y has 31. */
    action step() {
        y = (y * ((0xC000000000000000 - ((y * y) >> 30) * m) >> 31)) >> 32;
    }

    apply {
        gap = interval;
        if (count > 1) {
            m = (bit<64>)count;
            k = 0;
            if (m >> 16 != 0) {
                k = 8;
                m = m >> 16;
            }
            if (m >> 8 != 0) {
                k = k + 4;
                m = m >> 8;
            }
            if (m >> 4 != 0) {
                k = k + 2;
                m = m >> 4;
            }
            if (m >> 2 != 0) {
                k = k + 1;
            }
            m = ((bit<64>)count << 30) >> (k << 1);
            /* A third, by its reciprocal: a chord needs no more. */
            y = ((0x1C0000000 - m) * 0x55555555) >> 32;
            step();
            step();
            step();
            step();
            gap = (time_t)((((bit<64>)interval * y) >> 31) >> k);
        }
    }
}

/* Whether `due` has come: it lies less than 2^47 ns back. */
#define HAS_COME(now, due) (((now) - (due))[47:47] == 0)

/*
 * RFC 8289, section 5: told of each packet that leaves the queue, says whether it is chosen. `marks`: it will not be
 * dropped. After a drop the RFC looks at the packet that leaves in its place, which is the next one told.
 */
control Codel(inout codel_t s, in params_t p, in time_t now, in time_t sojourn, in bit<32> behind, in bit<1> marks,
              out bit<1> chosen) {
    ControlLaw() after_drop;
    ControlLaw() law;
    bit<1> ok;
    bit<1> schedule;
    time_t base;
    time_t gap;
    bit<32> delta;

    apply {
        chosen = 0;
        ok = 0;
        schedule = 0;
        base = s.drop_next;

        /* 5.5 dodequeue */
        if (sojourn < p.target || behind <= p.mtu) {
            s.first_above = 0;
        } else if (s.first_above == 0) {
            s.first_above = now + p.interval;
        } else if (HAS_COME(now, s.first_above)) {
            ok = 1;
        }

        /* 5.6 deque */
        if (s.dropping == 1) {
            s.dropping = (bit<8>)ok;
            if (ok == 1 && s.dropped == 1) {
                after_drop.apply(p.interval, s.count, gap);
                s.drop_next = s.drop_next + gap;
            }
            s.dropped = 0;
            if (ok == 1 && HAS_COME(now, s.drop_next)) {
                chosen = 1;
                s.count = s.count + 1;
                schedule = marks;
                s.dropped = 1 - (bit<8>)marks;
                base = s.drop_next;
            }
        } else if (ok == 1) {
            chosen = 1;
            schedule = 1;
            base = now;
            s.dropping = 1;
            /* "assume that the drop rate that controlled the queue on the last cycle is a good starting point" */
            delta = s.count - s.last_count;
            s.count = 1;
            if (delta > 1 && delta[31:31] == 0
                && (!HAS_COME(now, s.drop_next) || now - s.drop_next < (p.interval << 4))) {
                s.count = delta;
            }
            s.last_count = s.count;
        }
        if (schedule == 1) {
            law.apply(p.interval, s.count, gap);
            s.drop_next = base + gap;
        }
    }
}

/*
 * CoDel on a P4 switch (the paper's [24]): the first packet at or above target sets the next mark one interval ahead;
 * the first mark raises the count to 2, and each is scheduled after the schedule. A packet below target clears the
 * state. Times are compared modulo 2^32 ns.
 */
control CodelDataPlane(inout dataplane_t s, in params_t p, in time_t now, in time_t sojourn, out bit<1> chosen) {
    ControlLaw() law;
    bit<32> clock;
    time_t gap;

    apply {
        chosen = 0;
        clock = (bit<32>)now;
        if (sojourn < p.target) {
            s.above = 0;
            s.count = 0;
            s.next = 0;
        } else if (s.above == 0) {
            s.above = 1;
            s.count = 1;
            s.next = clock + (bit<32>)p.interval;
        } else if ((clock - s.next)[31:31] == 0) {
            chosen = 1;
            s.count = s.count + 1;
            law.apply(p.interval, s.count, gap);
            s.next = s.next + (bit<32>)gap;
        }
    }
}

/* The port's AQM: whether the packet that leaves the queue now is chosen. */
control Aqm(inout codel_t codel, inout dataplane_t dataplane, in params_t p, in packet_t packet, in time_t now,
            in time_t sojourn, in bit<32> behind, out bit<1> chosen) {
    Codel() rfc8289;
    CodelDataPlane() data_plane;
    bit<1> marks;

    apply {
        chosen = 0;
        marks = 1;
        if (packet.ip == 1 && packet.ecn == ECN_NOT_ECT) {
            marks = 0;
        }
        if (p.mode != MODE_OFF) {
            if (p.aqm == AQM_CODEL) {
                rfc8289.apply(codel, p, now, sojourn, behind, marks, chosen);
            } else if (p.aqm == AQM_CODEL_DATAPLANE) {
                data_plane.apply(dataplane, p, now, sojourn, chosen);
            } else if (sojourn > p.target) {
                chosen = 1;
            }
        }
    }
}

#endif
