// Copyright 2026 The Midpath developers
// SPDX-License-Identifier: Apache-2.0
//
// Scenario (a): the INRPP paper's dumbbell. Three hosts at 40 Mbps, router 4, the core link, router 0, the
// 10 Mbps bottleneck, router 2, a link like the core's, router 3, three hosts at 40 Mbps; 5 ms and 50 ms of
// buffer everywhere; three flows of 10 MB at 1, 2 and 3 s. A seed above 0 delays each start by up to `jitter`.

#include "support.h"

using namespace check;

int
main(int argc, char** argv)
{
    TcpOptions tcp;
    QueueOptions queue;
    std::string core = "100Mbps";
    std::string core2;
    std::string bottleneck = "10Mbps";
    std::string access = "0.005,0.005,0.005";
    std::string trace;
    double jitter = 0.01;
    double buffer = 0.05;
    double gap = 1.0;
    uint32_t seed = 0;
    uint32_t flowCount = 3;
    uint64_t size = 10'000'000;
    CommandLine cmd;
    tcp.AddTo(cmd);
    cmd.AddValue("core", "rate of the first core link, 4-0", core);
    cmd.AddValue("core2", "rate of the last core link, 2-3 (as --core if empty)", core2);
    cmd.AddValue("bottleneck", "rate of the bottleneck, 0-2", bottleneck);
    cmd.AddValue("access", "delays of the senders' links, s", access);
    cmd.AddValue("queue", "device, disc or step", queue.kind);
    cmd.AddValue("mark", "marking threshold of --queue=step, packets", queue.markPackets);
    cmd.AddValue("buffer", "buffer of each port, s at its rate", buffer);
    cmd.AddValue("seed", "0: starts exactly on the second", seed);
    cmd.AddValue("jitter", "largest delay of a start, s", jitter);
    cmd.AddValue("flows", "number of flows", flowCount);
    cmd.AddValue("gap", "seconds between starts", gap);
    cmd.AddValue("size", "bytes of each flow", size);
    cmd.AddValue("trace", "file for the first flow's cwnd trace", trace);
    cmd.Parse(argc, argv);
    core2 = core2.empty() ? core : core2;
    tcp.Apply();
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(std::max(seed, 1u));

    NodeContainer routers(4); // 4, 0, 2, 3 in the paper's numbering
    NodeContainer senders(flowCount);
    NodeContainer receivers(flowCount);
    InternetStackHelper stack;
    stack.InstallAll();
    Net net;
    auto sized = [&](const std::string& rate) {
        QueueOptions q = queue;
        q.bytes = BytesAt(rate, buffer);
        return q;
    };
    std::istringstream delays(access);
    for (uint32_t i = 0; i < flowCount; ++i)
    {
        std::string delay = "0.005";
        std::getline(delays, delay, ',');
        net.Link(senders.Get(i), routers.Get(0), "40Mbps", std::stod(delay), sized("40Mbps"));
    }
    net.Link(routers.Get(0), routers.Get(1), core, 0.005, sized(core));
    net.Link(routers.Get(1), routers.Get(2), bottleneck, 0.005, sized(bottleneck));
    net.Link(routers.Get(2), routers.Get(3), core2, 0.005, sized(core2));
    for (uint32_t i = 0; i < flowCount; ++i)
    {
        net.Link(routers.Get(3), receivers.Get(i), "40Mbps", 0.005, sized("40Mbps"));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    auto uniform = CreateObject<UniformRandomVariable>();
    Flows flows;
    std::ofstream traceFile;
    for (uint32_t i = 0; i < flowCount; ++i)
    {
        const double start = 1.0 + gap * i + (seed ? uniform->GetValue(0, jitter) : 0);
        flows.push_back(std::make_unique<Flow>(senders.Get(i), receivers.Get(i), 5000 + i, size, start));
    }
    if (!trace.empty())
    {
        traceFile.open(trace);
        traceFile.precision(9);
        flows.front()->Trace(&traceFile);
    }

    Json json;
    json.Add("scenario", "a").Add("cc", tcp.cc).Add("recovery", tcp.recovery).Add("sack", tcp.sack);
    json.Add("delack", tcp.delayedAck).Add("core", core).Add("queue", queue.kind).Add("mark", queue.markPackets);
    json.Add("access", access).Add("seed", seed);
    RunTimed(json, 400.0);
    AddFlows(json, flows, true);
    AddPorts(json, net);
    json.Print();
    Simulator::Destroy();
    return 0;
}
