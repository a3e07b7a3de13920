"""What the faults of the program `faults` have in common.

A fault is made for one repetition. begin() comes before the jobs, disturb() while they come in and run, end() has to
leave a cluster on which everything can work, check() looks for what is special about this fault, and conclude() takes
back what another fault must not meet. Repetitions differ by their number, so that each variant comes in turn.
"""

LEASE_SECONDS = 6  # short, but longer than a machine takes that has more to do than this


class Fault:
    name = what = ""
    repetitions = 1
    pause = 0.8  # at most so many seconds between two jobs
    restarts = False  # whether it is right that a job is started more than once

    def __init__(self, run, namespace, number, chance):
        self.run, self.namespace, self.number, self.chance = run, namespace, number, chance
        self.did = "nothing"  # a few words for the table: the variant
        self.counted = ""  # and how much of it there was, for people who wait

    def begin(self):
        pass

    def disturb(self):
        pass

    def end(self):
        pass

    def check(self, part, submitter):
        pass

    def conclude(self):
        pass

    def variant(self, *choices):
        return choices[self.number % len(choices)]

    def networks(self):
        return [manager.network for manager in self.run.managers]
