/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a packet that leaves, and of one that comes back: what stands around algorithm 1. */
#ifndef MIDPATH_RPM_SIGNAL_P4
#define MIDPATH_RPM_SIGNAL_P4

#include "types.p4"
#include "algorithm1.p4"
#include "registers.p4"

/* A chosen packet's signal goes to its flow's register. */
const bit<8> TO_REGISTER = 3;

/* Where the signal of a chosen packet goes, as far as the packet alone says. */
control Way(in params_t p, in packet_t packet, out bit<8> way) {
    apply {
        way = TO_REGISTER;
        if (packet.ip == 0 || packet.ecn == ECN_CE) {
            /* A CE from another switch is the signal already. */
            way = PASS;
        } else if (packet.ecn == ECN_NOT_ECT) {
            way = DROP;
            if (p.aqm == AQM_STEP) {
                way = PASS;
            }
        } else if (packet.tcp == 1 && packet.flags & (TCP_SYN | TCP_RST) != 0) {
            way = PASS;
        } else if (p.mode == MODE_FWD || packet.tcp == 0 || packet.flags & TCP_AE != 0) {
            /* CoDel-FWD. */
            way = MARK;
        }
    }
}

/* A packet leaves the queue. `counted`: what the register said, or NOT_ASKED. */
control Outbound(inout register_t r, inout together_t all, in params_t p, in packet_t packet, in bit<1> chosen,
                 in time_t now, out bit<8> verdict, out bit<8> counted) {
    Way() way_of;
    Handshake() handshake;
    Admit() admit;
    CountTogether() forget;
    Congested() congested;
    Congested() congested_together;

    apply {
        verdict = PASS;
        counted = NOT_ASKED;
        if (chosen == 1) {
            way_of.apply(p, packet, verdict);
        }
        if (packet.tcp == 1 && (p.mode == MODE_RPM || p.mode == MODE_BOTH)) {
            if (packet.flags & TCP_SYN != 0) {
                handshake.apply(r, p, packet, 0, now);
            } else if (p.aggregate == 1 && packet.ecn != ECN_NOT_ECT && r.tag == packet.tag) {
                r.flags = r.flags | REGISTER_ECT;
            }
        }
        if (verdict == TO_REGISTER) {
            counted = COUNTED;
            if (p.guarded == 1) {
                admit.apply(r, p, packet.tag, now, counted);
            }
            if (counted == COUNTED) {
                if (p.aggregate == 1) {
                    forget.apply(all, p, now);
                    congested_together.apply(all.count, p.register_max, counted);
                } else {
                    congested.apply(r.count, p.register_max, counted);
                }
            }
            verdict = MARK;
            if (p.mode == MODE_RPM && (counted == COUNTED || counted == SATURATED)) {
                verdict = PASS;
            }
        }
    }
}

/*
 * Ours, guarded registers: signals that wait are at most one and one for each 2 KiB that the last packet has left behind in
 * the queue.
 */
#define MOST_QUEUED(p, behind) ((p).guarded == 1 ? 1 + ((behind) >> 11) : 0xffff)

/* A TCP packet comes in: whether it is to leave with ECE. */
control Inbound(inout register_t r, inout together_t all, in params_t p, in packet_t packet, in time_t now,
                in bit<32> behind, out bit<1> ece) {
    Handshake() handshake;
    Refresh() refresh;
    Acknowledged() acknowledged;
    Acknowledged() acknowledged_together;
    bit<1> understands;

    apply {
        ece = 0;
        understands = 0;
        if (packet.tcp == 1 && (p.mode == MODE_RPM || p.mode == MODE_BOTH) && packet.flags & TCP_RST == 0) {
            if (packet.flags & TCP_SYN != 0) {
                handshake.apply(r, p, packet, 1, now);
            } else if (p.guarded == 1) {
                refresh.apply(r, p, packet, now, understands);
                if (p.aggregate == 1 && r.flags & REGISTER_ECT == 0) {
                    understands = 0;
                }
            } else if (packet.flags & TCP_AE == 0) {
                understands = 1;
            }
            if (understands == 1 && packet.flags & TCP_ACK != 0) {
                if (p.aggregate == 1) {
                    all.seen = now;
                    acknowledged_together.apply(all.count, MOST_QUEUED(p, behind), ece);
                } else {
                    acknowledged.apply(r.count, MOST_QUEUED(p, behind), ece);
                }
            }
        }
    }
}

#endif
