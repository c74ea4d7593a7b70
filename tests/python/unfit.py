"""Controllers that each break a rule of congestion control, so that `midpath evaluate` has something to find."""

import random

import midpath


class Reno(midpath.Controller):
    """NewReno, from which the others differ by one thing."""

    def on_ack(self, ack):
        if self.in_slow_start:
            self.window += ack.acked
        else:
            self.window += self.mss * ack.acked / self.window


class Stubborn(midpath.Controller):
    """Its window grows, and falls for no loss and no timeout."""

    own_window = True

    def on_ack(self, ack):
        self.window += self.mss * ack.acked / self.window

    def on_loss(self, loss):
        return self.window

    def on_timeout(self, loss):
        return self.window


class Uneven(Reno):
    """A flow's window has a limit that chance draws: 2 to 60 packets."""

    def on_open(self, opening):
        self.most = self.mss * 2 * 30 ** random.Random(opening.seed).random()

    def on_ack(self, ack):
        super().on_ack(ack)
        self.window = min(self.window, self.most)


class Slow(Reno):
    """It has no slow start, and begins with one packet."""

    initial_window = 1

    def on_open(self, opening):
        self.threshold = self.mss


class Shy(Reno):
    """It halves its window when the round trip is a tenth above the least that it has ever seen."""

    def on_open(self, opening):
        self.least, self.until = opening.srtt_s or 1.0, 0.0

    def on_ack(self, ack):
        if ack.rtt_s is not None:
            self.least = min(self.least, ack.rtt_s)
        if ack.srtt_s > 1.1 * self.least:
            if ack.now_s > self.until:
                self.window = self.threshold = max(2 * self.mss, self.window / 2)
                self.until = ack.now_s + ack.srtt_s
        else:
            super().on_ack(ack)


class Fragile(Reno):
    """After any loss it begins again with one packet, and without slow start."""

    def on_loss(self, loss):
        return float(self.mss)

    def on_recovered(self, now_s):
        self.window = self.mss


class Deaf(Reno):
    """It says that it has ECN, and does not answer marks."""

    ecn = "classic"

    def on_ecn(self, loss):
        return self.window


class Grudge(Reno):
    """After a timeout its window is two packets for a minute."""

    until = -1.0

    def on_timeout(self, loss):
        self.until = loss.now_s + 60
        return 2 * self.mss

    def on_ack(self, ack):
        super().on_ack(ack)
        if ack.now_s < self.until:
            self.window = 2 * self.mss


class Broken(Reno):
    """Its code has an error."""

    def on_loss(self, loss):
        return 1 / 0


class Endless(Reno):
    """It never comes back from a loss."""

    def on_loss(self, loss):
        while True:
            pass
