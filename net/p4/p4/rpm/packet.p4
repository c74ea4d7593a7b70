/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets: what RPM reads of them, and what it writes. TCP behind IPv4 options, in fragments or behind IPv6 extension
 * headers is passed on as IP that cannot be read: it gets CE.
 */
#ifndef MIDPATH_RPM_PACKET_P4
#define MIDPATH_RPM_PACKET_P4

#include <core.p4>
#include "types.p4"

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header ipv6_t {
    bit<4> version;
    bit<6> dscp;
    bit<2> ecn;
    bit<20> flow_label;
    bit<16> payload_length;
    bit<8> next_header;
    bit<8> hop_limit;
    bit<128> source;
    bit<128> destination;
}

header tcp_t {
    bit<16> source;
    bit<16> destination;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<4> data_offset;
    bit<3> reserved;
    bit<9> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

struct ip_t {
    ipv4_t v4;
    ipv6_t v6;
    tcp_t tcp;
}

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<8> PROTOCOL_TCP = 6;

parser ReadIp(packet_in packet, in bit<16> ether_type, out ip_t ip) {
    state start {
        transition select(ether_type) {
            TYPE_IPV4: v4;
            TYPE_IPV6: v6;
            default: accept;
        }
    }

    state v4 {
        packet.extract(ip.v4);
        /* No options; the first and only fragment. */
        transition select(ip.v4.ihl, ip.v4.flags & 1, ip.v4.fragment_offset, ip.v4.protocol) {
            (5, 0, 0, PROTOCOL_TCP): tcp;
            default: accept;
        }
    }

    state v6 {
        packet.extract(ip.v6);
        transition select(ip.v6.next_header) {
            PROTOCOL_TCP: tcp;
            default: accept;
        }
    }

    state tcp {
        packet.extract(ip.tcp);
        transition accept;
    }
}

/* What RPM asks of a packet. */
control Read(in ip_t ip, out packet_t packet) {
    apply {
        packet = {0, 0, 0, 0, 0};
        if (ip.v4.isValid()) {
            packet.ip = 1;
            packet.ecn = ip.v4.ecn;
        } else if (ip.v6.isValid()) {
            packet.ip = 1;
            packet.ecn = ip.v6.ecn;
        }
        if (ip.tcp.isValid()) {
            packet.tcp = 1;
            packet.flags = ip.tcp.flags;
        }
    }
}

/* RFC 1624, (3): the checksum of a header in which a word has grown by `more`. */
control Checksum(inout bit<16> checksum, in bit<16> more) {
    bit<32> sum;

    apply {
        /* HC' = ~(~HC + ~m + m'), and ~m + m' is `more` - 1 + 2^16, which is `more` in one's complement. */
        sum = (bit<32>)(~checksum) + (bit<32>)more;
        sum = (sum & 0xffff) + (sum >> 16);
        checksum = ~sum[15:0];
    }
}

/* CE on an ECN-capable packet. */
control SetCe(inout ip_t ip) {
    Checksum() checksum;
    bit<16> more;

    apply {
        if (ip.v4.isValid()) {
            more = (bit<16>)(ECN_CE - ip.v4.ecn);
            ip.v4.ecn = ECN_CE;
            checksum.apply(ip.v4.checksum, more);
        } else if (ip.v6.isValid()) {
            ip.v6.ecn = ECN_CE;
        }
    }
}

/* ECE on an ACK. */
control SetEce(inout ip_t ip) {
    Checksum() checksum;

    apply {
        if (ip.tcp.isValid() && ip.tcp.flags & TCP_ECE == 0) {
            ip.tcp.flags = ip.tcp.flags | TCP_ECE;
            checksum.apply(ip.tcp.checksum, 0x40);
        }
    }
}

#endif
