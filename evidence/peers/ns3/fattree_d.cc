// Copyright 2026 The Midpath developers
// SPDX-License-Identifier: Apache-2.0
//
// Scenario (d): a fat-tree of k = 4 (16 hosts, 20 switches), 10 Gbps, 1 us a link, a random permutation of 20 MB
// flows that all start at 0, minimum RTO 10 ms, delayed ACK 1 ms; DCTCP marks at a step. `ecmp`: every packet
// takes a random one of the shortest paths, else all take the first. `list`: the flows and their paths from a file
// instead, as evidence/peers writes it, and `out` for their completion times. `threads`: UNISON with so many.

#include "fattree_paths.h"

#if __has_include("ns3/mtp-interface.h")
#include "ns3/mtp-interface.h"
#endif

using namespace check;

namespace
{

struct Options
{
    TcpOptions tcp;
    QueueOptions queue;
    uint32_t k = 4;
    uint32_t seed = 1;
    uint64_t size = 20'000'000;
    bool ecmp = true;
    std::string list;
    std::string out;
    uint32_t threads = 0;

    Options()
    {
        tcp.cc = "TcpDctcp";
        tcp.minRto = 0.01;
        tcp.delAckTimeout = 0.001;
        queue.kind = "step";
        queue.bytes = 1'500'000;
        queue.markPackets = 65; // the DCTCP paper's K at 10 Gbps
    }

    void Read(int argc, char** argv)
    {
        CommandLine cmd;
        tcp.AddTo(cmd);
        cmd.AddValue("k", "arity", k);
        cmd.AddValue("seed", "seed of the permutation", seed);
        cmd.AddValue("size", "bytes of each flow", size);
        cmd.AddValue("ecmp", "random equal-cost path for every packet", ecmp);
        cmd.AddValue("queue", "device, disc or step", queue.kind);
        cmd.AddValue("bytes", "buffer of each port", queue.bytes);
        cmd.AddValue("mark", "marking threshold of --queue=step, packets", queue.markPackets);
        cmd.AddValue("list", "file of flows and their paths, for a permutation", list);
        cmd.AddValue("out", "file for the completion times of --list, s", out);
        cmd.AddValue("threads", "threads of UNISON; 0: ns-3's own simulator", threads);
        cmd.Parse(argc, argv);
    }
};

void
UseThreads(uint32_t threads)
{
#if __has_include("ns3/mtp-interface.h")
    MtpInterface::Enable(threads);
#else
    throw std::runtime_error("this ns-3 has no UNISON for " + std::to_string(threads) + " threads");
#endif
}

struct Tree
{
    explicit Tree(uint32_t k)
        : half(k / 2), hosts(k * half * half), edges(k * half), aggregations(k * half), cores(half * half)
    {
    }

    void Link(Net& net, const QueueOptions& queue) const
    {
        auto link = [&](Ptr<Node> a, Ptr<Node> b) { net.Link(a, b, "10Gbps", 1e-6, queue); };
        for (uint32_t pod = 0; pod < 2 * half; ++pod)
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
    }

    uint32_t half;
    NodeContainer hosts, edges, aggregations, cores;
};

/// Fisher-Yates until no host sends to itself.
std::vector<uint32_t>
Permutation(uint32_t hosts)
{
    auto uniform = CreateObject<UniformRandomVariable>();
    std::vector<uint32_t> to(hosts);
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
    return to;
}

/// The flows of a list, over its paths.
class FromList
{
  public:
    FromList(const Options& options, const Tree& tree)
        : m_tree(tree), m_rows(ReadList(options.list)), m_paths(options.k)
    {
        std::for_each(m_rows.begin(), m_rows.end(), [&](const Listed& row) { m_paths.Add(row); });
        PathRoutingHelper helper(&m_paths);
        helper.Put(tree.hosts, {Place::host});
        helper.Put(tree.edges, {Place::edge});
        helper.Put(tree.aggregations, {Place::aggregation});
        helper.Put(tree.cores, {Place::core});
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.SetRoutingHelper(helper);
        stack.InstallAll();
    }

    Flows Make()
    {
        for (uint32_t i = 0; i < m_tree.hosts.GetN(); ++i)
        {
            m_paths.Address(Net::AddressOf(m_tree.hosts.Get(i)), i);
        }
        Flows flows;
        std::vector<uint16_t> ports(m_tree.hosts.GetN(), 5000);
        for (const Listed& row : m_rows)
        {
            const double start = 1e-9 * static_cast<double>(row.startNs);
            auto [from, to] = std::pair(m_tree.hosts.Get(row.from), m_tree.hosts.Get(row.to));
            flows.push_back(std::make_unique<Flow>(from, to, ports[row.to]++, row.bytes, start));
        }
        return flows;
    }

  private:
    const Tree& m_tree;
    std::vector<Listed> m_rows;
    Paths m_paths;
};

void
Write(const std::string& file, const Flows& flows)
{
    std::ofstream out(file);
    out.precision(9);
    for (const auto& flow : flows)
    {
        out << flow->Fct() << '\n';
    }
}

} // namespace

int
main(int argc, char** argv)
{
    Options options;
    options.Read(argc, argv);
    options.tcp.Apply();
    if (options.threads > 0)
    {
        UseThreads(options.threads);
    }
    RngSeedManager::SetRun(options.seed);
    Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(options.ecmp));

    const Tree tree(options.k);
    std::unique_ptr<FromList> list;
    if (options.list.empty())
    {
        InternetStackHelper().InstallAll();
    }
    else
    {
        list = std::make_unique<FromList>(options, tree);
    }
    Net net;
    tree.Link(net, options.queue);
    Json json;
    Flows flows;
    if (list)
    {
        flows = list->Make();
    }
    else
    {
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        const auto to = Permutation(tree.hosts.GetN());
        for (uint32_t i = 0; i < to.size(); ++i)
        {
            flows.push_back(
                std::make_unique<Flow>(tree.hosts.Get(i), tree.hosts.Get(to[i]), 5000, options.size, 0));
        }
        json.Add("to", to);
    }
    json.Add("scenario", "d").Add("cc", options.tcp.cc).Add("k", options.k).Add("ecmp", options.ecmp);
    json.Add("queue", options.queue.kind).Add("mark", options.queue.markPackets).Add("bytes", options.queue.bytes);
    json.Add("seed", options.seed);
    RunTimed(json, 2.0);
    AddFlows(json, flows, options.k <= 4);
    json.Add("drops", net.Drops()).Add("marks", net.Marks());
    json.Print();
    if (!options.out.empty())
    {
        Write(options.out, flows);
    }
    Simulator::Destroy();
    return 0;
}
