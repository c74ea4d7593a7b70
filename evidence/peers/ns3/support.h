// Copyright 2026 The Midpath developers
// SPDX-License-Identifier: Apache-2.0
//
// What the ns-3 reference programs share: links with a stated queue, TCP flows with the measures that
// Midpath reports, and one line of JSON at the end. Our own code; it only links to an installed ns-3.

#ifndef MIDPATH_CHECKS_NS3_SUPPORT_H
#define MIDPATH_CHECKS_NS3_SUPPORT_H

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace check
{

using namespace ns3;

/// TCP payload of a full packet: 1500 B less IPv4 (20), TCP (20) and the timestamp option with its padding (12).
constexpr uint32_t kMss = 1448;

/// Bytes of `rate` over `seconds`: the size of a buffer that is stated in time.
inline uint32_t
BytesAt(const std::string& rate, double seconds)
{
    return static_cast<uint32_t>(DataRate(rate).GetBitRate() * seconds / 8.0 + 0.5);
}

// ---------------------------------------------------------------------------------------------- TCP

/// The TCP settings of one run; the defaults are those of the anchors.
struct TcpOptions
{
    std::string cc = "TcpNewReno";
    std::string recovery = "TcpPrrRecovery"; // ns-3's own default
    bool sack = true;
    bool delayedAck = true;
    bool hystart = true;        // CUBIC only; ns-3's own default
    bool friendliness = true;   // CUBIC only; ns-3's own default
    bool pacing = false;
    uint32_t initialWindow = 10;
    double minRto = 1.0;        // s
    double delAckTimeout = 0.2; // s
    uint32_t buffer = 32u << 20;

    void AddTo(CommandLine& cmd)
    {
        cmd.AddValue("cc", "congestion control: TcpNewReno, TcpLinuxReno, TcpCubic, TcpDctcp", cc);
        cmd.AddValue("recovery", "TcpPrrRecovery or TcpClassicRecovery", recovery);
        cmd.AddValue("sack", "SACK on", sack);
        cmd.AddValue("delack", "delayed ACK (2 segments) on", delayedAck);
        cmd.AddValue("hystart", "CUBIC's HyStart on", hystart);
        cmd.AddValue("friendliness", "CUBIC's Reno-friendly region on", friendliness);
        cmd.AddValue("pacing", "pacing on", pacing);
        cmd.AddValue("iw", "initial window, segments", initialWindow);
        cmd.AddValue("minrto", "minimum RTO, s", minRto);
        cmd.AddValue("delackto", "delayed-ACK time-out, s", delAckTimeout);
        cmd.AddValue("sockbuf", "socket buffers, bytes", buffer);
    }

    bool Ecn() const
    {
        return cc == "TcpDctcp";
    }

    void Apply() const
    {
        auto type = [](const std::string& name) { return TypeIdValue(TypeId::LookupByName("ns3::" + name)); };
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", type(cc));
        Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", type(recovery));
        Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
        Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
        Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(minRto)));
        Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(Ecn() ? "On" : "Off"));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kMss));
        Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(initialWindow));
        Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delayedAck ? 2 : 1));
        Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(Seconds(delAckTimeout)));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
        Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(hystart));
        // Absent from 3.37, whose CUBIC has no Reno-friendly region.
        Config::SetDefaultFailSafe("ns3::TcpCubic::TcpFriendliness", BooleanValue(friendliness));
        Config::SetDefault("ns3::TcpSocketState::EnablePacing", BooleanValue(pacing));
    }
};

// -------------------------------------------------------------------------------------------- links

/// What one direction of a link lost or marked.
struct PortCount
{
    std::string name;
    uint64_t hops = 0; // packets that came over the link to here
    uint64_t drops = 0;
    uint64_t marks = 0;
    uint32_t maxBytes = 0;

    void Hop(Ptr<const Packet>)
    {
        ++hops;
    }

    void DeviceDrop(Ptr<const Packet>)
    {
        ++drops;
    }

