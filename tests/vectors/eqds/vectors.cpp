// What csg-htsim's own EQDS makes of drawn events: a sender's credit (EqdsSrc::spendCredit, handlePull, stopSpeculating,
// computePullTarget), a receiving host's pacer (EqdsSink::handlePullTarget, EqdsPullPacer::requestRetransmit, doNextEvent), and a
// sender's entropies (nextEntropy, penalizePath). README.md says how to build and run it.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>
#include "eqds.h"

// A generator of this program's own; htsim's rand() is replaced, so that what it draws is written down.
static uint64_t state = 1;
static uint32_t draw32() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33);
}
static uint32_t below(uint32_t n) { return draw32() % n; }
static std::vector<uint32_t> drawn;
extern "C" int rand() noexcept {
    drawn.push_back(draw32());
    return (int)drawn.back();
}

static void packets_of(uint32_t bytes) {
    Packet::_packet_size_fixed = false;
    Packet::set_packet_size(bytes);
}

static EventList& events() { return EventList::getTheEventList(); }

static void credit(uint16_t mtu, uint32_t packets, int count) {
    EqdsNIC nic(events(), 100000000000ull);
    packets_of(mtu);
    EqdsSrc src(NULL, events(), nic);
    src._mtu = mtu;
    src.setCwnd(packets * mtu);
    src._credit_spec = src._maxwnd;
    src._state = EqdsSrc::SPECULATING;
    src._speculating = true;
    src._backlog = 1 << 30;
    printf("flow,%d,%u\n", mtu, packets);
    uint64_t pull = 0;
    for (int i = 0; i < count; i++) {
        uint32_t what = below(10);
        if (what < 6) {
            if (src.credit() <= 0) continue;
            mem_b size = below(3) ? mtu : 65 + below(mtu - 65);
            bool speculative = false;
            bool sent = src.spendCredit(size, speculative);
            printf("spend,%lld,%d", (long long)size, sent);
        } else if (what < 8) {
            if (src._state == EqdsSrc::SPECULATING && below(4)) continue;
            if (src._state == EqdsSrc::SPECULATING) {
                src.stopSpeculating();
                printf("stop,0,0,%lld\n", (long long)src.credit());
            }
            pull += below(40);
            uint64_t said = below(5) ? pull : pull / 2;
            src.handlePull(said);
            printf("pull,%llu,0", (unsigned long long)said);
        } else {
            src._backlog = below(4) ? (1 << 30) : below(packets * mtu);
            // The simulator's type is unsigned: what is below zero is asked for without end, -1 here.
            int64_t target = (int64_t)src.computePullTarget();
            printf("target,%lld,%lld", (long long)src._backlog, (long long)std::max<int64_t>(target, -1));
            src._backlog = 1 << 30;
        }
        printf(",%lld\n", (long long)src.credit());
    }
}

static void pacer(uint64_t gbps, uint16_t mtu, uint32_t packets, int sinks, int count, uint64_t apart) {
    EqdsNIC nic(events(), gbps * 1000000000ull);
    // It takes all, and sends nothing: what it is given is read.
    nic._send_end_time = ~0ull;
    nic._num_queued_srcs = 1;
    packets_of(mtu);
    EqdsSrc::_mtu = mtu;
    EqdsPullPacer pacer(gbps * 1000000000ull, 0.99, mtu, events());
    Route route;
    std::vector<EqdsSrc*> srcs;
    std::vector<EqdsSink*> all;
    for (int i = 0; i < sinks; i++) {
        srcs.push_back(new EqdsSrc(NULL, events(), nic));
        srcs.back()->setCwnd(packets * mtu);
        all.push_back(new EqdsSink(NULL, &pacer, nic));
        all.back()->_src = srcs.back();
        all.back()->_route = &route;
        all.back()->_entropy = 0;
        all.back()->setFlowId(i + 1);
    }
    printf("host,%llu,%d,%u,%d\n", (unsigned long long)gbps, mtu, packets, sinks);
    uint64_t now = EventList::_lasteventtime + 1000000000;
    EventList::_lasteventtime = now;
    auto until = [&](uint64_t end) {
        while (!EventList::_pendingsources.empty() && EventList::_pendingsources.begin()->first <= end) {
            events().doNextEvent();
            for (; !nic._control.empty(); nic._control.pop_front()) {
                auto* p = (EqdsPullPacket*)nic._control.front();
                printf("pull,%llu,%d,%llu\n", (unsigned long long)EventList::now(), (int)p->flow_id() - 1,
                       (unsigned long long)p->pullno());
            }
        }
        EventList::_lasteventtime = end;
    };
    for (int i = 0; i < count; i++) {
        now += 1 + below(apart);
        // Now and then nothing is asked for until all is granted.
        if (below(30) == 0) now += 200 * apart;
        until(now);
        int n = below(sinks);
        EqdsSink* sink = all[n];
        if (below(4)) {
            uint64_t target = sink->_highest_pull_target + below(60);
            // What is idle and asks leaves the idle, as in later HTSIM; here it could be among both and come up twice.
            if (target > sink->_highest_pull_target && sink->_retx_backlog == 0 && !sink->_in_pull)
                pacer._idle_senders.remove(sink);
            sink->handlePullTarget(target);
            printf("ask,%llu,%d,%llu\n", (unsigned long long)now, n, (unsigned long long)target);
        } else {
            // As processTrimmed has it.
            bool was = sink->_retx_backlog > 0;
            sink->_retx_backlog += EqdsBasePacket::quantize_ceil(EqdsSrc::_mtu);
            if (!was) pacer.requestRetransmit(sink);
            printf("trim,%llu,%d,0\n", (unsigned long long)now, n);
        }
    }
    until(now + 1000 * apart);
    EventList::_pendingsources.clear();
}

static void entropies(uint16_t paths, int count) {
    EqdsNIC nic(events(), 100000000000ull);
    EqdsSrc::_path_entropy_size = paths;
    drawn.clear();
    EqdsSrc src(NULL, events(), nic);
    printf("paths,%d", paths);
    for (uint32_t d : drawn) printf(",%u", d);
    printf("\n");
    std::vector<uint16_t> sent;
    for (int i = 0; i < count; i++) {
        if (sent.empty() || below(3)) {
            drawn.clear();
            uint16_t value = src.nextEntropy();
            sent.push_back(value);
            printf("next,%d", value);
            for (uint32_t d : drawn) printf(",%u", d);
            printf("\n");
        } else {
            uint32_t place = below(sent.size());
            if (below(2)) {
                src.penalizePath(sent[place], 1);
                printf("blame,%d\n", sent[place]);
            }
            sent.erase(sent.begin() + place);
        }
    }
}

int main(int argc, char** argv) {
    // What htsim says itself goes to cerr.
    std::cout.rdbuf(std::cerr.rdbuf());
    EventList::setEndtime(timeFromSec(1000));
    if (!strcmp(argv[1], "credit")) {
        printf("kind,what,result,credit\n");
        credit(4160, 50, 500);
        credit(1500, 12, 500);
        credit(9000, 4, 400);
    } else if (!strcmp(argv[1], "pacer")) {
        printf("kind,time,sender,units\n");
        pacer(100, 4160, 50, 5, 300, 900000);
        pacer(400, 4160, 12, 3, 300, 300000);
        pacer(25, 4160, 4, 8, 300, 2000000);
    } else {
        printf("kind,value\n");
        entropies(16, 500);
        entropies(64, 700);
    }
}
