// What csg-htsim's own NDP makes of drawn events: a sender of ACKs, NACKs and pulls (NdpSrc::receivePacket, with the paths that it
// chooses), and a receiving host of packets and headers (NdpSink::receivePacket, NdpPullPacer). README.md says how to build and
// run it.

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
#include <vector>
#include "ndp.h"
#include "queue.h"

// A generator of this program's own; htsim's random() is replaced, so that what it draws is written down.
static uint64_t state = 1;
static uint32_t draw32() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33);
}
static uint32_t below(uint32_t n) { return draw32() % n; }
static std::vector<uint32_t> drawn;
extern "C" long random() noexcept {
    drawn.push_back(draw32());
    return (long)drawn.back();
}

static void packets_of(uint32_t bytes) {
    Packet::_packet_size_fixed = false;
    Packet::set_packet_size(bytes);
}

static EventList& events() { return EventList::getTheEventList(); }

// What a host sends comes here, and goes nowhere.
struct Here : HostQueue {
    std::vector<Packet*> came;
    Here() : HostQueue(1000000000, 1 << 30, events(), NULL) {}
    void receivePacket(Packet& pkt) override { came.push_back(&pkt); }
    simtime_picosec serviceTime(Packet&) override { return 0; }
};

static void say_draws() {
    for (uint32_t d : drawn) printf(",%u", d);
    printf("\n");
    drawn.clear();
}

static void sender(uint32_t mss, uint64_t packets, uint32_t window, uint32_t paths, int count) {
    packets_of(mss);
    NdpSrc::setRouteStrategy(ECMP_FIB);
    NdpSrc src(NULL, NULL, events());
    Here here;
    Route out;
    out.push_back(&here);
    src._route = &out;
    src._paths.resize(paths);
    src._path_ids.resize(paths);
    src._path_acks.resize(paths);
    src._path_ecns.resize(paths);
    src._path_nacks.resize(paths);
    src._avoid_ratio.resize(paths);
    src._avoid_score.resize(paths);
    src._bad_path.resize(paths);
    for (uint32_t i = 0; i < paths; i++) src._path_ids[i] = i;
    src.setCwnd(window * mss);
    src._flow_size = packets * mss;
    printf("flow,%u,%llu,%u,%u\n", mss, (unsigned long long)packets, window, paths);
    drawn.clear();
    src.permute_paths();
    printf("paths");
    say_draws();
    // Numbers of packets on their way.
    std::vector<uint32_t> away;
    uint32_t cumulative = 0;
    std::set<uint32_t> arrived;
    auto sent = [&]() {
        for (Packet* p : here.came) {
            auto* data = (NdpPacket*)p;
            uint32_t psn = (data->seqno() - 1) / mss;
            printf("sent,%u,%d,%d", psn, (int)data->path_id(), data->retransmitted());
            printf("\n");
            away.push_back(psn);
        }
        here.came.clear();
        printf("drew");
        say_draws();
    };
    EventList::_lasteventtime += 1000000;
    src.startflow();
    sent();
    uint32_t pulls = 0;
    for (int i = 0; i < count; i++) {
        EventList::_lasteventtime += 1000 + below(1000000);
        uint32_t what = below(10);
        if (!away.empty() && what < 7) {
            uint32_t place = below(away.size()), psn = away[place];
            away.erase(away.begin() + place);
            bool pull = below(3) == 0;
            // A pull that was paced may have been overtaken.
            pulls += pull;
            if (what < 5) {
                arrived.insert(psn);
                while (arrived.count(cumulative)) cumulative++;
                auto* p = NdpAck::newpkt(src._flow, out, 0, 1 + (uint64_t)psn * mss, (uint64_t)cumulative * mss, pulls, 0);
                if (!pull) p->dont_pull();
                p->set_ts(EventList::now() - 5000000);
                src._first_sent_times[1 + (uint64_t)psn * mss] = EventList::now() - 5000000;
                p->set_ecn_echo(false);
                printf("ack,%u,%u,%u,%d\n", psn, cumulative, pulls, pull);
                src.receivePacket(*p);
                if (cumulative == packets) {
                    sent();
                    break;
                }
            } else {
                auto* p = NdpNack::newpkt(src._flow, out, 0, 1 + (uint64_t)psn * mss, (uint64_t)cumulative * mss, pulls, 0);
                if (!pull) p->dont_pull();
                p->set_ecn_echo(false);
                printf("nack,%u,%u,%u,%d\n", psn, cumulative, pulls, pull);
                src.receivePacket(*p);
            }
        } else {
            pulls += below(3);
            uint32_t said = below(6) ? pulls : pulls / 2;
            auto* ack = NdpAck::newpkt(src._flow, out, 0, 1, (uint64_t)cumulative * mss, said, 0);
            auto* p = NdpPull::newpkt(ack);
            printf("pull,0,%u,%u,1\n", cumulative, said);
            src.receivePacket(*p);
        }
        sent();
    }
}