    void DiscDrop(Ptr<const QueueDiscItem>)
    {
        ++drops;
    }

    void DiscMark(Ptr<const QueueDiscItem>, const char*)
    {
        ++marks;
    }

    void Bytes(uint32_t, uint32_t now)
    {
        maxBytes = std::max(maxBytes, now);
    }
};

/// Where a port keeps its packets. `device`: the point-to-point device's own drop-tail queue, no traffic
/// control. `disc`: a FIFO queue disc above a device queue of one packet. `step`: RED with min = max
/// threshold and ECN, which is DCTCP's marking, above a device queue of one packet.
struct QueueOptions
{
    std::string kind = "device";
    uint32_t bytes = 0;
    double markPackets = 0; // `step` only
};

/// The network of one run: point-to-point links, addressed one by one, and their counters.
class Net
{
  public:
    Net()
    {
        m_net = this;
        m_address.SetBase("10.0.0.0", "255.255.255.252");
    }

    /// One duplex link; each direction has its own queue.
    void Link(Ptr<Node> a, Ptr<Node> b, const std::string& rate, double delay, const QueueOptions& q)
    {
        PointToPointHelper p2p;
        p2p.SetDeviceAttribute("DataRate", StringValue(rate));
        p2p.SetDeviceAttribute("Mtu", UintegerValue(1500));
        p2p.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
        const bool inDevice = q.kind == "device";
        if (inDevice)
        {
            // Else the traffic-control layer drops on a full device, and no trace says at which port.
            p2p.DisableFlowControl();
        }
        // A whole number of bytes or one packet; PPP's 2 B count in the device, not in the disc.
        p2p.SetQueue("ns3::DropTailQueue<Packet>",
                     "MaxSize",
                     StringValue(inDevice ? std::to_string(q.bytes) + "B" : "1p"));
        NetDeviceContainer devices = p2p.Install(a, b);
        QueueDiscContainer discs;
        TrafficControlHelper tc;
        if (q.kind == "disc")
        {
            tc.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(std::to_string(q.bytes) + "B"));
        }
        else if (q.kind == "step")
        {
            tc.SetRootQueueDisc("ns3::RedQueueDisc",
                                "MaxSize", StringValue(std::to_string(q.bytes / 1500) + "p"),
                                "MinTh", DoubleValue(q.markPackets),
                                "MaxTh", DoubleValue(q.markPackets),
                                "QW", DoubleValue(1.0), // the queue itself, no average
                                "Gentle", BooleanValue(false),
                                "UseEcn", BooleanValue(true),
                                "UseHardDrop", BooleanValue(false),
                                "MeanPktSize", UintegerValue(1500),
                                "LinkBandwidth", StringValue(rate),
                                "LinkDelay", TimeValue(Seconds(delay)));
        }
        if (!inDevice)
        {
            discs = tc.Install(devices);
        }
        m_address.Assign(devices);
        m_address.NewNetwork();
        for (uint32_t side = 0; side < 2; ++side)
        {
            // Assign() may have put ns-3's default, FqCoDel, above the device.
            if (inDevice && (side ? b : a)->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(devices.Get(side)))
            {
                tc.Uninstall(devices.Get(side));
            }
            Count(devices.Get(side), inDevice ? nullptr : discs.Get(side), side ? b : a, side ? a : b);
        }
    }

    const std::vector<std::unique_ptr<PortCount>>& Ports() const
    {
        return m_ports;
    }

    uint64_t Drops() const
    {
        return std::accumulate(m_ports.begin(), m_ports.end(), uint64_t{0}, [](uint64_t sum, const auto& port) {
            return sum + port->drops;
        });
    }

    uint64_t Marks() const
    {
        return std::accumulate(m_ports.begin(), m_ports.end(), uint64_t{0}, [](uint64_t sum, const auto& port) {
            return sum + port->marks;
        });
    }

    /// Packets that crossed a link, so far.
    static uint64_t Hops()
    {
        const auto add = [](uint64_t sum, const auto& port) { return sum + port->hops; };
        return std::accumulate(m_net->m_ports.begin(), m_net->m_ports.end(), uint64_t{0}, add);
    }

    /// The first address of `node` that isn't the loopback.
    static Ipv4Address AddressOf(Ptr<Node> node)
    {
        return node->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
    }

  private:
    void Count(Ptr<NetDevice> device, Ptr<QueueDisc> disc, Ptr<Node> from, Ptr<Node> to)
    {
        auto port = std::make_unique<PortCount>();
        port->name = std::to_string(from->GetId()) + ">" + std::to_string(to->GetId());
        device->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&PortCount::Hop, port.get()));
        if (disc)
        {
            disc->TraceConnectWithoutContext("Drop", MakeCallback(&PortCount::DiscDrop, port.get()));
            disc->TraceConnectWithoutContext("Mark", MakeCallback(&PortCount::DiscMark, port.get()));
            disc->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&PortCount::Bytes, port.get()));
        }
        else
        {
            auto queue = DynamicCast<PointToPointNetDevice>(device)->GetQueue();
            queue->TraceConnectWithoutContext("Drop", MakeCallback(&PortCount::DeviceDrop, port.get()));
            queue->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&PortCount::Bytes, port.get()));
        }
        m_ports.push_back(std::move(port));
    }

    static inline const Net* m_net = nullptr;
    Ipv4AddressHelper m_address;
    std::vector<std::unique_ptr<PortCount>> m_ports;
};

