/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controls of RPM take and give. No architecture is known here: a shell reads registers into these
 * structures, applies a control, and writes them back.
 */
#ifndef MIDPATH_RPM_TYPES_P4
#define MIDPATH_RPM_TYPES_P4

/* Nanoseconds, modulo 2^48 (3.2 days). */
typedef bit<48> time_t;

/* Which packets are chosen: a threshold, CoDel of RFC 8289, CoDel as a switch runs it (the paper's). */
const bit<8> AQM_STEP = 0;
const bit<8> AQM_CODEL = 1;
const bit<8> AQM_CODEL_DATAPLANE = 2;

/* What a chosen packet gets: nothing; CE (the paper's CoDel-FWD); an ACK of its flow gets ECE (RPM); both. */
const bit<8> MODE_OFF = 0;
const bit<8> MODE_FWD = 1;
const bit<8> MODE_RPM = 2;
const bit<8> MODE_BOTH = 3;

struct params_t {
    /* CoDel's TARGET, or the step's threshold. */
    time_t target;
    /* CoDel's INTERVAL, below 2^31 ns. */
    time_t interval;
    /* RFC 8289's maxpacket, bytes. */
    bit<32> mtu;
    /* Guarded registers: without a packet on the way back for so long, a register has no owner. */
    time_t age;
    /* A register counts up to this. */
    bit<16> register_max;
    bit<8> aqm;
    bit<8> mode;
    /* 1: a register belongs to one flow (ours); 0: algorithm 1 to the letter. */
    bit<8> guarded;
    /* 1: one register for all flows of the port (section III-C). */
    bit<8> aggregate;
}

/* The ECN field (RFC 3168). */
const bit<2> ECN_NOT_ECT = 0;
const bit<2> ECN_CE = 3;

/* TCP's flags, with AE (RFC 9768) as the ninth. */
const bit<9> TCP_SYN = 0x002;
const bit<9> TCP_RST = 0x004;
const bit<9> TCP_ACK = 0x010;
const bit<9> TCP_ECE = 0x040;
const bit<9> TCP_CWR = 0x080;
const bit<9> TCP_AE = 0x100;
const bit<9> TCP_ACE = 0x1c0;

struct packet_t {
    /* IPv4 or IPv6. */
    bit<1> ip;
    /* TCP in one piece, with its header in sight. */
    bit<1> tcp;
    bit<2> ecn;
    bit<9> flags;
    /* Who owns the flow's register; never 0. */
    bit<32> tag;
}

/* RFC 8289, section 5.1. */
struct codel_t {
    time_t first_above;
    time_t drop_next;
    bit<32> count;
    bit<32> last_count;
    bit<8> dropping;
    /* A packet was dropped: the next drop is scheduled if the packet after it is as late. */
    bit<8> dropped;
}

/* CoDel on a switch: three registers of 32 bits. */
struct dataplane_t {
    bit<32> next;
    bit<32> count;
    bit<32> above;
}

const bit<8> REGISTER_ACCECN = 1;
const bit<8> REGISTER_FALLEN = 2;
const bit<8> REGISTER_ECT = 4;

/* R_C[pos] of algorithm 1 is `count`; the rest is for guarded registers. */
struct register_t {
    bit<16> count;
    bit<32> tag;
    time_t seen;
    bit<8> flags;
}

/* The one register for all flows of a port. */
struct together_t {
    bit<16> count;
    time_t seen;
}

/* What a register said of a signal. */
const bit<8> NOT_ASKED = 255;
const bit<8> COUNTED = 0;
const bit<8> SATURATED = 1;
const bit<8> COLLISION = 2;
const bit<8> NO_ACKS = 3;
const bit<8> ACCECN = 4;

/* What becomes of a packet. */
const bit<8> PASS = 0;
const bit<8> DROP = 1;
const bit<8> MARK = 2;

#endif
