// Copyright 2026 The Midpath developers
// SPDX-License-Identifier: Apache-2.0
//
// Scenario (e): the FCP paper's short flows. Poisson arrivals of flows with Pareto sizes (shape 1.2) over one
// 150 Mbps bottleneck, round trip 100 ms, a buffer of one bandwidth-delay product, 30 s of arrivals.

#include "support.h"

using namespace check;

int
main(int argc, char** argv)
{
    TcpOptions tcp;
    tcp.buffer = 4u << 20;
    QueueOptions queue;
    queue.bytes = 1'875'000; // 150 Mbps x 100 ms
    uint32_t pairs = 16;
    uint32_t seed = 1;
    double rate = 438;
    double mean = 30'000;
    double shape = 1.2;
    double stop = 30;
    CommandLine cmd;
    tcp.AddTo(cmd);
    cmd.AddValue("pairs", "host pairs that the flows take in turn", pairs);
    cmd.AddValue("seed", "seed of arrivals and sizes", seed);
    cmd.AddValue("rate", "flows per s", rate);
    cmd.AddValue("mean", "mean size, bytes", mean);
    cmd.AddValue("shape", "Pareto shape", shape);
    cmd.AddValue("stop", "s of arrivals", stop);
    cmd.AddValue("queue", "device or disc", queue.kind);
    cmd.AddValue("bytes", "bottleneck buffer", queue.bytes);
    cmd.Parse(argc, argv);
    tcp.Apply();
    RngSeedManager::SetRun(seed);

    NodeContainer routers(2);
    NodeContainer senders(pairs);
    NodeContainer receivers(pairs);
    InternetStackHelper().InstallAll();
    Net net;
    QueueOptions ample;
    ample.bytes = 100u << 20;
    for (uint32_t i = 0; i < pairs; ++i)
    {
        net.Link(senders.Get(i), routers.Get(0), "1Gbps", 0.005, ample);
        net.Link(routers.Get(1), receivers.Get(i), "1Gbps", 0.005, ample);
    }
    net.Link(routers.Get(0), routers.Get(1), "150Mbps", 0.04, queue);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    auto gap = CreateObject<ExponentialRandomVariable>();
    gap->SetAttribute("Mean", DoubleValue(1 / rate));
    auto sizes = CreateObject<ParetoRandomVariable>();
    sizes->SetAttribute("Scale", DoubleValue(mean * (shape - 1) / shape));
    sizes->SetAttribute("Shape", DoubleValue(shape));
    Flows flows;
    uint64_t offered = 0;
    for (double t = gap->GetValue(); t < stop; t += gap->GetValue())
    {
        const auto i = static_cast<uint32_t>(flows.size());
        const auto size = static_cast<uint64_t>(sizes->GetValue() + 0.5);
        offered += size;
        flows.push_back(std::make_unique<Flow>(senders.Get(i % pairs),
                                               receivers.Get(i % pairs),
                                               static_cast<uint16_t>(1024 + i / pairs),
                                               size,
                                               t));
    }
    Json json;
    json.Add("scenario", "e").Add("cc", tcp.cc).Add("iw", tcp.initialWindow).Add("seed", seed);
    json.Add("mean_size", static_cast<double>(offered) / static_cast<double>(flows.size()));
    RunTimed(json, stop + 30);
    AddFlows(json, flows, false);
    AddPorts(json, net);
    json.Print();
    Simulator::Destroy();
    return 0;
}
