// Copyright 2026 The Midpath developers
// SPDX-License-Identifier: Apache-2.0
//
// Scenario (d): a fat-tree of k = 4 (16 hosts, 20 switches), 10 Gbps, 1 us a link, a random permutation of 20 MB
// flows that all start at 0, minimum RTO 10 ms, delayed ACK 1 ms; DCTCP marks at a step. `ecmp`: every packet
// takes a random one of the shortest paths, else all take the first.

#include "support.h"

using namespace check;

int
main(int argc, char** argv)
{
    TcpOptions tcp;
    tcp.cc = "TcpDctcp";
    tcp.minRto = 0.01;
    tcp.delAckTimeout = 0.001;
    QueueOptions queue;
    queue.kind = "step";
    queue.bytes = 1'500'000;
    queue.markPackets = 65; // the DCTCP paper's K at 10 Gbps
    uint32_t k = 4;
    uint32_t seed = 1;
    uint64_t size = 20'000'000;
    bool ecmp = true;
    CommandLine cmd;
    tcp.AddTo(cmd);
    cmd.AddValue("k", "arity", k);
    cmd.AddValue("seed", "seed of the permutation", seed);
    cmd.AddValue("size", "bytes of each flow", size);
    cmd.AddValue("ecmp", "random equal-cost path for every packet", ecmp);
    cmd.AddValue("queue", "device, disc or step", queue.kind);
    cmd.AddValue("bytes", "buffer of each port", queue.bytes);
    cmd.AddValue("mark", "marking threshold of --queue=step, packets", queue.markPackets);
    cmd.Parse(argc, argv);
    tcp.Apply();
    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(ecmp));

    const uint32_t half = k / 2;
    NodeContainer hosts(k * half * half);
    NodeContainer edges(k * half);
    NodeContainer aggregations(k * half);
    NodeContainer cores(half * half);
    InternetStackHelper().InstallAll();
    Net net;
    auto link = [&](Ptr<Node> a, Ptr<Node> b) { net.Link(a, b, "10Gbps", 1e-6, queue); };
    for (uint32_t pod = 0; pod < k; ++pod)
    {
        for (uint32_t edge = 0; edge < half; ++edge)
        {
            for (uint32_t i = 0; i < half; ++i)
            {
                link(hosts.Get((pod * half + edge) * half + i), edges.Get(pod * half + edge));
                link(edges.Get(pod * half + edge), aggregations.Get(pod * half + i));
            }
        }
        for (uint32_t i = 0; i < half * half; ++i)
        {
            link(aggregations.Get(pod * half + i / half), cores.Get(i));
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    // Fisher-Yates until no host sends to itself.
    auto uniform = CreateObject<UniformRandomVariable>();
    std::vector<uint32_t> to(hosts.GetN());
    auto fixed = [&] {
        for (uint32_t i = 0; i < to.size(); ++i)
        {
            if (to[i] == i)
            {
                return true;
            }
        }
        return false;
    };
    std::iota(to.begin(), to.end(), 0);
    while (fixed())
    {
        for (uint32_t i = static_cast<uint32_t>(to.size()) - 1; i > 0; --i)
        {
            std::swap(to[i], to[uniform->GetInteger(0, i)]);
        }
    }
    Flows flows;
    for (uint32_t i = 0; i < to.size(); ++i)
    {
        flows.push_back(std::make_unique<Flow>(hosts.Get(i), hosts.Get(to[i]), 5000, size, 0));
    }
    Json json;
    json.Add("scenario", "d").Add("cc", tcp.cc).Add("k", k).Add("ecmp", ecmp).Add("queue", queue.kind);
    json.Add("mark", queue.markPackets).Add("bytes", queue.bytes).Add("seed", seed).Add("to", to);
    RunTimed(json, 2.0);
    AddFlows(json, flows, k <= 4);
    json.Add("drops", net.Drops()).Add("marks", net.Marks());
    json.Print();
    Simulator::Destroy();
    return 0;
}
