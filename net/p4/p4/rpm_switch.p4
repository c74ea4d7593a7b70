/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RPM in a switch of v1model: a packet that comes in may be an ACK that takes a signal along; when a packet has left
 * its queue, CoDel looks at how long it was there.
 */
#include <core.p4>
#include <v1model.p4>
#include "rpm/packet.p4"
#include "rpm/v1model_state.p4"

struct headers_t {
    ethernet_t ethernet;
    ip_t ip;
}

struct metadata_t {
}

parser SwitchParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    ReadIp() ip;

    state start {
        packet.extract(hdr.ethernet);
        ip.apply(packet, hdr.ethernet.ether_type, hdr.ip);
        transition accept;
    }
}

/* What RPM is to do at a port; without an entry it does nothing there. */
control Configure(in bit<9> port, out params_t p) {
    action rpm(time_t target, time_t interval, bit<32> mtu, time_t age, bit<16> register_max, bit<8> aqm, bit<8> mode,
               bit<8> guarded, bit<8> aggregate) {
        p = {target, interval, mtu, age, register_max, aqm, mode, guarded, aggregate};
    }

    action plain() {
        p = {0, 0, 0, 0, 0, 0, MODE_OFF, 0, 0};
    }

    table ports {
        key = { port: exact; }
        actions = { rpm; plain; }
        const default_action = plain();
        size = PORTS;
    }

    apply {
        plain();
        ports.apply();
    }
}

/* bmv2 counts microseconds. */
#define NANOSECONDS(t) ((time_t)(t) * 1000)

control SwitchIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Configure() configure;
    ComesIn() comes_in;
    params_t p;
    bit<1> ece;

    action out_of(bit<9> port) {
        standard.egress_spec = port;
    }

    action discard() {
        mark_to_drop(standard);
    }

    table forward {
        key = { hdr.ethernet.destination: exact; }
        actions = { out_of; discard; }
        const default_action = discard();
        size = 1024;
    }

    apply {
        configure.apply(standard.ingress_port, p);
        comes_in.apply(hdr.ip, (bit<32>)standard.ingress_port, p, NANOSECONDS(standard.ingress_global_timestamp), ece);
        forward.apply();
    }
}

control SwitchEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Configure() configure;
    Leaves() leaves;
    params_t p;
    bit<1> chosen;
    bit<8> verdict;
    bit<8> counted;

    apply {
        configure.apply(standard.egress_port, p);
        /* v1model counts packets in the queue, not bytes. */
        leaves.apply(hdr.ip, (bit<32>)standard.egress_port, p, NANOSECONDS(standard.egress_global_timestamp),
                     NANOSECONDS(standard.deq_timedelta), (bit<32>)standard.deq_qdepth * p.mtu, chosen, verdict,
                     counted);
        if (verdict == DROP) {
            mark_to_drop(standard);
        }
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ip.v4);
        packet.emit(hdr.ip.v6);
        packet.emit(hdr.ip.tcp);
    }
}

V1Switch(SwitchParser(), Verify(), SwitchIngress(), SwitchEgress(), Compute(), SwitchDeparser()) main;
