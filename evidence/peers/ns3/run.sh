#!/bin/sh
# Copyright 2026 The Midpath developers
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the ns-3 reference programs against an installed ns-3 and prints one JSON line per run.
#
#   run.sh                       every scenario once
#   run.sh PROGRAM [OPTIONS]     one run, e.g. run.sh dumbbell_a --cc=TcpCubic --seed=3
#   run.sh seeds N PROGRAM [OPTIONS]   seeds 1 to N of one program; pipe it into summarise.py
#   run.sh install               installs ns-3: Debian's packages as root with apt-get, else the wheel of the Python PYTHON
#   run.sh version               which ns-3 the programs run with
#
# It looks for the system's ns-3, then for the wheel `ns3` of the Python PYTHON (python3 if unset). NS3_PREFIX names
# another: a folder with include/ns3 and lib or lib64, such as a build tree. BUILD names the folder for the programs.
# Without ns-3 it says so and ends well: these are checks beside the project.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-${TMPDIR:-/tmp}/midpath-ns3-checks}
modules='core network stats bridge internet traffic-control point-to-point'

skip() {
    echo "ns-3 checks skipped: $1 (sh evidence/peers/ns3/run.sh install)" >&2
    exit 0
}

# The folder of the wheel, without loading it.
wheel() {
    "${PYTHON:-python3}" -c '
import importlib.util
found = importlib.util.find_spec("ns3")
print(*(found.submodule_search_locations if found else []))' 2>/dev/null || true
}

# Sets include, libdir and pattern: the option for the headers, where the libraries are, how they are called.
find_ns3() {
    command -v "${CXX:=g++}" >/dev/null || skip "no $CXX"
    for prefix in ${NS3_PREFIX:-/usr /usr/local $(wheel)}; do
        for libdir in "$prefix"/lib64 "$prefix"/lib "$prefix"/lib/*-linux-gnu; do
            for core in "$libdir"/libns3*-core*.so; do
                if [ -e "$core" ] && [ -e "$prefix/include/ns3/core-module.h" ]; then
                    # /usr/include is searched anyway, and naming it breaks g++'s own include_next.
                    include=
                    [ "$prefix" = /usr ] || include=-isystem$prefix/include
                    # libns3-core.so.37 behind Debian's link, libns3.44-core.so elsewhere.
                    version=$(basename "$(readlink -f "$core")" | sed 's/^libns\(3[0-9.]*\)-.*/\1/')
                    case $version in
                    3) version=3.$(basename "$(readlink -f "$core")" | sed 's/.*\.so\.//') ;;
                    esac
                    pattern=$(basename "$core" .so | sed 's/^lib//; s/-core/-@/')
                    return
                fi
            done
        done
    done
    skip "no ns-3 headers and libraries found"
}

install() {
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        apt-get install -y --no-install-recommends libns3-dev g++
    else
        # The headers and libraries are in the wheel; what it depends on is for Python.
        "${PYTHON:-python3}" -m pip install --no-deps ns3
    fi
}

compile() {
    mkdir -p "$build"
    [ -z "$(find "$here/$1.cc" "$here"/*.h -newer "$build/$1" 2>&1)" ] && return
    set -- "$1" -Wl,--no-as-needed
    for module in $modules mtp; do
        library=$(echo "$pattern" | sed "s/@/$module/")
        case $module in
        # UNISON's headers are other ones with NS3_MTP.
        mtp) [ ! -e "$libdir/lib$library.so" ] || set -- "$@" -DNS3_MTP "-l$library" ;;
        *) set -- "$@" "-l$library" ;;
        esac
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

[ "${1:-all}" = install ] && install
find_ns3
# Each ns-3 has its own programs, for they don't run with another's libraries.
build=$build/$version
case ${1:-all} in
install | version) echo "ns-$version" ;;
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
