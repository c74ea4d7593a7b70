/* SPDX-License-Identifier: Apache-2.0 */
/* What of RPM needs v1model: the registers of a switch, and h() of algorithm 1. */
#ifndef MIDPATH_RPM_V1MODEL_STATE_P4
#define MIDPATH_RPM_V1MODEL_STATE_P4

#include <v1model.p4>
#include "packet.p4"
#include "codel.p4"
#include "signal.p4"

#define REGISTERS 65536
#define PORTS 512

/* R_C, and what guarded registers keep beside it. All ports share them. */
register<bit<16>>(REGISTERS) r_count;
register<bit<32>>(REGISTERS) r_tag;
register<time_t>(REGISTERS) r_seen;
register<bit<8>>(REGISTERS) r_flags;

/* A port's. */
register<bit<16>>(PORTS) together_count;
register<time_t>(PORTS) together_seen;
register<time_t>(PORTS) codel_first_above;
register<time_t>(PORTS) codel_drop_next;
register<bit<32>>(PORTS) codel_count;
register<bit<32>>(PORTS) codel_last_count;
register<bit<8>>(PORTS) codel_dropping;
register<bit<8>>(PORTS) codel_dropped;
register<bit<32>>(PORTS) dataplane_next;
register<bit<32>>(PORTS) dataplane_count;
register<bit<32>>(PORTS) dataplane_above;
/* Bytes that the last packet has left behind in the queue. */
register<bit<32>>(PORTS) queue_behind;

/*
 * Algorithm 1, lines 3 and 6: pos <- h(5-tuple). For what comes back the ends are swapped, so an ACK finds the register
 * of its data. CRC-16 says where; CRC-32 of the same says who, for guarded registers.
 */
control Hash(in ip_t ip, in bit<1> swapped, out bit<32> pos, out bit<32> tag) {
    bit<32> source4;
    bit<32> destination4;
    bit<128> source6;
    bit<128> destination6;
    bit<16> source_port;
    bit<16> destination_port;

    apply {
        pos = 0;
        tag = 0;
        if (ip.tcp.isValid()) {
            source_port = ip.tcp.source;
            destination_port = ip.tcp.destination;
            if (swapped == 1) {
                source_port = ip.tcp.destination;
                destination_port = ip.tcp.source;
            }
            if (ip.v4.isValid()) {
                source4 = ip.v4.source;
                destination4 = ip.v4.destination;
                if (swapped == 1) {
                    source4 = ip.v4.destination;
                    destination4 = ip.v4.source;
                }
                hash(pos, HashAlgorithm.crc16, 32w0,
                     {source4, destination4, ip.v4.protocol, source_port, destination_port}, (bit<32>)REGISTERS);
                hash(tag, HashAlgorithm.crc32, 32w0,
                     {source4, destination4, ip.v4.protocol, source_port, destination_port}, 33w0x100000000);
            } else {
                source6 = ip.v6.source;
                destination6 = ip.v6.destination;
                if (swapped == 1) {
                    source6 = ip.v6.destination;
                    destination6 = ip.v6.source;
                }
                hash(pos, HashAlgorithm.crc16, 32w0,
                     {source6, destination6, ip.v6.next_header, source_port, destination_port}, (bit<32>)REGISTERS);
                hash(tag, HashAlgorithm.crc32, 32w0,
                     {source6, destination6, ip.v6.next_header, source_port, destination_port}, 33w0x100000000);
            }
            if (tag == 0) {
                /* 0 is nobody. */
                tag = 1;
            }
        }
    }
}

control LoadRegister(in bit<32> pos, out register_t r) {
    apply {
        r_count.read(r.count, pos);
        r_tag.read(r.tag, pos);
        r_seen.read(r.seen, pos);
        r_flags.read(r.flags, pos);
    }
}

control StoreRegister(in bit<32> pos, in register_t r) {
    apply {
        r_count.write(pos, r.count);
        r_tag.write(pos, r.tag);
        r_seen.write(pos, r.seen);
        r_flags.write(pos, r.flags);
    }
}

