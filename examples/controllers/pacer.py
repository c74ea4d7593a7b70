"""Pacer, which sends at a rate: what `examples/outside-controller` is in Rust, line by line.

midpath compare examples/dumbbell.toml --schemes newreno,pacer --with examples/controllers/pacer.py
"""

import midpath


class Pacer(midpath.Controller):
    """Sends a step faster than the path has delivered, and slower where round trips grow."""

    samples = True
    own_window = True
    paced = True
    gauges = {"payload_bps": "The rate that it sends payload at"}

    target: float = 0.005  # seconds of queueing delay to hold
    increase: float = 1.0  # packets per round trip
    decrease: float = 0.9

    def on_open(self, opening):
        self.wire = (self.mss + opening.overhead) / self.mss
        self.base = max(opening.srtt_s, 1e-6)
        self.round_ends = 0
        self.send_at(self.window / self.base)

    def on_sample(self, ack, sample):
        rtt = sample.rtt_s
        if rtt is None:
            return
        self.base = min(self.base, rtt)
        if sample.prior >= self.round_ends and not sample.app_limited:
            self.round_ends = sample.total
            if sample.interval_s >= self.base:
                self.send_at(self.next_speed(sample.delivered / sample.interval_s, rtt))
        # The rate is the control; the window only ends what goes wrong.
        self.window = 2 * self.speed * rtt + 4 * self.mss

    def next_speed(self, delivered, rtt):
        if rtt - self.base < self.target:
            return delivered + self.increase * self.mss / rtt
        return delivered * self.decrease

    def send_at(self, speed):
        self.speed = max(speed, self.mss)  # bytes of payload per second
        self.payload_bps = 8 * self.speed
        self.rate = self.payload_bps * self.wire

    def on_loss(self, loss):
        return self.window  # a loss says nothing that the delivered rate does not

    def on_timeout(self, loss):
        return self.mss  # nothing comes back: a packet asks
