// astra-sim's network API over Midpath's sessions, and a program that runs its workloads on a Midpath scenario.
//
// One rank is one host, in the order of the scenario's hosts. The API is astra-sim's `AstraNetworkAPI`
// (astra-sim/common/AstraNetworkAPI.hh); of its front ends we follow the analytical one, in which a message has been sent and
// received when it has arrived (`CommonNetworkApi::process_chunk_arrival`).

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include "extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"
#include "midpath.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string& message) {
    std::cerr << message << std::endl;
    std::exit(1);
}

void check(int status) {
    if (status != MIDPATH_OK) {
        fail(midpath_error());
    }
}

// When the last rank had finished, in picoseconds.
struct Finish {
    int ranks_left;
    int64_t at_ps = 0;
};

class MidpathNetwork : public AstraSim::AstraNetworkAPI {
  public:
    MidpathNetwork(int rank, midpath* session, Finish* finish)
        : AstraNetworkAPI(rank), session(session), finish(finish) {}

    int sim_send(void*, uint64_t count, int, int dst, int tag, AstraSim::sim_request*, void (*handler)(void*),
                 void* arg) override {
        check(midpath_send(session, rank, dst, count, tag, handler, arg));
        return 0;
    }

    int sim_recv(void*, uint64_t count, int, int src, int tag, AstraSim::sim_request*, void (*handler)(void*),
                 void* arg) override {
        check(midpath_recv(session, src, rank, count, tag, handler, arg));
        return 0;
    }

    void sim_schedule(AstraSim::timespec_t delta, void (*function)(void*), void* arg) override {
        if (delta.time_res != AstraSim::NS) {
            fail("sim_schedule: the system layer counts nanoseconds");
        }
        check(midpath_schedule(session, static_cast<int64_t>(delta.time_val) * 1000, function, arg));
    }

    // Whole nanoseconds, as the system layer counts them: an event in n of them is due n after this.
    AstraSim::timespec_t sim_get_time() override {
        return {AstraSim::NS, static_cast<long double>(midpath_now(session) / 1000)};
    }

    void sim_notify_finished() override {
        if (--finish->ranks_left == 0) {
            finish->at_ps = midpath_now(session);
            check(midpath_halt(session));
        }
    }

  private:
    midpath* session;
    Finish* finish;
};

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    if (!(text << file.rdbuf())) {
        fail("cannot read " + path);
    }
    return text.str();
}

}  // namespace

int main(int argc, char** argv) {
    std::map<std::string, std::string> given = {{"comm-group-configuration", "empty"}, {"logging-configuration", "empty"}};
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        const auto equals = argument.find('=');
        if (argument.rfind("--", 0) != 0 || equals == std::string::npos) {
            fail("usage: astra_midpath --scenario=FILE --workload-configuration=PREFIX --system-configuration=FILE "
                 "--remote-memory-configuration=FILE");
        }
        given[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
    }
    AstraSim::LoggerFactory::init(given["logging-configuration"]);

    const std::string scenario = given["scenario"];
    const auto slash = scenario.rfind('/');
    midpath* session = nullptr;
    check(midpath_open(text_of(scenario).c_str(), slash == std::string::npos ? "." : scenario.substr(0, slash).c_str(),
                       &session));
    const int ranks = static_cast<int>(midpath_hosts(session));

    Finish finish{ranks};
    Analytical::AnalyticalRemoteMemory memory(given["remote-memory-configuration"]);
    std::vector<std::unique_ptr<MidpathNetwork>> networks;
    std::vector<AstraSim::Sys*> systems;
    for (int rank = 0; rank < ranks; rank++) {
        networks.push_back(std::make_unique<MidpathNetwork>(rank, session, &finish));
        systems.push_back(new AstraSim::Sys(rank, given["workload-configuration"], given["comm-group-configuration"],
                                            given["system-configuration"], &memory, networks.back().get(), {ranks}, {1}, 1.0,
                                            1.0, false));
    }
    for (auto* system : systems) {
        system->workload->fire();
    }
    check(midpath_run(session));
    if (finish.ranks_left > 0) {
        fail(std::to_string(finish.ranks_left) + " ranks have not finished, and nothing is left to do");
    }
    AstraSim::LoggerFactory::shutdown();  // its thread writes to the same place
    std::cout << "finished_ps " << finish.at_ps << "\npacket_hops " << midpath_packet_hops(session) << std::endl;
    return 0;
}
