/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a frame to what the algorithm asks of a packet. Every length is checked against what has arrived; what is not
 * understood is "not IP" or "not TCP", which is always safe: such packets are passed, or marked in their IP header.
 */
#ifndef MIDPATH_HEADERS_H
#define MIDPATH_HEADERS_H

#include "kernel.h"
#include "rpm_core.h"

#define ETHERNET_BYTES 14
#define VLAN_BYTES 4
#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define TYPE_QINQ 0x88a8
/* A tag of the provider's and one of the customer's (802.1ad). */
#define MAX_VLANS 2
/* RFC 8200, §4.1 recommends an order of at most four before TCP; more is "not TCP". */
#define MAX_EXTENSIONS 4

#define PROTOCOL_TCP 6
#define IPV6_HOP_BY_HOP 0
#define IPV6_ROUTING 43
#define IPV6_DESTINATION 60

#define IPV4_MORE_FRAGMENTS 0x2000
#define IPV4_FRAGMENT_OFFSET 0x1fff

#define TCP_BYTES 20
#define TCP_FLAGS_AT 12
#define TCP_CHECKSUM_AT 16

struct flow_key {
    /* As the packets that leave have them. An IPv4 address fills the first word. */
    __u32 source[4];
    __u32 destination[4];
    /* Source in the upper half. */
    __u32 ports;
    __u32 version;
};

struct headers {
    struct rpm_packet packet;
    struct flow_key key;
    __u32 ip_at;
    __u32 tcp_at;
    /* The 16 bits of the header that hold the ECN field, and those that hold TCP's flags, as they lie on the wire. */
    __u16 ecn_word;
    __u16 flags_word;
};

struct ipv4_header {
    __u8 version_and_length;
    __u8 tos;
    __u16 total_bytes;
    __u16 id;
    __u16 fragment;
    __u8 ttl;
    __u8 protocol;
    __u16 checksum;
    __u32 source;
    __u32 destination;
};

struct ipv6_header {
    __u8 version_and_class;
    __u8 class_and_label;
    __u16 label;
    __u16 payload_bytes;
    __u8 next;
    __u8 hops;
    __u32 source[4];
    __u32 destination[4];
};

struct tcp_header {
    __u16 source;
    __u16 destination;
    __u32 sequence;
    __u32 acknowledgement;
    __u8 offset_and_ae;
    __u8 flags;
    __u16 window;
};

/* The type behind Ethernet's header and VLAN tags, and where that starts; 0 if the frame is too short. */
static __always_inline __u16 past_vlans(struct __sk_buff *skb, __u32 *at)
{
    __u16 type;
    int i;

    *at = ETHERNET_BYTES;
    if (bpf_skb_load_bytes(skb, ETHERNET_BYTES - 2, &type, sizeof(type)))
        return 0;
#pragma unroll
    for (i = 0; i < MAX_VLANS; i++) {
        if (type != to_network16(TYPE_VLAN) && type != to_network16(TYPE_QINQ))
            break;
        if (bpf_skb_load_bytes(skb, *at + VLAN_BYTES - 2, &type, sizeof(type)))
            return 0;
        *at += VLAN_BYTES;
    }
    return from_network16(type);
}

/* Without a link header the version tells. */
static __always_inline __u16 type_of_bare(struct __sk_buff *skb)
{
    __u8 first;

    if (bpf_skb_load_bytes(skb, 0, &first, sizeof(first)))
        return 0;
    if (first >> 4 == 4)
        return TYPE_IPV4;
    return first >> 4 == 6 ? TYPE_IPV6 : 0;
}

/* TCP at `h->tcp_at`, of which IP says that `bytes` are there. */
static __always_inline void read_tcp(struct __sk_buff *skb, struct headers *h, __u32 bytes, int inbound)
{
    struct tcp_header tcp;
    __u32 header_bytes;

    if (bytes < TCP_BYTES || bpf_skb_load_bytes(skb, h->tcp_at, &tcp, sizeof(tcp)))
        return;
    header_bytes = (tcp.offset_and_ae >> 4) * 4;
    /* The checksum's two bytes and the urgent pointer were not loaded; they must be there too. */
    if (header_bytes < TCP_BYTES || header_bytes > bytes || h->tcp_at + header_bytes > skb->len)
        return;
    h->packet.tcp = 1;
    h->packet.flags = (__u16)(tcp.offset_and_ae & 1) << 8 | tcp.flags;
    h->packet.sequence = from_network32(tcp.sequence);
    h->packet.acknowledgement = from_network32(tcp.acknowledgement);
    __builtin_memcpy(&h->flags_word, &tcp.offset_and_ae, sizeof(h->flags_word));
    if (inbound)
        h->key.ports = (__u32)tcp.destination << 16 | tcp.source;
    else
        h->key.ports = (__u32)tcp.source << 16 | tcp.destination;
}

