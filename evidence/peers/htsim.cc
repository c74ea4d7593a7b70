// Copyright 2026 The Midpath developers
// SPDX-License-Identifier: Apache-2.0
//
// htsim's DCTCP on a fat-tree: htsim K MARK LIMIT FLOWS OUT
//
// K is the arity, MARK the marking threshold in packets of 1500 B, LIMIT the bytes of a port's queue. FLOWS has a line
// "src dst bytes start_ns aggregation core" for each flow, the way it goes included; ACKs go back the same way. Or it is
// a connection matrix of htsim's with triggers (.cm), which its own reader reads: ways are drawn for each flow. OUT gets
// a line with each completion time in seconds, -1 if there is none; a line of JSON goes to stdout, last.
// Links are an ECNQueue and a Pipe of htsim's for each direction: its FatTreeTopology marks at 15 packets, always.
// Our own code; it only links to htsim.

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "connection_matrix.h"
#include "dctcp.h"
#include "ecnqueue.h"
#include "eventlist.h"
#include "pipe.h"
#include "route.h"
#include "trigger.h"

namespace
{

constexpr uint64_t kPacket = 1500;  // on the link; htsim's packets have no headers
constexpr uint64_t kPayload = 1448; // of the others' packets of 1500 B
constexpr uint64_t kRate = 10'000'000'000;

/// A sink that notes when the last packet came, and fires a trigger then.
class Sink : public TcpSink
{
  public:
    explicit Sink(uint64_t bytes) : m_bytes(bytes) {}

    void receivePacket(Packet& packet) override
    {
        TcpSink::receivePacket(packet);
        ++m_packets;
        if (m_end == 0 && _cumulative_ack >= m_bytes)
        {
            m_end = EventList::now();
            --open;
            if (done)
            {
                done->activate();
            }
        }
    }

    simtime_picosec End() const { return m_end; }
    uint64_t Packets() const { return m_packets; }

    static inline uint64_t open = 0; // flows that have not ended
    Trigger* done = nullptr;

  private:
    uint64_t m_bytes;
    uint64_t m_packets = 0;
    simtime_picosec m_end = 0;
};

/// The fat-tree: hosts, then edges, aggregations and cores, and a queue and a pipe for each direction of a link.
class FatTree
{
  public:
    FatTree(uint32_t k, mem_b mark, mem_b limit, EventList& events)
        : m_half(k / 2), m_mark(mark), m_limit(limit), m_events(events)
    {
    }

    /// The nodes from one host to another.
    std::vector<uint32_t> Path(uint32_t from, uint32_t to, uint32_t aggregation, uint32_t core) const
    {
        const uint32_t hosts = 2 * m_half * m_half * m_half;
        const uint32_t layer = 2 * m_half * m_half;
        const auto edge = [&](uint32_t host) { return hosts + host / m_half; };
        const auto above = [&](uint32_t host) {
            return hosts + layer + host / (m_half * m_half) * m_half + aggregation;
        };
        if (edge(from) == edge(to))
        {
            return {from, edge(from), to};
        }
        if (above(from) == above(to))
        {
            return {from, edge(from), above(from), edge(to), to};
        }
        const uint32_t top = hosts + 2 * layer + aggregation * m_half + core;
        return {from, edge(from), above(from), top, above(to), edge(to), to};
    }

    /// The queues and pipes along these nodes.
    Route* RouteOf(const std::vector<uint32_t>& path)
    {
        auto* route = new Route();
        for (size_t i = 1; i < path.size(); ++i)
        {
            auto& [queue, pipe] = m_links[{path[i - 1], path[i]}];
            if (!queue)
            {
                queue = std::make_unique<ECNQueue>(kRate, m_limit, m_events, nullptr, m_mark);
                pipe = std::make_unique<Pipe>(timeFromUs(1.0), m_events);
            }
            route->push_back(queue.get());
            route->push_back(pipe.get());
        }
        return route;
    }

    uint64_t Drops() const
    {
        uint64_t drops = 0;
        for (const auto& [ends, link] : m_links)
        {
            drops += static_cast<uint64_t>(link.first->num_drops());
        }
        return drops;
    }

  private:
    using Link = std::pair<std::unique_ptr<ECNQueue>, std::unique_ptr<Pipe>>;
    uint32_t m_half;
    mem_b m_mark, m_limit;
    EventList& m_events;
    std::map<std::pair<uint32_t, uint32_t>, Link> m_links;
};

/// A flow, which starts at its time or when it is triggered.
struct Flow : public TriggerTarget
{
    Flow(FatTree& t, EventList& e, TcpRtxTimerScanner& s, const std::vector<uint32_t>& p, uint64_t b)
        : tree(t), events(e), timers(s), path(p), bytes(b)
    {
        ++Sink::open;
    }