control LoadTogether(in bit<32> port, out together_t all) {
    apply {
        together_count.read(all.count, port);
        together_seen.read(all.seen, port);
    }
}

control StoreTogether(in bit<32> port, in together_t all) {
    apply {
        together_count.write(port, all.count);
        together_seen.write(port, all.seen);
    }
}

/* The AQM of a port, with its registers. */
control PortAqm(in bit<32> port, in params_t p, in packet_t packet, in time_t now, in time_t sojourn, in bit<32> behind,
                out bit<1> chosen) {
    Aqm() aqm;
    codel_t codel;
    dataplane_t dataplane;

    apply {
        codel_first_above.read(codel.first_above, port);
        codel_drop_next.read(codel.drop_next, port);
        codel_count.read(codel.count, port);
        codel_last_count.read(codel.last_count, port);
        codel_dropping.read(codel.dropping, port);
        codel_dropped.read(codel.dropped, port);
        dataplane_next.read(dataplane.next, port);
        dataplane_count.read(dataplane.count, port);
        dataplane_above.read(dataplane.above, port);
        aqm.apply(codel, dataplane, p, packet, now, sojourn, behind, chosen);
        codel_first_above.write(port, codel.first_above);
        codel_drop_next.write(port, codel.drop_next);
        codel_count.write(port, codel.count);
        codel_last_count.write(port, codel.last_count);
        codel_dropping.write(port, codel.dropping);
        codel_dropped.write(port, codel.dropped);
        dataplane_next.write(port, dataplane.next);
        dataplane_count.write(port, dataplane.count);
        dataplane_above.write(port, dataplane.above);
        queue_behind.write(port, behind);
    }
}

/* All that RPM does with a packet which leaves a queue. */
control Leaves(inout ip_t ip, in bit<32> port, in params_t p, in time_t now, in time_t sojourn, in bit<32> behind,
               out bit<1> chosen, out bit<8> verdict, out bit<8> counted) {
    Read() read;
    Hash() h;
    PortAqm() aqm;
    LoadRegister() load;
    StoreRegister() store;
    LoadTogether() load_together;
    StoreTogether() store_together;
    Outbound() outbound;
    SetCe() set_ce;
    packet_t packet;
    register_t r;
    together_t all;
    bit<32> pos;

    apply {
        read.apply(ip, packet);
        h.apply(ip, 0, pos, packet.tag);
        aqm.apply(port, p, packet, now, sojourn, behind, chosen);
        load.apply(pos, r);
        load_together.apply(port, all);
        outbound.apply(r, all, p, packet, chosen, now, verdict, counted);
        /* A packet that is no TCP has no register: it must not touch the one at 0. */
        if (packet.tcp == 1) {
            store.apply(pos, r);
            store_together.apply(port, all);
        }
        if (verdict == MARK) {
            set_ce.apply(ip);
        }
    }
}

/* All that RPM does with a packet which comes in. */
control ComesIn(inout ip_t ip, in bit<32> port, in params_t p, in time_t now, out bit<1> ece) {
    Read() read;
    Hash() h;
    LoadRegister() load;
    StoreRegister() store;
    LoadTogether() load_together;
    StoreTogether() store_together;
    Inbound() inbound;
    SetEce() set_ece;
    packet_t packet;
    register_t r;
    together_t all;
    bit<32> pos;
    bit<32> behind;

    apply {
        read.apply(ip, packet);
        h.apply(ip, 1, pos, packet.tag);
        load.apply(pos, r);
        load_together.apply(port, all);
        queue_behind.read(behind, port);
        inbound.apply(r, all, p, packet, now, behind, ece);
        if (packet.tcp == 1) {
            store.apply(pos, r);
            store_together.apply(port, all);
        }
        if (ece == 1) {
            set_ece.apply(ip);
        }
    }
}

#endif
