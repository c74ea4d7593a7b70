// Copyright 2026 The Midpath developers
// SPDX-License-Identifier: Apache-2.0
//
// Scenario (f): AQMs and flow queueing at one bottleneck of 10 Mbps, 20 ms, between links of 100 Mbps, 1 ms. Long TCP
// flows that start in the first second, or datagrams with Poisson arrivals, and, if asked for, sparse flows: one
// datagram of 228 bytes each, every `sparse` seconds, every one a flow of its own. What the bottleneck did counts from
// `from` on. Sojourn is in the queue disc; the device below it holds one packet, and until that starts is `wire_wait_s`.
// `lost` and `again`, of each flow over the whole run, are packets that were dropped and that were sent once more.

#include "support.h"

#include <map>

using namespace check;

namespace
{

struct Bottleneck
{
    Time from;
    uint64_t sent = 0;
    uint64_t drops = 0;
    uint64_t bytes = 0;
    std::vector<double> bulk;
    std::vector<double> sparse;
    std::vector<double> onWire;
    std::map<uint64_t, Time> came;
    std::map<uint16_t, uint64_t> lost;

    void Drop(Ptr<const QueueDiscItem> item)
    {
        drops += Simulator::Now() >= from;
        TcpHeader tcp;
        if (item->GetPacket()->PeekHeader(tcp))
        {
            ++lost[tcp.GetDestinationPort()];
        }
    }

    void Start(Ptr<const Packet> packet)
    {
        const auto found = came.find(packet->GetUid());
        if (found != came.end())
        {
            onWire.push_back((Simulator::Now() - found->second).GetSeconds());
            came.erase(found);
        }
    }

    void Dequeue(Ptr<const QueueDiscItem> item)
    {
        if (Simulator::Now() < from)
        {
            return;
        }
        ++sent;
        bytes += item->GetSize();
        const double waited = (Simulator::Now() - item->GetTimeStamp()).GetSeconds();
        const bool isSparse = item->GetSize() < 300 && item->GetSize() > 200;
        (isSparse ? sparse : bulk).push_back(waited);
        if (!isSparse)
        {
            came[item->GetPacket()->GetUid()] = item->GetTimeStamp();
        }
    }
};

double
Quantile(std::vector<double> x, double q)
{
    std::sort(x.begin(), x.end());
    return x.empty() ? 0 : x[std::min(x.size() - 1, static_cast<std::size_t>(q * static_cast<double>(x.size())))];
}

/// Sends datagrams of `size` payload bytes: at Poisson times from one port, or at regular times from a port each.
class Datagrams
{
  public:
    Datagrams(Ptr<Node> from, Ptr<Node> to, uint16_t port, uint32_t size, double gap, bool sparse)
        : m_from(from), m_to(to), m_port(port), m_size(size), m_gap(gap), m_sparse(sparse)
    {
        m_random = CreateObject<ExponentialRandomVariable>();
        m_random->SetAttribute("Mean", DoubleValue(gap));
        auto sink = Socket::CreateSocket(to, UdpSocketFactory::GetTypeId());
        sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        m_sink = sink;
        Simulator::ScheduleWithContext(from->GetId(), Seconds(1), &Datagrams::Send, this);
    }

  private:
    void Send()
    {
        if (!m_socket || m_sparse)
        {
            if (m_socket)
            {
                m_socket->Close();
            }
            m_socket = Socket::CreateSocket(m_from, UdpSocketFactory::GetTypeId());
            m_socket->Bind();
            m_socket->Connect(InetSocketAddress(Net::AddressOf(m_to), m_port));
        }
        m_socket->Send(Create<Packet>(m_size));
        Simulator::Schedule(Seconds(m_sparse ? m_gap : m_random->GetValue()), &Datagrams::Send, this);
    }

    Ptr<Node> m_from;
    Ptr<Node> m_to;
    uint16_t m_port;
    uint32_t m_size;
    double m_gap;
    bool m_sparse;
    Ptr<ExponentialRandomVariable> m_random;
    Ptr<Socket> m_socket;
    Ptr<Socket> m_sink;
};

} // namespace