static __always_inline void read_ipv4(struct __sk_buff *skb, struct headers *h, int inbound)
{
    struct ipv4_header ip;
    __u32 header_bytes, total;

    if (bpf_skb_load_bytes(skb, h->ip_at, &ip, sizeof(ip)))
        return;
    header_bytes = (ip.version_and_length & 0xf) * 4;
    total = from_network16(ip.total_bytes);
    /* Segments yet to be cut that are too long for the field leave it 0. */
    if (!total)
        total = skb->len - h->ip_at;
    if (ip.version_and_length >> 4 != 4 || header_bytes < sizeof(ip) || total < header_bytes ||
        h->ip_at + total > skb->len)
        return;
    h->packet.ip = 1;
    h->packet.ecn = ip.tos & 3;
    __builtin_memcpy(&h->ecn_word, &ip, sizeof(h->ecn_word));
    h->key.version = 4;
    h->key.source[0] = inbound ? ip.destination : ip.source;
    h->key.destination[0] = inbound ? ip.source : ip.destination;
    if (ip.protocol != PROTOCOL_TCP || ip.fragment & to_network16(IPV4_MORE_FRAGMENTS | IPV4_FRAGMENT_OFFSET))
        return;
    h->tcp_at = h->ip_at + header_bytes;
    read_tcp(skb, h, total - header_bytes, inbound);
}

static __always_inline void read_ipv6(struct __sk_buff *skb, struct headers *h, int inbound)
{
    struct ipv6_header ip;
    __u32 payload, end, at;
    __u8 next, extension[2];
    int i;

    if (bpf_skb_load_bytes(skb, h->ip_at, &ip, sizeof(ip)))
        return;
    at = h->ip_at + sizeof(ip);
    payload = from_network16(ip.payload_bytes);
    end = payload ? at + payload : skb->len;
    if (ip.version_and_class >> 4 != 6 || end > skb->len)
        return;
    h->packet.ip = 1;
    h->packet.ecn = (ip.class_and_label >> 4) & 3;
    __builtin_memcpy(&h->ecn_word, &ip, sizeof(h->ecn_word));
    h->key.version = 6;
    __builtin_memcpy(h->key.source, inbound ? ip.destination : ip.source, sizeof(ip.source));
    __builtin_memcpy(h->key.destination, inbound ? ip.source : ip.destination, sizeof(ip.source));

    next = ip.next;
#pragma unroll
    for (i = 0; i < MAX_EXTENSIONS; i++) {
        if (next != IPV6_HOP_BY_HOP && next != IPV6_ROUTING && next != IPV6_DESTINATION)
            break;
        if (bpf_skb_load_bytes(skb, at, extension, sizeof(extension)))
            return;
        next = extension[0];
        at += ((__u32)extension[1] + 1) * 8;
    }
    if (next != PROTOCOL_TCP || at > end)
        return;
    h->tcp_at = at;
    read_tcp(skb, h, end - at, inbound);
}

/* `bare`: the device has no link header. `inbound`: the key is that of the packets that go the other way. */
static __always_inline void read_headers(struct __sk_buff *skb, struct headers *h, int bare, int inbound)
{
    __u16 type;

    __builtin_memset(h, 0, sizeof(*h));
    type = bare ? type_of_bare(skb) : past_vlans(skb, &h->ip_at);
    if (type == TYPE_IPV4)
        read_ipv4(skb, h, inbound);
    else if (type == TYPE_IPV6)
        read_ipv6(skb, h, inbound);
}

/* CE in the IP header; IPv6 has no checksum to mend. */
static __always_inline int set_ce(struct __sk_buff *skb, const struct headers *h)
{
    __u16 old = h->ecn_word, new;

    if (h->key.version == 6) {
        new = old | to_network16(0x0030);
        return bpf_skb_store_bytes(skb, h->ip_at, &new, sizeof(new), 0);
    }
    new = old | to_network16(0x0003);
    if (bpf_l3_csum_replace(skb, h->ip_at + 10, old, new, sizeof(new)))
        return -1;
    return bpf_skb_store_bytes(skb, h->ip_at, &new, sizeof(new), 0);
}

/* ECE in the TCP header. */
static __always_inline int set_ece(struct __sk_buff *skb, const struct headers *h)
{
    __u16 old = h->flags_word, new = old | to_network16(RPM_ECE);

    if (bpf_l4_csum_replace(skb, h->tcp_at + TCP_CHECKSUM_AT, old, new, sizeof(new)))
        return -1;
    return bpf_skb_store_bytes(skb, h->tcp_at + TCP_FLAGS_AT, &new, sizeof(new), 0);
}

#endif