    void Start(simtime_picosec at)
    {
        const uint64_t packets = (bytes + kPayload - 1) / kPayload;
        start = at;
        source = new DCTCPSrc(nullptr, nullptr, events);
        // Sequence numbers: 1 is the SYN's; the source sends while what it sent is at most the size and one.
        source->_flow_size = packets * kPacket - 1;
        source->_ssthresh = 0xffffffff; // slow start till the first mark; htsim's own limit is 100 packets
        sink = new Sink(1 + packets * kPacket);
        sink->done = done;
        Route* there = tree.RouteOf(path);
        Route* back = tree.RouteOf({path.rbegin(), path.rend()});
        there->push_back(sink);
        back->push_back(source);
        source->connect(*there, *back, *sink, at);
        timers.registerTcp(*source);
    }

    void activate() override { Start(EventList::now()); }

    uint64_t Hops() const { return sink ? 2 * (path.size() - 1) * sink->Packets() : 0; }
    double Seconds() const { return sink && sink->End() ? 1e-12 * static_cast<double>(sink->End() - start) : -1.0; }

    FatTree& tree;
    EventList& events;
    TcpRtxTimerScanner& timers;
    std::vector<uint32_t> path;
    uint64_t bytes;
    simtime_picosec start = 0;
    Trigger* done = nullptr;
    DCTCPSrc* source = nullptr;
    Sink* sink = nullptr;
};

double CpuSeconds()
{
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
    return seconds(use.ru_utime) + seconds(use.ru_stime);
}

std::vector<Flow*> Listed(const char* file, FatTree& tree, EventList& events, TcpRtxTimerScanner& timers)
{
    std::vector<Flow*> flows;
    std::ifstream list(file);
    uint32_t from, to, aggregation, core;
    uint64_t bytes, startNs;
    while (list >> from >> to >> bytes >> startNs >> aggregation >> core)
    {
        flows.push_back(new Flow(tree, events, timers, tree.Path(from, to, aggregation, core), bytes));
        flows.back()->Start(startNs * 1000);
    }
    return flows;
}

std::vector<Flow*> Triggered(const char* file, uint32_t half, FatTree& tree, EventList& events, TcpRtxTimerScanner& timers)
{
    auto& matrix = *new ConnectionMatrix(0);
    std::vector<Flow*> flows;
    if (!matrix.load(file))
    {
        return flows;
    }
    std::mt19937 draw(1);
    for (const connection* one : *matrix.getAllConnections())
    {
        const uint32_t aggregation = draw() % half, core = draw() % half;
        auto* flow = new Flow(tree, events, timers, tree.Path(one->src, one->dst, aggregation, core), one->size);
        flows.push_back(flow);
        if (one->recv_done_trigger)
        {
            flow->done = matrix.getTrigger(one->recv_done_trigger, events);
        }
        if (one->trigger)
        {
            matrix.getTrigger(one->trigger, events)->add_target(*flow);
        }
        else
        {
            flow->Start(one->start);
        }
    }
    return flows;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 6)
    {
        std::cerr << "htsim K MARK LIMIT FLOWS OUT\n";
        return 2;
    }
    EventList events;
    events.setEndtime(timeFromSec(100.0));
    FatTree tree(std::atoi(argv[1]), std::atoll(argv[2]) * kPacket, std::atoll(argv[3]), events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    const std::string list = argv[4];
    std::cout.setstate(std::ios::failbit); // htsim prints a line for each flow
    const bool triggered = list.size() > 3 && list.compare(list.size() - 3, 3, ".cm") == 0;
    const auto flows = triggered ? Triggered(argv[4], std::atoi(argv[1]) / 2, tree, events, timers)
                                 : Listed(argv[4], tree, events, timers);
    const auto begin = std::chrono::steady_clock::now();
    const double cpuBegin = CpuSeconds();
    while (Sink::open > 0 && EventList::doNextEvent())
    {
    }
    const double cpu = CpuSeconds() - cpuBegin;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    std::cout.clear();
    std::ofstream out(argv[5]);
    uint64_t hops = 0;
    for (const Flow* flow : flows)
    {
        // What arrived crossed every link, and its ACK did.
        hops += flow->Hops();
        out << flow->Seconds() << '\n';
    }
    std::cout << "{\"packet_hops\":" << hops << ",\"cpu_s\":" << cpu << ",\"wall_s\":" << wall.count()
              << ",\"drops\":" << tree.Drops() << "}\n";
    return 0;
}
