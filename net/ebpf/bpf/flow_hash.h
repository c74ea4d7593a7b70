/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h() of the paper's algorithm 1: SipHash-1-3 over the 5-tuple, under a key that is drawn at each start, so that nobody
 * outside can aim at another flow's register. The lower half of the result is the place, the upper half the owner.
 */
#ifndef MIDPATH_FLOW_HASH_H
#define MIDPATH_FLOW_HASH_H

#include "headers.h"

struct siphash {
    __u64 v0, v1, v2, v3;
};

static __always_inline __u64 rotated(__u64 x, int by)
{
    return x << by | x >> (64 - by);
}

static __always_inline void sip_round(struct siphash *s)
{
    s->v0 += s->v1;
    s->v1 = rotated(s->v1, 13) ^ s->v0;
    s->v0 = rotated(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotated(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotated(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotated(s->v1, 17) ^ s->v2;
    s->v2 = rotated(s->v2, 32);
}

static __always_inline void sip_word(struct siphash *s, __u64 word)
{
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

static __always_inline __u64 pair(__u32 high, __u32 low)
{
    return (__u64)high << 32 | low;
}

/* An IPv4 flow is two words, an IPv6 flow five. The word that ends the message holds its length, as SipHash has it. */
static __always_inline __u64 flow_hash(const struct flow_key *key, __u64 k0, __u64 k1)
{
    struct siphash s = {
        .v0 = k0 ^ 0x736f6d6570736575ULL,
        .v1 = k1 ^ 0x646f72616e646f6dULL,
        .v2 = k0 ^ 0x6c7967656e657261ULL,
        .v3 = k1 ^ 0x7465646279746573ULL,
    };

    sip_word(&s, pair(key->source[0], key->destination[0]));
    if (key->version == 6) {
        sip_word(&s, pair(key->source[1], key->source[2]));
        sip_word(&s, pair(key->source[3], key->destination[1]));
        sip_word(&s, pair(key->destination[2], key->destination[3]));
    }
    sip_word(&s, pair(key->ports, key->version));
    sip_word(&s, (key->version == 6 ? 40ULL : 16ULL) << 56);
    s.v2 ^= 0xff;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

#endif
