// What HTSIM's own senders make of ACKs and NACKs (UecSrc::processAck, processNack), and its load balancers of what they hear
// (UecMultipath::nextEntropy, processEv), on random input from a seed. README.md says how to build and run it.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>
#define private public
#define protected public
#include "uec.h"

// A generator of this program's own; HTSIM's rand() is replaced, so that what it draws is written down.
static uint64_t state = 1;
static uint32_t draw32() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33);
}
static double unit() { return draw32() / 2147483648.0; }
static uint32_t below(uint32_t n) { return draw32() % n; }
static std::vector<uint32_t> drawn;
extern "C" int rand() noexcept {
    drawn.push_back(draw32());
    return (int)drawn.back();
}

// A sender alone: its network card takes nothing, so that only what ACKs do is seen.
struct Alone {
    UecNIC nic;
    UecSink sink;
    UecSrc src;
    uint64_t received = 0, now = 0;
    uint32_t psn = 0;

    Alone(uint64_t gbps, uint64_t rtt)
        : nic(0, EventList::getTheEventList(), gbps * 1000000000ull, 1),
          sink(NULL, gbps * 1000000000ull, 1.1, 4096, EventList::getTheEventList(), nic, 1),
          src(NULL, EventList::getTheEventList(), std::make_unique<UecMpOblivious>(64, false), nic, 1) {
        src.initNscc(0, rtt);
        src._flow_size = (mem_b)1 << 60;
        src._send_blocked_on_nic = true;
        src._backlog = 0;
        src._rtx_backlog = 0;
        src._speculating = false;
        src._rtx_timeout_pending = false;
        src._rto_send_time = 1;
    }

    // A packet that was sent `rtt` ago, as its record says; none if zero.
    void record(uint64_t rtt, mem_b bytes) {
        psn++;
        if (rtt > 0) {
            src._tx_bitmap.emplace(psn, UecSrc::sendRecord(bytes, now - rtt));
            src._send_times.emplace(now - rtt, psn);
            src._rtx_times.emplace(psn, 0);
        }
    }

    void say(const char* kind, bool marked, uint64_t rtt, mem_b bytes, mem_b in_flight) {
        printf("%s,%llu,%d,%llu,%lld,%lld,%lld,%llu\n", kind, (unsigned long long)now, marked, (unsigned long long)rtt,
               (long long)bytes, (long long)in_flight, (long long)src._cwnd, (unsigned long long)src._avg_delay);
    }

    void ack(bool marked, uint64_t rtt, mem_b bytes, mem_b in_flight) {
        record(rtt, 4150);
        received += bytes;
        src._in_flight = in_flight + bytes;
        // Nothing is acknowledged by number: what is in flight is what the bytes say.
        auto* p = UecAckPacket::newpkt(*src.flow(), NULL, 0, 1 << 30, psn, 0, marked, received, 255, 0);
        p->set_bitmap(0);
        p->set_ooo(0);
        p->set_rtx_echo(false);
        p->set_probe_ack(false);
        p->set_is_rts(false);
        src.processAck(*p);
        say("ack", marked, rtt, bytes, in_flight);
        src._tx_bitmap.clear();
        src._send_times.clear();
        src._rtx_times.clear();
    }

    void nack(uint64_t rtt, mem_b bytes, mem_b in_flight) {
        record(rtt, bytes);
        src._in_flight = in_flight;
        auto* p = UecNackPacket::newpkt(*src.flow(), NULL, psn, 0, received, 255, 0);
        p->set_last_hop(false);
        p->set_ecn_echo(false);
        src.processNack(*p);
        say("nack", false, rtt, bytes, in_flight);
        src._rtx_queue.clear();
        src._rtx_backlog = 0;
        src._rtx_times.clear();
    }
};

