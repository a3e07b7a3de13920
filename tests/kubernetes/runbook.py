"""The commands of a page of the documentation, run as a reader would: one shell, block after block."""

import subprocess


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
    """All blocks of `sh` in a Markdown file, in their order."""
    blocks, heading, begun, lines = [], "", None, []
    with open(page, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if begun is not None:
                if line.startswith("```"):
                    blocks.append(Block(heading, begun, "".join(lines)))
                    begun, lines = None, []
                else:
                    lines.append(line)
            elif line.startswith("```sh"):
                begun = number
            elif line.startswith("#"):
                heading = line.lstrip("#").strip()
    return blocks


class Shell:
    """A bash that lives from the first block to the last, so that variables and functions stay."""

    MARK = "the command has ended with"

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
        )

    def run(self, command):
        """Returns the exit code and what it said. A shell that is gone counts as code 255."""
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
        self._log.flush()
        return code, "".join(said).strip()

    def end(self):
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._log.close()
