"""The commands of a page of the documentation, run as a reader would: one shell, block after block."""

import atexit
import os
import signal
import subprocess
import threading
import time


class Block:
    """A fenced block of `sh`: below which heading it stands, and its commands."""

    def __init__(self, heading, line, text):
        self.heading, self.line, self.text = heading, line, text

    def commands(self):
        """One by one: lines that go on (a backslash at the end, a function's body) stay together."""
        found, part = [], []
        for line in self.text.splitlines():
            part.append(line)
            whole = "\n".join(part)
            opened = sum(each.endswith("{") for each in part)
            if line.endswith("\\") or opened > part.count("}"):
                continue
            if whole.strip():
                found.append(whole)
            part = []
        return found


def blocks_of(page):
    """All blocks in a Markdown file, in their order. One that is not of `sh`, or is indented, would go unnoticed."""
    blocks, heading, begun, lines = [], "", None, []
    with open(page, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fence = line.strip().startswith(("```", "~~~"))
            if fence and line.rstrip() != ("```sh" if begun is None else "```"):
                raise ValueError(f"{page}:{number}: neither begins nor ends a block of sh: {line.rstrip()}")
            if begun is not None:
                if fence:
                    blocks.append(Block(heading, begun, "".join(lines)))
                    begun, lines = None, []
                else:
                    lines.append(line)
            elif fence:
                begun = number
            elif line.startswith("#"):
                heading = line.lstrip("#").strip()
    if begun is not None:
        raise ValueError(f"{page}:{begun}: the block does not end")
    return blocks


class Shell:
    """A bash that lives from the first block to the last, so that variables and functions stay.

    A block that takes too long is killed with all that it started; then the shell is gone.
    """

    MARK = "the command has ended with"
    PATIENCE = 600  # seconds for a block; the page itself waits for 300 at most

    def __init__(self, folder, environment, log):
        self._log = open(log, "a", encoding="utf-8")  # pylint: disable=consider-using-with
        self._process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["bash", "-s"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # a process group, which can be killed as a whole
        )
        self._deadline = time.monotonic() + self.PATIENCE
        atexit.register(self.kill)  # a test that is interrupted leaves nothing behind

    def begin_block(self):
        self._deadline = time.monotonic() + self.PATIENCE

    def kill(self):
        if self._process.returncode is None:  # nobody has waited for it, so that the number is still its own
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def run(self, command):
        """Returns the exit code and what it said. A shell that is gone counts as code 255."""
        timer = threading.Timer(max(0, self._deadline - time.monotonic()), self.kill)
        timer.start()
        try:
            return self._run(command)
        finally:
            timer.cancel()

    def _run(self, command):
        self._log.write(f"$ {command}\n")
        try:
            self._process.stdin.write(f'{command}\nended=$?; echo; echo "{self.MARK} $ended"\n')
            self._process.stdin.flush()
        except BrokenPipeError:
            return 255, "the shell is gone"
        said = []
        for line in self._process.stdout:
            if line.startswith(self.MARK):
                code = int(line.split()[-1])
                break
            said.append(line)
            self._log.write(line)
        else:
            code = 255
            said.append(f"the shell is gone; a block has {self.PATIENCE} s")
        self._log.flush()
        return code, "".join(said).strip()

    def end(self):
        try:
            self._process.stdin.close()
            self._process.wait(timeout=60)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.kill()
        self._log.close()


class Reader:
    """Who follows a page on the cluster of a test, with these variables and with programs of this folder."""

    def __init__(self, test, programs, variables):
        cluster, self._test = test.cluster, test
        folder = f"{cluster.folder}/reader"
        os.makedirs(folder)
        path = f"{programs}:{cluster.servers}:{os.environ['PATH']}"
        environment = {"PATH": path, "HOME": folder, "KUBECONFIG": cluster.kubeconfig, **variables}
        self._shell = Shell(folder, environment, f"{cluster.folder}/reader.log")

    def blocks(self, page):
        """Those of the page; each has its time from when it is asked for."""
        for block in blocks_of(page):
            self._shell.begin_block()
            yield block
        self._shell.end()

    def run(self, block, command):
        """A check of the test, that it succeeds. Returns what it said."""
        self._test.say(f"$ {command}")
        code, said = self._shell.run(command)
        self._test.client.close()  # the server may have done so, if that took a while
        self._test.check(code == 0, f"{block.heading}: {command}: exit code {code}: {said}")
        return said