// -------------------------------------------------------------------------------------------- flows

/// One TCP flow: connects at `start`, sends `size` bytes, closes. FCT runs from the call to connect until the
/// receiver has read the last byte.
class Flow
{
  public:
    Flow(Ptr<Node> from, Ptr<Node> to, uint16_t port, uint64_t size, double start)
        : m_from(from), m_to(to), m_port(port), m_left(size), m_size(size), m_start(start)
    {
        Simulator::ScheduleWithContext(to->GetId(), Seconds(0), &Flow::Listen, this);
        Simulator::ScheduleWithContext(from->GetId(), Seconds(start), &Flow::Connect, this);
    }

    Flow(const Flow&) = delete;

    /// Seconds, or a negative number while unfinished.
    double Fct() const
    {
        return m_end < 0 ? -1 : m_end - m_start;
    }

    double Start() const { return m_start; }
    uint64_t Size() const { return m_size; }
    uint64_t Received() const { return m_received; }
    uint64_t Sent() const { return m_sent; }
    uint64_t Retransmitted() const { return m_retransmitted; }
    uint64_t Timeouts() const { return m_timeouts; }

    /// Writes cwnd, ssthresh, state, RTT and RTO changes, one per line: time, name, value.
    void Trace(std::ostream* out)
    {
        m_trace = out;
    }

