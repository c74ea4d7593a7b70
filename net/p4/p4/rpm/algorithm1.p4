/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Algorithm 1, lines 2 to 10, to the letter. `r` is R_C[pos], which the shell has read at pos = h(5-tuple), the 5-tuple
 * of an ACK with its ends swapped (lines 3 and 6).
 */
#ifndef MIDPATH_RPM_ALGORITHM1_P4
#define MIDPATH_RPM_ALGORITHM1_P4

#include "types.p4"

/* Line 2: drop_C is true. The paper's register has no end; here it holds at most `most`. */
control Congested(inout bit<16> r, in bit<16> most, out bit<8> answer) {
    apply {
        answer = SATURATED;
        if (r < most) {
            /* 4: R_C[pos] <- R_C[pos] + 1 */
            r = r + 1;
            answer = COUNTED;
        }
    }
}

/* An ACK arrives. Of the signals that wait the paper's register keeps all; ours `most`. */
control Acknowledged(inout bit<16> r, in bit<32> most, out bit<1> ece) {
    apply {
        r = (bit<32>)r > most ? (bit<16>)most : r;
        ece = 0;
        /* 7: if R_C[pos] >= 1 then */
        if (r >= 1) {
            /* 8: TCP.ECE <- 1 */
            ece = 1;
            /* 9: R_C[pos] <- R_C[pos] - 1 */
            r = r - 1;
        }
    }
}

#endif