static void windows(uint64_t gbps, uint64_t rtt, bool trimming, int events) {
    UecSrc::initNsccParams(rtt, gbps * 1000000000ull, 0, -1, trimming);
    Alone alone(gbps, rtt);
    printf("flow,%llu,%llu,%d,%lld,%lld,%lld,0\n", (unsigned long long)gbps, (unsigned long long)rtt, trimming,
           (long long)UecSrc::_mtu, (long long)UecSrc::_mss, (long long)alone.src._cwnd);
    alone.now = 1000000000;
    uint64_t target = UecSrc::_target_Qdelay;
    int phase = 0;
    for (int i = 0; i < events; i++) {
        if (i % 40 == 0) phase = below(6);
        // Now and then nothing is heard for a few round trips.
        alone.now += below(40) == 0 ? below(4) * rtt : 1000 + below((uint32_t)(rtt / 4));
        EventList::_lasteventtime = alone.now;
        uint64_t delays[6] = {900000, target, 2 * target, 3 * target, 6 * target, target / 2};
        uint64_t least[6] = {0, 0, 2 * target, 0, 3 * target, 0};
        uint64_t delay = least[phase] + (uint64_t)(unit() * (double)delays[phase]);
        uint64_t sample = rtt - below(2) * below((uint32_t)(rtt / 200)) + delay;
        mem_b in_flight = below((uint32_t)alone.src._cwnd + 1);
        double marks[6] = {0.02, 0.2, 0.7, 0.3, 0.8, 0.1};
        if (phase >= 3 && phase <= 4 && below(8) == 0) {
            alone.nack(sample, 64 + 1 + below(4086), in_flight);
        } else {
            mem_b bytes = below(12) == 0 ? 0 : 4150 * (1 + below(4));
            alone.ack(unit() < marks[phase], below(10) == 0 ? 0 : sample, bytes, in_flight);
        }
    }
}

static void entropies(const char* kind, UecMultipath& mp, uint16_t paths, int events, bool times_out) {
    printf("%s,%d", kind, paths);
    for (uint32_t d : drawn) printf(",%u", d);
    printf("\n");
    std::vector<uint16_t> sent;
    uint64_t now = 0;
    for (int i = 0; i < events; i++) {
        now += below(1000000000);
        EventList::_lasteventtime = now;
        if (sent.empty() || below(2) == 0) {
            drawn.clear();
            uint16_t value = mp.nextEntropy(i, 10);
            sent.push_back(value);
            printf("next,%d", value);
            for (uint32_t d : drawn) printf(",%u", d);
            printf("\n");
        } else {
            uint32_t place = below(sent.size());
            uint32_t what = below(10);
            auto heard = what < 6                ? UecMultipath::PATH_GOOD
                         : what < 8              ? UecMultipath::PATH_ECN
                         : what < 9 || !times_out ? UecMultipath::PATH_NACK
                                                 : UecMultipath::PATH_TIMEOUT;
            mp.processEv(sent[place], heard);
            printf("hear,%d,%d,%llu\n", sent[place], heard, (unsigned long long)now);
            sent.erase(sent.begin() + place);
        }
    }
}

int main(int argc, char** argv) {
    // What HTSIM says itself goes to cerr.
    std::cout.rdbuf(std::cerr.rdbuf());
    EventList::setEndtime(timeFromSec(1000));
    Packet::set_packet_size(4150);
    UecSrc::_mtu = 4150;
    UecSrc::_mss = 4150 - UecSrc::_hdr_size;
    if (!strcmp(argv[1], "windows")) {
        printf("kind,now,marked,rtt,bytes,in_flight,cwnd,avg_delay\n");
        windows(100, 12000000, true, 500);
        windows(400, 8659040, true, 700);
        windows(200, 9318080, false, 400);
        return 0;
    }
    printf("kind,value\n");
    drawn.clear();
    UecMpOblivious oblivious(16, false);
    entropies("oblivious", oblivious, 16, 150, true);
    drawn.clear();
    UecMpBitmap bitmap(32, false);
    entropies("bitmap", bitmap, 32, 500, true);
    drawn.clear();
    UecMpMixed mixed(16, false);
    entropies("mixed", mixed, 16, 400, true);
    drawn.clear();
    UecMpReps reps(64, false, true);
    entropies("reps", reps, 64, 600, true);
}