  private:
    void Listen()
    {
        m_listener = Socket::CreateSocket(m_to, TcpSocketFactory::GetTypeId());
        m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), m_port));
        m_listener->Listen();
        m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      MakeCallback(&Flow::Accepted, this));
    }

    void Accepted(Ptr<Socket> socket, const Address&)
    {
        m_receiver = socket;
        socket->SetRecvCallback(MakeCallback(&Flow::Read, this));
        socket->SetCloseCallbacks(MakeCallback(&Flow::PeerClosed, this), MakeNullCallback<void, Ptr<Socket>>());
    }

    void PeerClosed(Ptr<Socket> socket)
    {
        socket->Close();
    }

    void Read(Ptr<Socket> socket)
    {
        while (Ptr<Packet> p = socket->Recv())
        {
            if (p->GetSize() == 0)
            {
                break;
            }
            m_received += p->GetSize();
        }
        if (m_received >= m_size && m_end < 0)
        {
            m_end = Simulator::Now().GetSeconds();
        }
    }

    void Connect()
    {
        m_sender = Socket::CreateSocket(m_from, TcpSocketFactory::GetTypeId());
        m_sender->Bind();
        m_sender->TraceConnectWithoutContext("Tx", MakeCallback(&Flow::Transmitted, this));
        m_sender->TraceConnectWithoutContext("CongState", MakeCallback(&Flow::State, this));
        if (m_trace)
        {
            m_sender->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Flow::Cwnd, this));
            m_sender->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&Flow::Ssthresh, this));
            m_sender->TraceConnectWithoutContext("BytesInFlight", MakeCallback(&Flow::InFlight, this));
            m_sender->TraceConnectWithoutContext("RTT", MakeCallback(&Flow::Rtt, this));
            m_sender->TraceConnectWithoutContext("RTO", MakeCallback(&Flow::Rto, this));
        }
        m_sender->SetConnectCallback(MakeCallback(&Flow::Connected, this), MakeNullCallback<void, Ptr<Socket>>());
        m_sender->SetSendCallback(MakeCallback(&Flow::Room, this));
        m_sender->Connect(InetSocketAddress(Net::AddressOf(m_to), m_port));
    }

    void Connected(Ptr<Socket>)
    {
        Fill();
    }

    void Room(Ptr<Socket>, uint32_t)
    {
        Fill();
    }

    void Fill()
    {
        while (m_left > 0)
        {
            const uint64_t room = m_sender->GetTxAvailable();
            const auto n = static_cast<uint32_t>(std::min({m_left, room, uint64_t{10 * kMss}}));
            // Whole segments only, so that the buffer's edge never cuts one.
            if (n == 0 || (n < kMss && n < m_left) || m_sender->Send(Create<Packet>(n)) <= 0)
            {
                return;
            }
            m_left -= n;
        }
        if (!m_closed)
        {
            m_closed = true;
            m_sender->Close();
        }
    }

    void Transmitted(Ptr<const Packet> p, const TcpHeader& header, Ptr<const TcpSocketBase>)
    {
        if (p->GetSize() == 0)
        {
            return;
        }
        ++m_sent;
        if (m_sent > 1 && header.GetSequenceNumber() < m_next)
        {
            ++m_retransmitted;
        }
        m_next = std::max(m_next, header.GetSequenceNumber() + SequenceNumber32(p->GetSize()));
    }

    void State(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
    {
        m_timeouts += now == TcpSocketState::CA_LOSS;
        if (m_trace)
        {
            Line("state", TcpSocketState::TcpCongStateName[now]);
        }
    }

    template <typename T>
    void Line(const char* name, T value)
    {
        *m_trace << Simulator::Now().GetSeconds() - m_start << ' ' << name << ' ' << value << '\n';
    }

    void Cwnd(uint32_t, uint32_t now) { Line("cwnd", now); }
    void Ssthresh(uint32_t, uint32_t now) { Line("ssthresh", now); }
    void InFlight(uint32_t, uint32_t now) { Line("inflight", now); }
    void Rtt(Time, Time now) { Line("srtt", now.GetSeconds()); }
    void Rto(Time, Time now) { Line("rto", now.GetSeconds()); }

    Ptr<Node> m_from;
    Ptr<Node> m_to;
    uint16_t m_port;
    uint64_t m_left;
    uint64_t m_size;
    double m_start;
    double m_end = -1;
    uint64_t m_received = 0;
    uint64_t m_sent = 0;
    uint64_t m_retransmitted = 0;
    uint64_t m_timeouts = 0;
    bool m_closed = false;
    SequenceNumber32 m_next{0};
    Ptr<Socket> m_listener;
    Ptr<Socket> m_receiver;
    Ptr<Socket> m_sender;
    std::ostream* m_trace = nullptr;
};

using Flows = std::vector<std::unique_ptr<Flow>>;

// ------------------------------------------------------------------------------------------- output

/// One flat JSON object on one line.
class Json
{
  public:
    template <typename T>
    Json& Add(const std::string& key, const T& value)
    {
        std::ostringstream text;
        text.precision(9);
        text << value;
        return Raw(key, text.str());
    }

