/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RPM, event by event, for tests: a packet brings its time, its queue and the port's parameters in a header of its own,
 * and takes the answers along. The rest is as in a switch.
 */
#include <core.p4>
#include <v1model.p4>
#include "rpm/packet.p4"
#include "rpm/v1model_state.p4"

const bit<8> OUT = 0;
const bit<8> IN = 1;

header event_t {
    /* What happens. */
    bit<8> direction;
    time_t now;
    time_t sojourn;
    bit<32> behind;
    /* The port's parameters. */
    time_t target;
    time_t interval;
    bit<32> mtu;
    time_t age;
    bit<16> register_max;
    bit<8> aqm;
    bit<8> mode;
    bit<8> guarded;
    bit<8> aggregate;
    /* Answers. */
    bit<8> signal;
    bit<8> verdict;
    bit<8> counted;
    bit<16> ether_type;
}

struct headers_t {
    event_t event;
    ip_t ip;
}

struct metadata_t {
}

parser EventParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    ReadIp() ip;

    state start {
        packet.extract(hdr.event);
        ip.apply(packet, hdr.event.ether_type, hdr.ip);
        transition accept;
    }
}

control EventIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Leaves() leaves;
    ComesIn() comes_in;
    params_t p;
    bit<1> signal;

    apply {
        p = {hdr.event.target, hdr.event.interval, hdr.event.mtu, hdr.event.age, hdr.event.register_max, hdr.event.aqm,
             hdr.event.mode, hdr.event.guarded, hdr.event.aggregate};
        if (hdr.event.direction == OUT) {
            leaves.apply(hdr.ip, 0, p, hdr.event.now, hdr.event.sojourn, hdr.event.behind, signal, hdr.event.verdict,
                         hdr.event.counted);
        } else {
            comes_in.apply(hdr.ip, 0, p, hdr.event.now, signal);
        }
        hdr.event.signal = (bit<8>)signal;
        standard.egress_spec = standard.ingress_port;
    }
}

control EventEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control EventDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.event);
        packet.emit(hdr.ip.v4);
        packet.emit(hdr.ip.v6);
        packet.emit(hdr.ip.tcp);
    }
}

V1Switch(EventParser(), Verify(), EventIngress(), EventEgress(), Compute(), EventDeparser()) main;
