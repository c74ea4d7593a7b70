// Copyright 2026 The Midpath developers
// SPDX-License-Identifier: Apache-2.0
//
// Scenario (b): N long flows over a 1 Gbps bottleneck, round trip 20 ms (1 ms + 8 ms + 1 ms each way), access at
// 10 Gbps, 10 s. Flow i uses host pair i mod `pairs`. Goodput is what the receivers have read at the end.

#include "support.h"

using namespace check;

int
main(int argc, char** argv)
{
    TcpOptions tcp;
    QueueOptions queue;
    uint32_t flowCount = 4;
    uint32_t pairs = 0;
    uint32_t seed = 1;
    double spread = 0.1;
    double stop = 10;
    CommandLine cmd;
    tcp.AddTo(cmd);
    cmd.AddValue("flows", "number of flows", flowCount);
    cmd.AddValue("pairs", "number of host pairs (0: one per flow, at most 32)", pairs);
    cmd.AddValue("bytes", "bottleneck buffer (0: the anchors' sizes)", queue.bytes);
    cmd.AddValue("queue", "device, disc or step", queue.kind);
    cmd.AddValue("mark", "marking threshold of --queue=step, packets", queue.markPackets);
    cmd.AddValue("spread", "starts are uniform in this many s", spread);
    cmd.AddValue("stop", "simulated s", stop);
    cmd.AddValue("seed", "seed of the starts", seed);
    tcp.buffer = 8u << 20;
    cmd.Parse(argc, argv);
    tcp.Apply();
    RngSeedManager::SetRun(seed);
    pairs = pairs ? pairs : std::min(flowCount, 32u);
    if (queue.bytes == 0)
    {
        // 1 Gbps x 20 ms for few flows, less for many (anchors).
        queue.bytes = flowCount >= 1024 ? 131'072 : flowCount >= 64 ? 524'288 : 2'500'000;
    }

    NodeContainer routers(2);
    NodeContainer senders(pairs);
    NodeContainer receivers(pairs);
    InternetStackHelper().InstallAll();
    Net net;
    QueueOptions ample;
    ample.bytes = 100u << 20; // the hosts' own links never lose anything
    for (uint32_t i = 0; i < pairs; ++i)
    {
        net.Link(senders.Get(i), routers.Get(0), "10Gbps", 0.001, ample);
        net.Link(routers.Get(1), receivers.Get(i), "10Gbps", 0.001, ample);
    }
    net.Link(routers.Get(0), routers.Get(1), "1Gbps", 0.008, queue);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    auto uniform = CreateObject<UniformRandomVariable>();
    Flows flows;
    for (uint32_t i = 0; i < flowCount; ++i)
    {
        flows.push_back(std::make_unique<Flow>(senders.Get(i % pairs),
                                               receivers.Get(i % pairs),
                                               5000 + i / pairs,
                                               uint64_t{1} << 40,
                                               uniform->GetValue(0, spread)));
    }
    Json json;
    json.Add("scenario", "b").Add("cc", tcp.cc).Add("buffer", queue.bytes);
    RunTimed(json, stop);
    AddFlows(json, flows, false);
    std::vector<double> goodput;
    for (const auto& flow : flows)
    {
        goodput.push_back(static_cast<double>(flow->Received()) * 8 / stop);
    }
    json.Add("goodput_bps", Mean(goodput) * static_cast<double>(flowCount)).Add("jain", Jain(goodput));
    AddPorts(json, net);
    json.Print();
    Simulator::Destroy();
    return 0;
}
