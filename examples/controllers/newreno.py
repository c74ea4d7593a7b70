"""NewReno (RFC 5681, with the byte counting of RFC 3465), which sends what `newreno` in Rust sends, packet by packet.

midpath compare examples/dumbbell.toml --schemes newreno,newreno-in-python --with examples/controllers/newreno.py
"""

import midpath


class NewReno(midpath.Controller):
    """Additive increase, multiplicative decrease by one half."""

    name = "newreno-in-python"
    limit: int = 2  # RFC 3465, §2.3: most segments that one ACK may add in slow start

    def __init__(self):
        self.counted = 0  # bytes acknowledged towards the next segment

    def on_ack(self, ack):
        acked = ack.acked
        if self.in_slow_start:
            # RFC 3465, §2.3: one segment after a timeout.
            limit = (1 if ack.after_rto else self.limit) * self.mss
            room = self.threshold - self.window
            grow = min(acked, limit, room)
            self.window += grow
            if grow < room:
                return
            acked -= grow
        # RFC 3465, §2.1: one segment whenever a whole window has been acknowledged.
        self.counted += acked
        if self.counted >= self.window:
            self.counted -= self.window
            self.window += self.mss

    def on_loss(self, loss):
        self.counted = 0
        # RFC 3168, §6.1.2: no second reduction for one window of data.
        return self.threshold if loss.ecn_reduced else loss.flight // 2

    def on_timeout(self, loss):
        self.counted = 0
        return loss.flight // 2  # RFC 5681, equation 4

    def on_ecn(self, loss):
        self.counted = 0
        return self.window // 2  # RFC 3168, §6.1.2
