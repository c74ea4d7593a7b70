#!/bin/sh
# Copyright 2026 The Midpath developers
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the ns-3 reference programs against an installed ns-3 and prints one JSON line per run.
#
#   run.sh                       every scenario once
#   run.sh PROGRAM [OPTIONS]     one run, e.g. run.sh dumbbell_a --cc=TcpCubic --seed=3
#   run.sh seeds N PROGRAM [OPTIONS]   seeds 1 to N of one program; pipe it into summarise.py
#
# NS3_PREFIX names an ns-3 other than the system's: a folder with include/ns3 and lib or lib64 (a build tree, or
# the folder ns3 of the PyPI wheel). BUILD names the folder for the programs. Without ns-3 it says so and ends
# well: these are checks beside the project.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-${TMPDIR:-/tmp}/midpath-ns3-checks}
modules='core network stats bridge internet traffic-control point-to-point applications'

skip() {
    echo "ns-3 checks skipped: $1 (on Debian: apt-get install libns3-dev g++)" >&2
    exit 0
}

# Sets include, libdir and pattern: the option for the headers, where the libraries are, how they are called.
find_ns3() {
    command -v "${CXX:=g++}" >/dev/null || skip "no $CXX"
    for prefix in ${NS3_PREFIX:-/usr /usr/local}; do
        for libdir in "$prefix"/lib64 "$prefix"/lib "$prefix"/lib/*-linux-gnu; do
            for core in "$libdir"/libns3*-core*.so; do
                if [ -e "$core" ] && [ -e "$prefix/include/ns3/core-module.h" ]; then
                    # /usr/include is searched anyway, and naming it breaks g++'s own include_next.
                    include=
                    [ "$prefix" = /usr ] || include=-isystem$prefix/include
                    pattern=$(basename "$core" .so | sed 's/^lib//; s/-core/-@/')
                    return
                fi
            done
        done
    done
    skip "no ns-3 headers and libraries found"
}

compile() {
    mkdir -p "$build"
    [ "$build/$1" -nt "$here/$1.cc" ] && [ "$build/$1" -nt "$here/support.h" ] && return
    set -- "$1" -Wl,--no-as-needed
    for module in $modules; do
        set -- "$@" "-l$(echo "$pattern" | sed "s/@/$module/")"
    done
    program=$1
    shift
    # Newer releases need C++20; the headers of 3.37 (Debian 12) are not valid C++20.
    "$CXX" -std=c++20 -O2 ${include:+"$include"} "$here/$program.cc" -o "$build/$program" \
        "-L$libdir" "-Wl,-rpath,$libdir" "$@" 2>"$build/$program.log" ||
        "$CXX" -std=c++17 -O2 ${include:+"$include"} "$here/$program.cc" -o "$build/$program" \
            "-L$libdir" "-Wl,-rpath,$libdir" "$@" || { cat "$build/$program.log" >&2; exit 1; }
}

run() {
    program=$1
    shift
    compile "$program"
    "$build/$program" "$@"
}

find_ns3
case ${1:-all} in
all)
    run dumbbell_a
    run dumbbell_a --delack=0
    run dumbbell_a --core=1Gbps
    run dumbbell_a --sack=0
    run dumbbell_a --cc=TcpCubic
    run dumbbell_a --cc=TcpDctcp --queue=step --mark=20
    run long_flows_b
    run chain_c
    run fattree_d --ecmp=0
    run short_flows_e --stop=5
    ;;
seeds)
    count=$2
    shift 2
    for seed in $(seq "$count"); do
        run "$@" --seed="$seed"
    done
    ;;
*) run "$@" ;;
esac
