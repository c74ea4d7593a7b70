// Copyright 2026 The Midpath developers
// SPDX-License-Identifier: Apache-2.0
//
// A list of flows over a fat-tree, each pair of hosts on a path that the list names, and routing that keeps to it.
// ns-3's own routing has the first shortest path or a random one for each packet.

#ifndef MIDPATH_CHECKS_NS3_FATTREE_PATHS_H
#define MIDPATH_CHECKS_NS3_FATTREE_PATHS_H

#include "support.h"

#include <stdexcept>
#include <tuple>
#include <utility>

namespace check
{

/// One line of the list: "src dst bytes start_ns aggregation core".
struct Listed
{
    uint32_t from, to;
    uint64_t bytes, startNs;
    uint32_t aggregation, core;
};

inline std::vector<Listed>
ReadList(const std::string& file)
{
    std::ifstream in(file);
    std::vector<Listed> rows;
    Listed row;
    while (in >> row.from >> row.to >> row.bytes >> row.startNs >> row.aggregation >> row.core)
    {
        rows.push_back(row);
    }
    if (rows.empty())
    {
        throw std::runtime_error("no flows in " + file);
    }
    return rows;
}

/// Which way each pair of hosts takes, there and back, and which host an address is of.
class Paths
{
  public:
    explicit Paths(uint32_t k) : half(k / 2), m_way(k * half * half) {}

    void Add(const Listed& row)
    {
        m_way[row.from][row.to] = m_way[row.to][row.from] = {row.aggregation, row.core};
    }

    /// Both ends of the host's link are of its subnet.
    void Address(Ipv4Address address, uint32_t host)
    {
        const uint32_t subnet = address.Get() >> 2 & 0x3fffff;
        m_hosts.resize(std::max<size_t>(m_hosts.size(), subnet + 1));
        m_hosts[subnet] = host;
    }

    uint32_t Host(Ipv4Address address) const { return m_hosts[address.Get() >> 2 & 0x3fffff]; }

    std::pair<uint32_t, uint32_t> Way(uint32_t from, uint32_t to) const { return m_way[from].at(to); }

    const uint32_t half;

  private:
    std::vector<std::map<uint32_t, std::pair<uint32_t, uint32_t>>> m_way;
    std::vector<uint32_t> m_hosts;
};

/// Where a node is in the tree. Its interfaces count from 1 in the order of its links.
struct Place
{
    enum
    {
        host,
        edge,
        aggregation,
        core
    } layer = host;
    uint32_t index = 0;
};

class PathRouting : public Ipv4RoutingProtocol
{
  public:
    PathRouting(const Paths* paths, Place place) : m_paths(paths), m_place(place) {}

    static TypeId GetTypeId()
    {
        static const TypeId id = TypeId("check::PathRouting").SetParent<Ipv4RoutingProtocol>();
        return id;
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header&, Ptr<NetDevice>, Socket::SocketErrno& error) override
    {
        error = Socket::ERROR_NOTERROR;
        return Out(1);
    }

    // By reference since 3.38, by value before: one of the two stands in for ns-3's.
    virtual bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice> device,
                            const UnicastForwardCallback& forward, const MulticastForwardCallback&,
                            const LocalDeliverCallback& deliver, const ErrorCallback&)
    {
        return Route(packet, header, device, forward, deliver);
    }

    virtual bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice> device,
                            UnicastForwardCallback forward, MulticastForwardCallback, LocalDeliverCallback deliver,
                            ErrorCallback)
    {
        return Route(packet, header, device, forward, deliver);
    }

    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void SetIpv4(Ptr<Ipv4> ipv4) override { m_ipv4 = ipv4; }
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  private:
    bool Route(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice> device,
               const UnicastForwardCallback& forward, const LocalDeliverCallback& deliver)
    {
        if (m_place.layer == Place::host)
        {
            deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
        }
        else
        {
            forward(Out(Interface(m_paths->Host(header.GetSource()), m_paths->Host(header.GetDestination()))),
                    packet,
                    header);
        }
        return true;
    }

    uint32_t Interface(uint32_t from, uint32_t to) const
    {
        const uint32_t half = m_paths->half;
        const uint32_t edge = to / half;
        const uint32_t pod = edge / half;
        switch (m_place.layer)
        {
        case Place::edge:
            return edge == m_place.index ? 1 + 2 * (to % half) : 2 + 2 * m_paths->Way(from, to).first;
        case Place::aggregation:
            return pod == m_place.index / half ? 1 + edge % half : 1 + half + m_paths->Way(from, to).second;
        default:
            return 1 + pod;
        }
    }

    /// One route for each interface, made when it is first asked for.
    Ptr<Ipv4Route> Out(uint32_t interface)
    {
        m_routes.resize(std::max<size_t>(m_routes.size(), interface + 1));
        if (!m_routes[interface])
        {
            m_routes[interface] = Create<Ipv4Route>();
            m_routes[interface]->SetSource(m_ipv4->GetAddress(interface, 0).GetLocal());
            m_routes[interface]->SetGateway(Ipv4Address::GetZero()); // the link has one other end
            m_routes[interface]->SetOutputDevice(m_ipv4->GetNetDevice(interface));
        }
        return m_routes[interface];
    }

    const Paths* m_paths;
    Place m_place;
    Ptr<Ipv4> m_ipv4;
    std::vector<Ptr<Ipv4Route>> m_routes;
};

/// Gives nodes `PathRouting`, by their place.
class PathRoutingHelper : public Ipv4RoutingHelper
{
  public:
    explicit PathRoutingHelper(const Paths* paths) : m_paths(paths) {}

    void Put(const NodeContainer& nodes, Place place)
    {
        for (uint32_t i = 0; i < nodes.GetN(); ++i)
        {
            m_places[nodes.Get(i)->GetId()] = {place.layer, i};
        }
    }

    PathRoutingHelper* Copy() const override { return new PathRoutingHelper(*this); }

    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node> node) const override
    {
        return ns3::Create<PathRouting>(m_paths, m_places.at(node->GetId()));
    }

  private:
    const Paths* m_paths;
    std::map<uint32_t, Place> m_places;
};

} // namespace check

#endif
