/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RPM on a Linux router. Four programs, all for tc; DEV is the device, `queue` and `exit` the ends of an internal veth
 * pair that `midpathd rpm up` makes:
 *
 *     routed to DEV ─ rpm_divert ─> queue: rpm_enqueue (stamps) ─> TBF ─> exit: rpm_dequeue (CoDel) ─> DEV ─> wire
 *     into the router <─ rpm_return (ECE) ── DEV <─ wire
 */
#include "kernel.h"

#define RPM_LOCK(lock) bpf_spin_lock(lock)
#define RPM_UNLOCK(lock) bpf_spin_unlock(lock)
#include "rpm_core.h"
#include "headers.h"
#include "flow_hash.h"
#include "maps.h"

static __always_inline __u64 clock_ns(const struct rpm_config *config)
{
    return config->test_now_ns ? config->test_now_ns : bpf_ktime_get_ns();
}

/* The flow's register, and with it the packet's tag. */
static __always_inline struct rpm_register *register_of(const struct rpm_config *config, struct headers *h)
{
    __u64 hash = flow_hash(&h->key, config->hash_key[0], config->hash_key[1]);
    __u32 place = (__u32)hash & config->register_mask;

    h->packet.tag = (__u32)(hash >> 32);
    if (!h->packet.tag)
        h->packet.tag = 1;
    return bpf_map_lookup_elem(&rpm_registers, &place);
}

static __always_inline void note_events(struct rpm_stats *stats, const struct rpm_events *events, __u64 now)
{
    stats->aged += events->aged;
    stats->gone_at_ns += events->aged * now;
    stats->claimed += events->claimed;
    stats->fallen += events->fallen;
    stats->return_collisions += events->collision;
    stats->return_strange += events->strange;
}

/* Most that stands before the data of a segment: Ethernet with a VLAN tag, IPv4 or 6 with options, TCP with options. */
#define MOST_HEADER_BYTES 142

/*
 * Whether the shaper would refuse the packet, or a segment of it, at any time. That is so where the device's MTU was raised
 * after `up`.
 */
static __always_inline int is_too_long(const struct __sk_buff *skb, const struct rpm_config *config)
{
    if (skb->gso_size)
        return skb->gso_size + MOST_HEADER_BYTES > config->burst_bytes;
    return skb->len > config->burst_bytes;
}

/* DEV, on the way out: what has not been through the queue goes there. */
SEC("classifier/rpm_divert")
int rpm_divert(struct __sk_buff *skb)
{
    const struct rpm_config *config = config_of();
    struct ethernet {
        __u8 destination[6], source[6];
        __u16 type;
    } link = {};

    struct rpm_stats *stats = stats_of();

    if (!config || !stats || skb->ingress_ifindex == config->exit_ifindex)
        return TC_ACT_UNSPEC;
    if (is_too_long(skb, config)) {
        stats->too_long++;
        return TC_ACT_UNSPEC;
    }
    if (config->bare) {
        link.type = (__u16)skb->protocol;
        if (bpf_skb_change_head(skb, sizeof(link), 0) || bpf_skb_store_bytes(skb, 0, &link, sizeof(link), 0))
            return TC_ACT_UNSPEC;
    }
    skb->cb[0] = config->ticket;
    return bpf_redirect(config->queue_ifindex, 0);
}

/* The pair's first end, before the shaper: stamps. Refuses what a host's own services send into any device they see. */
SEC("classifier/rpm_enqueue")
int rpm_enqueue(struct __sk_buff *skb)
{
    const struct rpm_config *config = config_of();
    struct rpm_entrance *entrance = entrance_of();
    struct rpm_stats *stats = stats_of();
    __u64 now;

    if (!config || !entrance || !stats)
        return TC_ACT_SHOT;
    if (skb->cb[0] != config->ticket) {
        stats->foreign++;
        return TC_ACT_SHOT;
    }
    now = clock_ns(config);
    /* The helper takes IP only. For what is tagged twice, or no IP, the bare time will do: see rpm_dequeue. */
    if (bpf_skb_set_tstamp(skb, now, BPF_SKB_TSTAMP_DELIVERY_MONO))
        skb->tstamp = now;
    entrance->last_ns = now;
    entrance->last_bytes = skb->wire_len;
    __sync_fetch_and_add(&entrance->bytes, skb->wire_len);
    return TC_ACT_OK;
}

static __always_inline void note_sojourn(struct rpm_stats *stats, __u64 sojourn_ns)
{
    __u64 bucket = sojourn_bucket(sojourn_ns);

    /* Keeps the compiler from comparing one register and indexing by another: the verifier would not see that they agree. */
    asm volatile("" : "+r"(bucket));
    if (bucket < RPM_SOJOURN_BUCKETS)
        stats->sojourn[bucket]++;
    stats->sojourn_sum_ns += sojourn_ns;
}

