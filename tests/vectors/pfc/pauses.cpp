// What csg-htsim's lossless queues do, event by event: the vectors of crates/core/src/pfc/tests.rs. README.md
// says how to run it.
//
// Three sources, each behind a queue that can be paused, send bursts of packets of random sizes through a switch
// with three lossless inputs and two outputs, one half as fast.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <sstream>
#include <string>
#include <vector>
#define private public
#define protected public
#include "cbrpacket.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue_lossless_input.h"
#include "queue_lossless_output.h"
#include "switch.h"

static const int INPUTS = 3, OUTPUTS = 2;

// A generator of our own, so that the vectors do not depend on a library's.
static uint64_t state = 1;
static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(state >> 33) % below;
}

static std::map<const Packet*, int> output_of;

static void row(const char* event, int input, int size, int output, uint64_t held) {
    printf("%llu,%s,%d,%d,%d,%llu\n", (unsigned long long)EventList::now(), event, input, size, output,
           (unsigned long long)held);
}

// The input queue, with what it does written down. Only its own code decides.
class Input : public LosslessInputQueue {
public:
    Input(EventList& events, BaseQueue* peer, Switch* sw, simtime_picosec wire, int number)
        : LosslessInputQueue(events, peer, sw, wire), number(number) {}
    virtual void receivePacket(Packet& pkt) {
        int before = _state_recv, size = pkt.size(), output = output_of[&pkt];
        LosslessInputQueue::receivePacket(pkt);
        row("came", number, size, output, _queuesize);
        changed(before);
    }
    virtual void completedService(Packet& pkt) {
        int before = _state_recv, size = pkt.size(), output = output_of[&pkt];
        LosslessInputQueue::completedService(pkt);
        row("left", number, size, output, _queuesize);
        changed(before);
    }
    void changed(int before) {
        if (before != _state_recv) row(_state_recv == PAUSED ? "pause" : "resume", number, 0, 0, _queuesize);
    }
    int number;
};

class Sink : public PacketSink {
public:
    virtual void receivePacket(Packet& pkt) { output_of.erase(&pkt); pkt.free(); }
    virtual const string& nodename() { static string name = "sink"; return name; }
};

class Nobody : public VirtualQueue {
public:
    virtual void completedService(Packet&) {}
};

class Source : public EventSource {
public:
    Source(EventList& events, LosslessOutputQueue* first, std::vector<Route*> routes)
        : EventSource(events, "source"), first(first), routes(routes), flow(NULL) {
        events.sourceIsPending(*this, timeFromNs(draw(500)));
    }
    virtual void doNextEvent() {
        for (uint32_t n = 1 + draw(12); n > 0 && left > 0; n--, left--) {
            int output = draw(OUTPUTS);
            CbrPacket* pkt = CbrPacket::newpkt(flow, *routes[output], 0, 64 + draw(1437));
            pkt->_nexthop = 1;
            output_of[pkt] = output;
            first->receivePacket(*pkt, &nobody);
        }
        if (left > 0) eventlist().sourceIsPendingRel(*this, timeFromNs(1 + draw(9000)));
    }
    LosslessOutputQueue* first;
    std::vector<Route*> routes;
    PacketFlow flow;
    Nobody nobody;
    int left = 150;
};

int main(int argc, char** argv) {
    if (argc != 4) return 1;
    state = strtoull(argv[1], NULL, 10);
    LosslessInputQueue::_low_threshold = atoi(argv[2]);
    LosslessInputQueue::_high_threshold = atoi(argv[3]);
    Packet::set_packet_size(1500);
    EventList events;
    EventList::setEndtime(timeFromMs(20));
    Switch sw(events, "switch");
    Sink sink;
    std::vector<LosslessOutputQueue*> outputs;
    for (int i = 0; i < OUTPUTS; i++)
        outputs.push_back(new LosslessOutputQueue(speedFromGbps(i == 0 ? 10 : 5), 1 << 30, events, NULL));
    std::vector<Source*> sources;
    printf("time_ps,event,input,bytes,output,held\n");
    for (int i = 0; i < INPUTS; i++) {
        LosslessOutputQueue* first = new LosslessOutputQueue(speedFromGbps(10), 1 << 30, events, NULL);
        Pipe* pipe = new Pipe(timeFromUs((uint32_t)1), events);
        Input* input = new Input(events, first, &sw, timeFromUs((uint32_t)1), i);
        std::vector<Route*> routes;
        for (int o = 0; o < OUTPUTS; o++) {
            Route* route = new Route();
            for (PacketSink* hop : std::vector<PacketSink*>{first, pipe, input, outputs[o], &sink}) route->push_back(hop);
            routes.push_back(route);
        }
        sources.push_back(new Source(events, first, routes));
    }
    while (events.doNextEvent()) {}
    return 0;
}
