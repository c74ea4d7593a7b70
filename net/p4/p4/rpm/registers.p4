/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarded registers, which are ours: a register has an owner, from the first packet that comes back for a flow until
 * `age` after the last one. They keep what algorithm 1 takes for granted.
 */
#ifndef MIDPATH_RPM_REGISTERS_P4
#define MIDPATH_RPM_REGISTERS_P4

#include "types.p4"

/* Whether the register has an owner at all. */
control Live(in register_t r, in params_t p, in time_t now, out bit<1> live) {
    apply {
        live = 0;
        if (r.tag != 0 && now - r.seen <= p.age) {
            live = 1;
        }
    }
}

/* Whether the flow's signals may wait for its ACKs: COUNTED, or why not. */
control Admit(inout register_t r, in params_t p, in bit<32> tag, in time_t now, out bit<8> answer) {
    Live() owned;
    bit<1> live;

    apply {
        owned.apply(r, p, now, live);
        answer = COUNTED;
        if (r.tag != tag) {
            answer = COLLISION;
            if (live == 0) {
                answer = NO_ACKS;
                r.tag = tag;
                r.seen = now;
                r.count = 0;
                r.flags = REGISTER_FALLEN;
            }
        } else if (r.flags & REGISTER_ACCECN != 0) {
            answer = ACCECN;
        } else if (r.flags & REGISTER_FALLEN != 0) {
            answer = NO_ACKS;
            r.seen = now;
        } else if (live == 0) {
            answer = NO_ACKS;
            r.seen = now;
            r.count = 0;
            r.flags = r.flags | REGISTER_FALLEN;
        }
    }
}

/* A SYN or SYN-ACK of the flow, in either direction: whether the connection does AccECN (RFC 9768, table 2). */
control Handshake(inout register_t r, in params_t p, in packet_t packet, in bit<1> inbound, in time_t now) {
    Live() owned;
    bit<1> live;
    bit<1> answers;
    bit<9> ace;
    bit<8> learnt;
    bit<8> kept;

    apply {
        owned.apply(r, p, now, live);
        ace = packet.flags & TCP_ACE;
        answers = 0;
        learnt = 0;
        kept = 0;
        if (packet.flags & TCP_ACK != 0) {
            answers = 1;
            if (ace == TCP_CWR || ace == (TCP_CWR | TCP_ECE) || ace == TCP_AE || ace == (TCP_AE | TCP_CWR)) {
                learnt = REGISTER_ACCECN;
            }
        } else if (ace == TCP_ACE) {
            learnt = REGISTER_ACCECN;
        }
        if (p.guarded == 1) {
            if (r.tag == packet.tag) {
                /* A new connection between the same ports: what waited was for the old one. */
                if (answers == 0) {
                    r.count = 0;
                }
                if (inbound == 1) {
                    r.seen = now;
                } else {
                    kept = r.flags & REGISTER_FALLEN;
                }
                r.flags = learnt | kept;
            } else if (live == 0 && (learnt != 0 || (answers == 1 && inbound == 1))) {
                /* A bare SYN costs its sender nothing, so it takes no register. */
                r.tag = packet.tag;
                r.seen = now;
                r.count = 0;
                r.flags = learnt;
            }
        }
    }
}

/*
 * A packet of the flow has come back, no SYN and no RST: the register is the flow's from now on. `understands`: its
 * sender takes ECE for what RFC 3168 says.
 */
control Refresh(inout register_t r, in params_t p, in packet_t packet, in time_t now, out bit<1> understands) {
    Live() owned;
    bit<1> live;
    bit<1> collision;

    apply {
        owned.apply(r, p, now, live);
        understands = 0;
        collision = 0;
        if (r.tag != packet.tag) {
            collision = live;
            if (live == 0) {
                r.tag = packet.tag;
                r.count = 0;
                r.flags = 0;
            }
        } else if (live == 0) {
            r.count = 0;
        }
        if (collision == 0) {
            r.seen = now;
            r.flags = r.flags & ~REGISTER_FALLEN;
            /* Only AccECN sets AE after the handshake. */
            if (packet.flags & TCP_AE != 0) {
                r.flags = r.flags | REGISTER_ACCECN;
            }
            if (r.flags & REGISTER_ACCECN == 0) {
                understands = 1;
            } else {
                r.count = 0;
            }
        }
    }
}

/* A signal for the one register that all flows of the port share: what nobody came for is forgotten first. */
control CountTogether(inout together_t all, in params_t p, in time_t now) {
    apply {
        if (p.guarded == 1 && all.count != 0 && now - all.seen > p.age) {
            all.count = 0;
        }
        if (all.count == 0) {
            all.seen = now;
        }
    }
}

#endif
