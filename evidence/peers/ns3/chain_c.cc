// Copyright 2026 The Midpath developers
// SPDX-License-Identifier: Apache-2.0
//
// Scenario (c): UDP at a constant bit rate through a chain of 8 routers (9 links), 1 Gbps, IP packets of 1500 B
// sent back to back (1502 B each with PPP), 2 s. No transport: what forwarding alone costs.

#include "support.h"

using namespace check;

namespace
{

/// Sends one packet every `interval`, for ever.
void
Send(Ptr<Socket> socket, Time interval)
{
    socket->Send(Create<Packet>(1472)); // 1500 less IPv4 (20) and UDP (8)
    Simulator::Schedule(interval, &Send, socket, interval);
}

void
Read(Ptr<Socket> socket)
{
    while (socket->Recv())
    {
    }
}

} // namespace

int
main(int argc, char** argv)
{
    uint32_t routerCount = 8;
    double stop = 2;
    CommandLine cmd;
    cmd.AddValue("routers", "routers in the chain", routerCount);
    cmd.AddValue("stop", "simulated s", stop);
    cmd.Parse(argc, argv);

    NodeContainer nodes(routerCount + 2);
    InternetStackHelper().InstallAll();
    Net net;
    QueueOptions queue;
    queue.bytes = 1'000'000;
    for (uint32_t i = 0; i + 1 < nodes.GetN(); ++i)
    {
        net.Link(nodes.Get(i), nodes.Get(i + 1), "1Gbps", 0.001, queue);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    const Ptr<Node> last = nodes.Get(nodes.GetN() - 1);
    auto receiver = Socket::CreateSocket(last, UdpSocketFactory::GetTypeId());
    receiver->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
    receiver->SetRecvCallback(MakeCallback(&Read));
    auto sender = Socket::CreateSocket(nodes.Get(0), UdpSocketFactory::GetTypeId());
    sender->Connect(InetSocketAddress(Net::AddressOf(last), 9));
    Simulator::ScheduleWithContext(nodes.Get(0)->GetId(), Seconds(0), &Send, sender, NanoSeconds(12'016));

    Json json;
    json.Add("scenario", "c").Add("routers", routerCount);
    RunTimed(json, stop);
    AddPorts(json, net);
    json.Print();
    Simulator::Destroy();
    return 0;
}
