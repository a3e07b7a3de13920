"""Faults of the networks between the managers and the API server."""

import signal
import sys
import time

sys.dont_write_bytecode = True
import manager_process  # noqa: E402
from fault import LEASE_SECONDS, Fault  # noqa: E402

SILENCE = 100  # seconds; after 90 a watch on which nothing comes is taken up again


class WatchesCut(Fault):
    name = "watches-cut"
    what = "all connections of the managers are cut again and again"
    times = 6

    def disturb(self):
        cuts, reset = [], self.variant(True, False)
        for _ in range(self.times):
            time.sleep(self.chance.uniform(0.2, 1.5))
            network = self.chance.choice(self.networks())
            # Who lost all of them a moment ago may not have new ones yet.
            self.run.wait("connections to cut", lambda each=network: cuts.append(each.cut(reset)) or cuts[-1] > 0)
        self.did = "RST" if reset else "FIN"
        self.counted = f"{sum(cuts)} connections, "


class NetworkSlow(Fault):
    name = "network-slow"
    what = "every byte of a manager is late"

    def disturb(self):
        before = [network.slowed for network in self.networks()]
        for network in self.networks():
            delay = self.chance.uniform(0.05, 0.5)
            network.slow_down(*self.variant((delay, 0), (0.02, 1 << 16)))
        time.sleep(10)
        slowed = [network.slowed - count for network, count in zip(self.networks(), before)]
        self.run.check(all(slowed), f"nothing was slow on one of the networks: {slowed}")
        self.did = self.variant("by 50 to 500 ms each way", "at 64 KiB/s")
        self.counted = f"{sum(slowed)} pieces, "

    def end(self):
        for network in self.networks():
            network.slow_down(0)


class NetworkSilent(Fault):
    name = "network-silent"
    what = "connections stay open and nothing arrives"
    noticed_by = 0.0

    def disturb(self):
        time.sleep(self.chance.uniform(0.5, 2))
        if self.variant(False, True, False):
            before = sum(network.held for network in self.networks())
            for network in self.networks():
                network.hold()
            time.sleep(LEASE_SECONDS + self.chance.uniform(1, 3))
            for network in self.networks():
                network.release()
            held = sum(network.held for network in self.networks()) - before
            self.run.check(held > 0, "nothing was held back")
            self.did, self.counted = "all, for some seconds", f"{held} directions, "
            return
        # On the connections of watches the manager has nothing to say.
        quiet = self.variant(0, 0, 1)
        self.noticed_by = time.monotonic() + (SILENCE if quiet else 0)
        dead = sum(network.deaden(quiet) for network in self.networks())
        self.run.check(dead > 0, "no connection was there to be dead")
        self.did = ("watches alone" if quiet else "all") + ", for ever"
        self.counted = f"{dead} connections, "

    def end(self):
        # A follower whose lease is answered has no other reason to doubt its watches: until then its account is old.
        time.sleep(max(0, self.noticed_by - time.monotonic()))


class Succession(Fault):
    name = "succession"
    what = "the watches of a replica die in silence, and then the leader"

    def disturb(self):
        time.sleep(self.chance.uniform(0.5, 1.5))
        manager_process.waited(lambda: self.run.leader(self.run.managers), 60)
        leader = self.run.leader(self.run.managers) or self.run.managers[0]
        heir = next(manager for manager in self.run.managers if manager is not leader)
        dead = heir.network.deaden(1)
        self.run.check(dead > 0, "no watch was there to be dead")
        time.sleep(self.chance.uniform(1, 3))  # in which the heir hears nothing of what the leader promises
        leader.end(signal.SIGKILL)
        self.run.wait(f"{heir.name} to lead", lambda: self.run.leader([heir]))
        leader.start()
        self.run.wait(f"{leader.name} to be ready", leader.ready)
        self.did, self.counted = "SIGKILL", f"{dead} connections, "