    Json& Add(const std::string& key, bool value)
    {
        return Raw(key, value ? "true" : "false");
    }

    Json& Add(const std::string& key, const std::string& value)
    {
        return Raw(key, '"' + value + '"');
    }

    Json& Add(const std::string& key, const char* value)
    {
        return Add(key, std::string(value));
    }

    template <typename T>
    Json& Add(const std::string& key, const std::vector<T>& values)
    {
        std::ostringstream text;
        text.precision(9);
        for (const auto& value : values)
        {
            text << (text.tellp() > 0 ? "," : "") << value;
        }
        return Raw(key, '[' + text.str() + ']');
    }

    Json& Raw(const std::string& key, const std::string& value)
    {
        m_text += (m_text.empty() ? "\"" : ",\"") + key + "\":" + value;
        return *this;
    }

    void Print() const
    {
        std::cout << '{' << m_text << '}' << std::endl;
    }

  private:
    std::string m_text;
};

/// (sum x)^2 / (n sum x^2), Jain's fairness index.
inline double
Jain(const std::vector<double>& x)
{
    const double sum = std::accumulate(x.begin(), x.end(), 0.0);
    const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
    return squares > 0 ? sum * sum / (static_cast<double>(x.size()) * squares) : 0;
}

inline double
Mean(const std::vector<double>& x)
{
    return x.empty() ? 0 : std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

/// Drops, marks and the largest queue of each port that lost or marked anything.
inline void
AddPorts(Json& json, const Net& net)
{
    Json ports;
    std::string text;
    for (const auto& port : net.Ports())
    {
        if (port->drops || port->marks)
        {
            std::ostringstream one;
            one << (text.empty() ? "" : ",") << '"' << port->name << "\":{\"drops\":" << port->drops
                << ",\"marks\":" << port->marks << ",\"max_bytes\":" << port->maxBytes << '}';
            text += one.str();
        }
    }
    json.Add("drops", net.Drops()).Add("marks", net.Marks()).Raw("ports", '{' + text + '}');
}

/// Sizes, FCTs, and what the senders did.
inline void
AddFlows(Json& json, const Flows& flows, bool list)
{
    std::vector<double> fct;
    std::vector<double> goodput;
    uint64_t retransmitted = 0;
    uint64_t sent = 0;
    uint64_t timeouts = 0;
    for (const auto& flow : flows)
    {
        retransmitted += flow->Retransmitted();
        sent += flow->Sent();
        timeouts += flow->Timeouts();
        if (flow->Fct() >= 0)
        {
            fct.push_back(flow->Fct());
            goodput.push_back(static_cast<double>(flow->Size()) * 8 / flow->Fct());
        }
    }
    json.Add("flows", flows.size()).Add("completed", fct.size());
    if (list)
    {
        json.Add("fct_s", fct);
    }
    json.Add("afct_s", Mean(fct))
        .Add("fct_max_s", fct.empty() ? 0.0 : *std::max_element(fct.begin(), fct.end()))
        .Add("jain_goodput", Jain(goodput))
        .Add("sent", sent)
        .Add("retransmitted", retransmitted)
        .Add("timeouts", timeouts);
}

/// User and system time of this process, s: what the run cost even if others share the core.
inline double
CpuSeconds()
{
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
    return seconds(use.ru_utime) + seconds(use.ru_stime);
}

/// Runs the simulation and adds what it cost.
inline void
RunTimed(Json& json, double stop)
{
    Simulator::Stop(Seconds(stop));
    const auto begin = std::chrono::steady_clock::now();
    const double cpuBegin = CpuSeconds();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    const double cpu = CpuSeconds() - cpuBegin;
    json.Add("packet_hops", Net::Hops())
        .Add("wall_s", wall.count())
        .Add("cpu_s", cpu)
        .Add("mhops_per_cpu_s", static_cast<double>(Net::Hops()) / cpu / 1e6);
}

} // namespace check

#endif
