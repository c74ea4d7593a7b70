/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs need of the kernel, from its user-space API alone: objects then load where there is no BTF, too. */
#ifndef MIDPATH_KERNEL_H
#define MIDPATH_KERNEL_H

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#define SEC(name) __attribute__((section(name), used))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))

/* A map's definition is read from the types of this structure's members. */
#define MAP_NUMBER(name, value) int (*name)[value]
#define MAP_TYPE(name, value) typeof(value) *name

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static __u64 (*bpf_ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static long (*bpf_skb_load_bytes)(const void *skb, __u32 offset, void *to, __u32 size) = (void *)BPF_FUNC_skb_load_bytes;
static long (*bpf_skb_store_bytes)(struct __sk_buff *skb, __u32 offset, const void *from, __u32 size,
                                   __u64 flags) = (void *)BPF_FUNC_skb_store_bytes;
static long (*bpf_l3_csum_replace)(struct __sk_buff *skb, __u32 offset, __u64 from, __u64 to,
                                   __u64 size) = (void *)BPF_FUNC_l3_csum_replace;
static long (*bpf_l4_csum_replace)(struct __sk_buff *skb, __u32 offset, __u64 from, __u64 to,
                                   __u64 flags) = (void *)BPF_FUNC_l4_csum_replace;
static long (*bpf_redirect)(__u32 ifindex, __u64 flags) = (void *)BPF_FUNC_redirect;
static long (*bpf_skb_change_head)(struct __sk_buff *skb, __u32 size, __u64 flags) = (void *)BPF_FUNC_skb_change_head;
static long (*bpf_skb_set_tstamp)(struct __sk_buff *skb, __u64 tstamp, __u32 type) = (void *)BPF_FUNC_skb_set_tstamp;
static long (*bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)BPF_FUNC_spin_lock;
static long (*bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)BPF_FUNC_spin_unlock;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define to_network16(value) __builtin_bswap16(value)
#define from_network32(value) __builtin_bswap32(value)
#else
#define to_network16(value) (value)
#define from_network32(value) (value)
#endif
#define from_network16 to_network16

#endif