/* What became of a signal. */
static __always_inline void note_signal(struct rpm_stats *stats, enum rpm_way way, int registered,
                                        enum rpm_counted counted, __u64 now)
{
    stats->signals++;
    if (way == RPM_WAY_DROP)
        stats->dropped++;
    else if (way == RPM_WAY_FORWARD)
        stats->marked_ce++;
    else if (!registered)
        stats->spared++;
    if (!registered)
        return;
    if (counted == RPM_COUNTED) {
        stats->counted++;
        stats->counted_at_ns += now;
    } else if (counted == RPM_SATURATED)
        stats->saturated++;
    else if (counted == RPM_COLLISION)
        stats->collisions++;
    else if (counted == RPM_NO_ACKS)
        stats->no_acks++;
    else if (counted == RPM_ACCECN)
        stats->accecn++;
    else
        stats->strange++;
}

/* The pair's other end, behind the shaper: CoDel, and the register or the mark. */
SEC("classifier/rpm_dequeue")
int rpm_dequeue(struct __sk_buff *skb)
{
    const struct rpm_config *config = config_of();
    const struct rpm_entrance *entrance = entrance_of();
    struct rpm_stats *stats = stats_of();
    struct rpm_port *port = port_of();
    struct rpm_register *reg;
    struct rpm_events events = {};
    enum rpm_counted counted = RPM_COUNTED;
    struct headers h;
    enum rpm_way way;
    int signalled = 0, registered;
    __u64 now, stamp, sojourn = 0, behind;

    if (!config || !entrance || !stats || !port)
        return TC_ACT_SHOT;
    now = clock_ns(config);
    stamp = skb->tstamp;
    stats->packets++;
    stats->bytes += skb->len;
    /* A stamp without its type may be a capture's, by the wall clock: that one is ahead of ours, which starts at boot. */
    if (skb->tstamp_type != BPF_SKB_TSTAMP_DELIVERY_MONO && (!stamp || stamp > now)) {
        stats->unstamped++;
        return bpf_redirect(config->dev_ifindex, 0);
    }
    if (now > stamp)
        sojourn = now - stamp;
    note_sojourn(stats, sojourn);
    behind = rpm_backlog(port, entrance, stamp, skb->len);

    read_headers(skb, &h, 0, 0);
    way = rpm_outbound(port, &config->params, &h.packet, now, sojourn, behind, &signalled);
    registered = way == RPM_WAY_REGISTER;
    if (rpm_outbound_looks(&config->params, &h.packet, way)) {
        reg = register_of(config, &h);
        if (!reg)
            return TC_ACT_SHOT;
        way = rpm_outbound_register(port, reg, &config->params, &h.packet, way, now, &counted, &events);
        note_events(stats, &events, now);
    }
    if (signalled)
        note_signal(stats, way, registered, counted, now);
    if (way == RPM_WAY_DROP)
        return TC_ACT_SHOT;
    if (way == RPM_WAY_FORWARD && set_ce(skb, &h))
        stats->failed++;
    return bpf_redirect(config->dev_ifindex, 0);
}

/* DEV, on the way in: ACKs of what went out. */
SEC("classifier/rpm_return")
int rpm_return(struct __sk_buff *skb)
{
    const struct rpm_config *config = config_of();
    struct rpm_stats *stats = stats_of();
    struct rpm_port *port = port_of();
    struct rpm_register *reg;
    struct rpm_events events = {};
    struct headers h;
    __u64 now;
    int ece;

    if (!config || !stats || !port || !rpm_uses_registers(&config->params))
        return TC_ACT_UNSPEC;
    read_headers(skb, &h, config->bare, 1);
    if (!h.packet.tcp)
        return TC_ACT_UNSPEC;
    reg = register_of(config, &h);
    if (!reg)
        return TC_ACT_UNSPEC;
    now = clock_ns(config);
    ece = rpm_inbound(port, reg, &config->params, &h.packet, now, &events);
    stats->returned++;
    note_events(stats, &events, now);
    if (!ece)
        return TC_ACT_UNSPEC;
    stats->marked_ece++;
    stats->gone_at_ns += now;
    if (h.packet.flags & RPM_ECE)
        stats->already_ece++;
    else if (set_ece(skb, &h))
        stats->failed++;
    return TC_ACT_UNSPEC;
}

/* No helper that is called here asks for more. */
char rpm_license[] SEC("license") = "Apache-2.0";
