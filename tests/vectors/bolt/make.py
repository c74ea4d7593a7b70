"""What the authors' own functions make of random packets: Bolt's switch and sender, without ns-3.

`python tests/vectors/bolt/make.py REPOSITORY` takes functions out of a clone of serhatarslan-hub/bolt_cc_ns3 at
0cf98cc, compiles them with g++ between the stand-ins for ns-3's classes that are below, drives them, and writes
`switch.csv`, `sender.csv` and `sends.csv`. The tests of `crates/schemes/src/bolt` give the same to ours. Nothing of
their code is kept here.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

PLACE = Path(__file__).parent
COMMIT = "0cf98cc"
SWITCH = "src/traffic-control/model/pfifo-bolt-queue-disc.cc"
ENDS = "src/internet/model/bolt-l4-protocol.cc"
HEADER = "src/internet/model/bolt-header.h"
# Whose, and which.
FUNCTIONS = {
    SWITCH: ("PfifoBoltQueueDisc", ("CalculateCurrentlyAvailableBw", "SetBitRateFlag", "DoEnqueue")),
    ENDS: (
        "BoltOutboundMsg",
        ("HandleAck", "HandleNack", "UpdateCwnd", "UpdateCwndAsBolt", "HandleBts", "SendDownOnePacket"),
    ),
}

BEFORE = r"""
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <list>
#include <random>
#include <string>
#define NS_LOG_FUNCTION(...)
#define NS_LOG_LOGIC(...)
#define NS_LOG_DEBUG(...)
#define NS_LOG_WARN(...)
#define NS_ASSERT(...)
#define NS_ASSERT_MSG(...)
template <class T> using Ptr = T *;
template <class T, class... A> T *Create(A... a) { return new T(a...); }
static uint64_t clock_ns = 0;
struct Time { uint64_t ns; uint64_t GetNanoSeconds() const { return ns; } };
struct Simulator { static Time Now() { return {clock_ns}; } };
struct DataRate {
  uint64_t bits;
  uint64_t GetBitRate() const { return bits; }
  Time CalculateBytesTxTime(uint32_t n) const { return {(uint64_t)(n * 8.0 * 1e9 / bits)}; }
};
struct Ipv4Header {
  uint32_t GetSerializedSize() const { return 20; }
  int GetProtocol() const { return 196; }
  int GetTtl() const { return 63; }
};
struct Ipv4Address {};
struct Ipv4Route {};
struct BoltL4Protocol;
"""

HEADER_CLASS = r"""
struct BoltHeader {
  %s
  uint16_t flags = 0; uint32_t drain = 0, sent = 0, seq = 0;
  uint16_t GetFlags() const { return flags; }
  void SetFlags(uint16_t f) { flags = f; }
  uint32_t GetDrainTime() const { return drain; }
  void SetDrainTime(uint32_t d) { drain = d; }
  uint32_t GetReflectedDelay() const { return sent; }
  void SetReflectedDelay(uint32_t s) { sent = s; }
  uint32_t GetSeqAckNo() const { return seq; }
  void SetSeqAckNo(uint32_t s) { seq = s; }
  uint32_t GetSerializedSize() const { return 23; }
  void SetSrcPort(uint16_t) {}
  void SetDstPort(uint16_t) {}
  void SetTxMsgId(uint16_t) {}
  static std::string FlagsToString(uint16_t) { return ""; }
};
typedef BoltHeader BoltHeaderPtr;
struct Packet {
  BoltHeader header; uint32_t size;
  Packet(uint32_t s = 0) : size(s) {}
  uint32_t GetSize() { return size; }
  uint8_t *GetBuffer() { return reinterpret_cast<uint8_t *>(&header); }
  template <class T> bool PeekPacketTag(T &) { return false; }
  void AddHeader(const BoltHeader &h) { header = h; }
  Packet *CreateFragment(uint32_t, uint32_t) { return this; }
};
"""

SWITCH_CLASS = r"""
struct SocketPriorityTag { uint8_t GetPriority() { return 0; } };
struct QueueDiscItem { Packet *p; virtual ~QueueDiscItem() {} Packet *GetPacket() { return p; } };
struct Ipv4QueueDiscItem : QueueDiscItem { Ipv4Header GetHeader() { return {}; } };
struct Fifo { bool Enqueue(QueueDiscItem *) { return true; } uint32_t GetNPackets() { return 0; } };
struct Device { DataRate rate; uint32_t mtu; DataRate GetDataRate() { return rate; } int GetMtu() { return mtu; } };
struct Size { uint64_t bytes; uint64_t GetValue() { return bytes; } };
static const char *LIMIT_EXCEEDED_DROP = "";
struct PfifoBoltQueueDisc {
  Device device{{100000000000lu}, 1500}; Device *m_boundNetDevice = &device;
  Size m_ccThreshold{3000}; int m_maxInstAvailLoad = 1500, m_availLoad = 0; uint64_t m_availLoadUpdateTime = 0;
  bool m_absEnabled = true, m_btsEnabled = true, m_trimEnabled = false, m_pruEnabled = true;
  uint16_t m_nPruToken = 0, m_maxPruToken = 256; uint32_t m_nBtsInFlight = 0, m_reducedBtsFactor = 1;
  uint32_t waiting = 0; int told = 0; Fifo fifo;
  static const uint32_t prio2band[16];
  uint32_t GetNBytes() { return waiting; }
  int GetCurrentSize() { return 0; }
  int GetMaxSize() { return 1; }
  Fifo *GetInternalQueue(uint32_t) { return &fifo; }
  void NotifySender(Ipv4Header, BoltHeader *) { told++; }
  void TrimPacketPayload(Packet *, BoltHeader *) {}
  void IncreaseDroppedBytesBeforeEnqueueStats(uint64_t) {}
  void DropBeforeEnqueue(QueueDiscItem *, const char *) {}
  void CalculateCurrentlyAvailableBw(uint32_t);
  uint16_t SetBitRateFlag(uint16_t);
  bool DoEnqueue(QueueDiscItem *);
};
const uint32_t PfifoBoltQueueDisc::prio2band[16] = {1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
"""

ENDS_CLASS = r"""
struct BoltSendScheduler { void ClearStateForMsg(uint16_t) {} };
static uint16_t sent_flags;
struct BoltL4Protocol {
  enum CcMode_e { CC_DEFAULT, CC_SWIFT };
  static const uint8_t PROT_NUMBER = 196;
  BoltSendScheduler scheduler;
  uint32_t GetMaxPayloadSize() { return 1457; }
  uint32_t GetMtu() { return 1500; }
  DataRate GetLinkRate() { return {102000000000lu}; }
  uint64_t GetBitPerNsFromFlag(uint16_t) { return 100; }
  double GetTargetQ() { return 0; }
  double GetMaxMd() { return 0.5; }
  double GetAiFactor() { return 1.0; }
  uint32_t GetMinCwnd() { return 15; }
  uint32_t GetMaxCwnd() { return 373760; }
  CcMode_e GetCcMode() { return CC_DEFAULT; }
  bool MemIsOptimized() { return true; }
  BoltSendScheduler *GetSendScheduler() { return &scheduler; }
  void MsgAckedTrace(uint32_t, Ipv4Address, Ipv4Address, uint16_t, uint16_t, int) {}
  void FlowStatsTrace(Ipv4Address, Ipv4Address, uint16_t, uint16_t, int, uint32_t, uint64_t) {}
  void SendDown(Packet *p, Ipv4Address, Ipv4Address, Ipv4Route *) { sent_flags = p->header.flags; }
};
struct BoltOutboundMsg {
  BoltL4Protocol protocol; BoltL4Protocol *m_bolt = &protocol;
  Ipv4Address m_saddr, m_daddr; uint16_t m_sport = 0, m_dport = 0, m_txMsgId = 0; Ipv4Route *m_route = nullptr;
  bool m_keepWhenIdle = false, m_btsEnabled = true, m_setAiNext = true; Packet *m_message = nullptr;
  uint32_t m_flowSizeBytes = 4000000000u, m_curMsgStartSeq = 0, m_ackNo = 0, m_sndNext = 0, m_sndNextBeforeRtx = 0;
  uint32_t m_cwnd = 100000, m_highestTransmittedSeqNo = 0; uint64_t m_rtt = 0, m_wndTimeMarker = 0;
  std::list<uint32_t> m_msgFinSeqList{4000000000u};
  bool IsIdle() { return false; }
  void KeepFlowForFutureMsg() {}
  void SendDown() {}
  void UpdateCwndAsSwift(BoltHeader const &, uint32_t) {}
  void HandleAck(BoltHeader const &);
  void HandleNack(BoltHeader const &);
  void UpdateCwnd(BoltHeader const &, uint32_t);
  void UpdateCwndAsBolt(BoltHeader const &, uint32_t);
  void HandleBts(BoltHeader const &);
  void SendDownOnePacket(uint32_t);
};
"""

# Ours: first 1, last 2, INC 4, DEC 8.
MAIN = r"""
static std::mt19937 draw(7);
static uint32_t below(uint32_t n) { return draw() % n; }
static uint16_t theirs(int ours) {
  return (ours & 1 ? BoltHeader::FIRST : 0) | (ours & 2 ? BoltHeader::LAST : 0) |
         (ours & 4 ? BoltHeader::INCWIN : 0) | (ours & 8 ? BoltHeader::DECWIN : 0);
}
static int ours(uint16_t f) {
  return (f & BoltHeader::FIRST ? 1 : 0) | (f & BoltHeader::LAST ? 2 : 0) | (f & BoltHeader::INCWIN ? 4 : 0) |
         (f & BoltHeader::DECWIN ? 8 : 0);
}
static void a_switch(FILE *out) {
  fprintf(out, "now_ns,size,ack,marks,waiting,marks_after,told,supply,promised\n");
  PfifoBoltQueueDisc disc;
  const int said[] = {4, 4, 4, 4, 1, 2, 2, 3, 12, 8, 10, 0};
  for (int i = 0; i < 600; i++) {
    // Whole bytes in whole nanoseconds.
    clock_ns += 2 * below(below(3) ? 80 : 400);
    bool ack = below(6) == 0;
    Packet p(ack ? 23 : 23 + 200 + below(1258));
    disc.waiting = below(4) ? below(3000) : 3000 + below(60000);
    int marks = ack ? 0 : said[below(12)];
    p.header.flags = theirs(marks) | (ack ? BoltHeader::ACK : BoltHeader::DATA);
    Ipv4QueueDiscItem item; item.p = &p; disc.told = 0;
    disc.DoEnqueue(&item);
    fprintf(out, "%lu,%u,%d,%d,%u,%d,%d,%d,%u\n", clock_ns, p.size + 20, ack, marks, disc.waiting,
            ours(p.header.flags), disc.told, disc.m_availLoad, disc.m_nPruToken);
  }
}
static void a_sender(FILE *out) {
  fprintf(out, "what,now_ns,rtt_ns,marks,additive,queue,came_after,window,fell,window_after,fell_after\n");
  BoltOutboundMsg flow; clock_ns = flow.m_wndTimeMarker = 100000;
  for (int i = 0; i < 1200; i++) {
    clock_ns += below(below(4) ? 300 : 12000) + 1;
    uint32_t before = flow.m_cwnd; uint64_t fell = flow.m_wndTimeMarker;
    // Congestion comes and goes; the first ACK is late.
    bool congested = i / 60 % 2; uint32_t dice = below(100);
    BoltHeader h; int marks = 0, additive = 0; uint32_t queue = 0, after = 0; const char *what;
    if (i < 5 || (congested && dice < 70)) {
      what = "notice"; after = 500 + below(6000); h.drain = 2 + 2 * below(below(2) ? 300 : 4000);
      queue = h.drain * 25 / 2;
      h.flags = BoltHeader::BTS | BoltHeader::DECWIN | BoltHeader::LINK100G; h.sent = clock_ns - after;
      flow.HandleBts(h);
    } else if (dice < 97) {
      what = "ack"; marks = below(3) ? 4 : below(2) ? 8 : 12; additive = below(20) == 0;
      h.flags = BoltHeader::ACK | theirs(marks) | (additive ? BoltHeader::AI : 0);
      h.sent = clock_ns - std::min<uint64_t>(clock_ns, 8000 + below(4000)); h.seq = flow.m_ackNo + 1457;
      flow.HandleAck(h);
    } else {
      what = "loss"; flow.m_sndNextBeforeRtx = 0; h.flags = BoltHeader::NACK; h.seq = flow.m_ackNo;
      h.sent = clock_ns - std::min<uint64_t>(clock_ns, 8000 + below(4000));
      flow.HandleNack(h);
    }
    fprintf(out, "%s,%lu,%lu,%d,%d,%u,%u,%u,%lu,%u,%lu\n", what, clock_ns, flow.m_rtt, marks, additive, queue, after,
            before, fell, flow.m_cwnd, flow.m_wndTimeMarker);
  }
}
static void sends(FILE *out) {
  fprintf(out, "first,payload,left,window,marks\n");
  for (int i = 0; i < 200; i++) {
    BoltOutboundMsg flow; flow.m_rtt = below(4) ? 8000 : 0;
    flow.m_cwnd = below(3) ? 15 + below(20000) : 15 + below(1457);
    uint32_t left = 1 + below(below(2) ? 1457 : 40000), payload = std::min(left, 1457u);
    if (i % 10 == 0) flow.m_cwnd = left;
    flow.m_flowSizeBytes = 50000; flow.m_sndNext = 50000 - left;
    flow.SendDownOnePacket(payload);
    fprintf(out, "%d,%u,%u,%u,%d\n", flow.m_rtt == 0, payload, left, flow.m_cwnd, ours(sent_flags));
  }
}
int main(int, char **v) {
  std::string place = v[1];
  FILE *out = fopen((place + "/switch.csv").c_str(), "w"); a_switch(out); fclose(out);
  out = fopen((place + "/sender.csv").c_str(), "w"); a_sender(out); fclose(out);
  out = fopen((place + "/sends.csv").c_str(), "w"); sends(out); fclose(out);
}
"""


def shown(repository: str, path: str) -> str:
    """A file at that commit."""
    command = ["git", "-C", repository, "show", f"{COMMIT}:{path}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def block(text: str, start: int) -> str:
    """From there to the brace that closes the first one."""
    depth, place = 0, text.index("{", start)
    while True:
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        place += 1
        if depth == 0:
            return text[start:place]


def functions(repository: str, path: str) -> str:
    """The functions wanted of a file."""
    text, (owner, names) = shown(repository, path), FUNCTIONS[path]
    found = [re.search(rf"^\w[\w:<> ]*\s{owner}::{name}\(", text, re.MULTILINE) for name in names]
    return "\n".join(text[match.start() : text.index("\n}\n", match.start()) + 3] for match in found if match)


def main() -> None:
    """Writes the three tables."""
    repository = sys.argv[1]
    header = shown(repository, HEADER)
    flags = block(header, header.index("typedef enum Flags_t")) + " Flags_t;"
    parts = [BEFORE, HEADER_CLASS % flags, SWITCH_CLASS, functions(repository, SWITCH)]
    source = "\n".join([*parts, ENDS_CLASS, functions(repository, ENDS), MAIN])
    with tempfile.TemporaryDirectory() as place:
        code = Path(place, "vectors.cc")
        code.write_text(source, encoding="utf-8")
        subprocess.run(["g++", "-std=c++17", "-O1", "-w", "-o", f"{place}/vectors", str(code)], check=True)
        subprocess.run([f"{place}/vectors", str(PLACE)], check=True)


if __name__ == "__main__":
    main()