static void receiver(uint64_t gbps, uint32_t mss, int senders, uint32_t packets, int count, uint64_t apart) {
    packets_of(mss);
    NdpSrc::setRouteStrategy(SINGLE_PATH);
    NdpSink::setRouteStrategy(SINGLE_PATH);
    NdpPullPacer pacer(events(), gbps * 1000000000ull, 0.99);
    Here here, in;
    Route back, there;
    back.push_back(&here);
    there.push_back(&in);
    std::vector<NdpSrc*> srcs;
    std::vector<NdpSink*> sinks;
    std::vector<std::vector<uint32_t>> left(senders);
    for (int i = 0; i < senders; i++) {
        srcs.push_back(new NdpSrc(NULL, NULL, events()));
        srcs.back()->set_flowid(i + 1);
        sinks.push_back(new NdpSink(&pacer));
        sinks.back()->connect(*srcs.back(), &back);
        for (uint32_t psn = 0; psn < packets; psn++) left[i].push_back(psn);
        auto* ack = NdpAck::newpkt(srcs[i]->_flow, back, 0, 1, 0, 0, 0);
        pacer._pull_queue.enqueue(*NdpPull::newpkt(ack), 100);
    }
    // The pacer knows all: where one is new, it is not its turn before that of the one that was next.
    for (int i = 0; i < senders; i++) pacer._pull_queue.dequeue();
    printf("host,%llu,%u,%d,%u\n", (unsigned long long)gbps, mss, senders, packets);
    EventList::_lasteventtime += 1000000000;
    uint64_t now = EventList::_lasteventtime;
    auto heard = [&]() {
        for (Packet* p : here.came) {
            int flow = (int)p->flow_id() - 1;
            unsigned long long at = EventList::now();
            if (p->type() == NDPACK) {
                auto* ack = (NdpAck*)p;
                printf("ack,%llu,%d,%llu,%llu,%d\n", at, flow, (unsigned long long)ack->cumulative_ack() / mss,
                       (unsigned long long)ack->pullno(), ack->pull());
            } else if (p->type() == NDPNACK) {
                auto* nack = (NdpNack*)p;
                printf("nack,%llu,%d,%llu,%llu,%d\n", at, flow, (unsigned long long)nack->cumulative_ack() / mss,
                       (unsigned long long)nack->pullno(), nack->pull());
            } else {
                printf("pull,%llu,%d,0,%llu,1\n", at, flow, (unsigned long long)((NdpPull*)p)->pullno());
            }
        }
        here.came.clear();
    };
    auto until = [&](uint64_t end) {
        while (!EventList::_pendingsources.empty() && EventList::_pendingsources.begin()->first <= end) {
            events().doNextEvent();
            heard();
        }
        EventList::_lasteventtime = end;
    };
    for (int i = 0; i < count; i++) {
        now += 1 + below(apart);
        if (below(40) == 0) now += 100 * apart;
        until(now);
        int n = below(senders);
        if (left[n].empty()) continue;
        uint32_t place = below(std::min<size_t>(left[n].size(), 6)), psn = left[n][place];
        bool cut = below(4) == 0;
        bool last = psn + 1 == packets;
        auto* p = NdpPacket::newpkt(srcs[n]->_flow, there, 1 + (uint64_t)psn * mss, 0, mss, false, 1, last);
        if (cut) p->strip_payload();
        else left[n].erase(left[n].begin() + place);
        printf("%s,%llu,%d,%u,%d,0\n", cut ? "header" : "data", (unsigned long long)now, n, psn, last);
        sinks[n]->receivePacket(*p);
        heard();
    }
    until(now + 1000 * apart);
    EventList::_pendingsources.clear();
}

int main(int argc, char** argv) {
    // What htsim says itself goes to cerr.
    std::cout.rdbuf(std::cerr.rdbuf());
    EventList::setEndtime(timeFromSec(1000));
    if (!strcmp(argv[1], "sender")) {
        printf("kind,psn,a,b,c\n");
        sender(9000, 200, 15, 8, 400);
        sender(1500, 40, 30, 4, 300);
        sender(4096, 1, 15, 16, 20);
    } else {
        printf("kind,time,sender,a,b,c\n");
        receiver(10, 9000, 6, 40, 400, 5000000);
        receiver(100, 4096, 3, 100, 400, 500000);
    }
}