int
main(int argc, char** argv)
{
    TcpOptions tcp;
    tcp.recovery = "TcpClassicRecovery";
    std::string kind = "ns3::PieQueueDisc";
    uint32_t flowCount = 5;
    uint32_t seed = 1;
    double load = 0;
    double sparse = 0;
    double from = 20;
    double stop = 120;
    bool derandomize = true;
    CommandLine cmd;
    tcp.AddTo(cmd);
    cmd.AddValue("disc", "ns3::PieQueueDisc, FqCoDelQueueDisc, FqPieQueueDisc, CoDelQueueDisc", kind);
    cmd.AddValue("flows", "long TCP flows", flowCount);
    cmd.AddValue("load", "datagrams' rate over the bottleneck's", load);
    cmd.AddValue("sparse", "seconds between sparse flows, 0 for none", sparse);
    cmd.AddValue("from", "s", from);
    cmd.AddValue("stop", "s", stop);
    cmd.AddValue("seed", "seed", seed);
    cmd.AddValue("derandomize", "PIE's derandomization", derandomize);
    cmd.Parse(argc, argv);
    tcp.Apply();
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    // RFC 8033's defaults; a mean packet as long as the longest, as Midpath has it.
    Config::SetDefault("ns3::PieQueueDisc::MeanPktSize", UintegerValue(1500));
    Config::SetDefault("ns3::PieQueueDisc::QueueDelayReference", TimeValue(MilliSeconds(15)));
    Config::SetDefault("ns3::PieQueueDisc::MaxBurstAllowance", TimeValue(MilliSeconds(150)));
    Config::SetDefault("ns3::PieQueueDisc::Tupdate", TimeValue(MilliSeconds(15)));
    Config::SetDefault("ns3::PieQueueDisc::UseDerandomization", BooleanValue(derandomize));
    Config::SetDefault("ns3::PieQueueDisc::MaxSize", StringValue("1000p"));
    Config::SetDefault("ns3::CoDelQueueDisc::MinBytes", UintegerValue(1500));

    const uint32_t pairs = flowCount + 2;
    NodeContainer routers(2);
    NodeContainer senders(pairs);
    NodeContainer receivers(pairs);
    InternetStackHelper stack;
    stack.InstallAll();
    Net net;
    QueueOptions plain;
    plain.bytes = 10'000'000;
    for (uint32_t i = 0; i < pairs; ++i)
    {
        net.Link(senders.Get(i), routers.Get(0), "100Mbps", 0.001, plain);
        net.Link(routers.Get(1), receivers.Get(i), "100Mbps", 0.001, plain);
    }
    PointToPointHelper p2p;
    p2p.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    p2p.SetDeviceAttribute("Mtu", UintegerValue(1500));
    p2p.SetChannelAttribute("Delay", StringValue("20ms"));
    p2p.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    NetDeviceContainer devices = p2p.Install(routers);
    TrafficControlHelper tc;
    tc.SetRootQueueDisc(kind, "MaxSize", StringValue("1000p"));
    auto disc = tc.Install(devices.Get(0)).Get(0);
    Ipv4AddressHelper address("10.200.0.0", "255.255.255.252");
    address.Assign(devices);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Bottleneck at;
    at.from = Seconds(from);
    disc->TraceConnectWithoutContext("Drop", MakeCallback(&Bottleneck::Drop, &at));
    disc->TraceConnectWithoutContext("Dequeue", MakeCallback(&Bottleneck::Dequeue, &at));
    devices.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Bottleneck::Start, &at));

    auto uniform = CreateObject<UniformRandomVariable>();
    Flows flows;
    for (uint32_t i = 0; i < flowCount; ++i)
    {
        const double start = uniform->GetValue(0, 1);
        flows.push_back(std::make_unique<Flow>(senders.Get(i), receivers.Get(i), 5000 + i, 1'000'000'000, start));
    }
    std::vector<std::unique_ptr<Datagrams>> datagrams;
    if (load > 0)
    {
        // 1500 bytes on the link: 1472 of payload.
        datagrams.push_back(std::make_unique<Datagrams>(
            senders.Get(pairs - 1), receivers.Get(pairs - 1), 9000, 1472, 12000 / (load * 10e6), false));
    }
    if (sparse > 0)
    {
        datagrams.push_back(std::make_unique<Datagrams>(
            senders.Get(pairs - 2), receivers.Get(pairs - 2), 9001, 200, sparse, true));
    }

    Json json;
    json.Add("scenario", "f").Add("disc", kind).Add("flows", flowCount).Add("load", load).Add("sparse", sparse);
    json.Add("seed", seed);
    RunTimed(json, stop);
    const auto drops = static_cast<double>(at.drops);
    json.Add("use", static_cast<double>(at.bytes) * 8 / (10e6 * (stop - from)))
        .Add("drop_share", drops / (drops + static_cast<double>(at.sent)))
        .Add("wait_s", Mean(at.bulk))
        .Add("wait_p99_s", Quantile(at.bulk, 0.99))
        .Add("sparse_wait_s", Mean(at.sparse))
        .Add("sparse_wait_max_s", at.sparse.empty() ? 0.0 : *std::max_element(at.sparse.begin(), at.sparse.end()))
        .Add("wire_wait_s", Mean(at.onWire));
    std::string lost;
    std::string again;
    for (uint32_t i = 0; i < flowCount; ++i)
    {
        lost += (i ? " " : "") + std::to_string(at.lost[5000 + i]);
        again += (i ? " " : "") + std::to_string(flows[i]->Retransmitted());
    }
    json.Add("lost", lost).Add("again", again);
    json.Print();
    Simulator::Destroy();
    return 0;
}
