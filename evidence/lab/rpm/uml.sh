#!/bin/sh
# RPM on another kernel: Debian's user-mode Linux, an ordinary program that is a kernel (6.1 in Debian 12, without BTF,
# with DCTCP). Loads the programs, turns RPM on and off, runs the kernel's tests and the laboratory.
# Root is not needed outside. Needs user-mode-linux and kmod, and what `cargo build` and `make setup` have built.
set -eu

if [ "${1:-}" != inside ]; then
    here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
    root=$(CDPATH='' cd -- "$here/../../.." && pwd)
    command -v linux.uml >/dev/null || { echo "user-mode-linux is not installed"; exit 2; }
    [ -e "$root/target/debug/midpathd" ] || { echo "build first: cargo build -p midpathd -p midpath-lab"; exit 2; }
    (cd "$root" && cargo test -p midpath-ebpf --no-run 2>/dev/null)
    # Its root is this machine's file system, read-only.
    exec linux.uml root=/dev/root rootfstype=hostfs rootflags=/ ro mem=2G quiet con=null con0=fd:0,fd:1 \
        init="$here/uml.sh" inside "$root" </dev/null
fi

root=$2
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1 TMPDIR=/run/tmp HOME=/run/tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t devtmpfs devtmpfs /dev 2>/dev/null || true
mkdir -p /run/tmp /run/modules/lib
ln -s /usr/lib/uml/modules /run/modules/lib/modules
for module in veth sch_tbf sch_ingress cls_bpf tcp_dctcp; do
    modprobe -d /run/modules "$module"
done
ip link set lo up
echo "kernel $(uname -r), BTF: $([ -e /sys/kernel/btf/vmlinux ] && echo yes || echo no)"

ip link add dev0 type veth peer name dev1
midpathd=$root/target/debug/midpathd
"$midpathd" rpm up --dev dev0 --rate 10Mbps
"$midpathd" rpm up --dev dev0 --rate 20Mbps --mode fwd
"$midpathd" rpm down

# Packets are slower here.
export MIDPATH_FUZZ_PACKETS=40000
cd "$root/net/ebpf"
for tests in "$root"/target/debug/deps/linux-*; do
    # Of both crates' programs of this name, and of earlier builds, those that have them.
    [ -x "$tests" ] && "$tests" kernel_ | grep '^test '
done
cd "$root"
.venv/bin/python -m midpath lab rpm --seconds 4 --repeats 1 --rate 20Mbps --cc cubic,dctcp --flows 2 --rtt 40ms,60ms \
    --midpathd "$midpathd" 2>&1 | cat
echo "all done"
poweroff -f
