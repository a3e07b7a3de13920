#!/usr/bin/env python3
"""What managers asked of control planes, and whether they had the right to: rights.py DIR... [--all-used]

DIR is the folder of a control plane, which may be down again; its API server noted every request of a ServiceAccount
(audit-policy.yaml). Prints what was refused to an account of the name "phalanx" for lack of rights, with exit code 1:
a write that is refused is told to the owner of the object, by an Event, so that no log of a manager has it. What is
refused while an API server begins is no lack: it knows no roles for a moment (control-plane notes from when to when).

  --all-used   a rule of deploy/rbac.yaml that none of them made use of is a failure, too: it is one too many
"""
import argparse
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ACCOUNT = re.compile(r"system:serviceaccount:[^:]+:phalanx")
# Rights that leave no trace, and why they are needed all the same.
UNSEEN = {
    ("batch", "jobs/finalizers", "update"): "asked about by OwnerReferencesPermissionEnforcement, inside the API server",
}


def events(home):
    """The requests of managers. Without the log nothing would be refused, and nobody would know."""
    path = f"{home}/logs/audit.log"
    if not os.path.exists(path):
        sys.exit(f"{path} is missing: control-plane up without --no-audit writes it")
    with open(path, encoding="utf-8") as log:
        for line in log:
            # Of a server that was killed the last line may be half a one.
            if ":phalanx\"" not in line or not line.endswith("}\n"):
                continue
            event = json.loads(line)
            if ACCOUNT.fullmatch(event["user"]["username"]):
                yield event


def resource_of(event):
    about = event.get("objectRef", {})
    resource = about.get("resource", "")
    if about.get("subresource"):
        resource += "/" + about["subresource"]
    return about.get("apiGroup", ""), resource


def refused_for_other_reasons(message):
    """By an admission plugin or a webhook that looks at the object, not at who writes it."""
    return any(words in message for words in ("being terminated", "exceeded quota", "admission webhook"))


def beginnings(home):
    """From when to when API servers began that were started again: pairs of times as in the audit log."""
    path = f"{home}/logs/api-server-beginnings"
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as file:
        return [tuple(line.split()) for line in file]


def refusals(home):
    """What was refused for lack of rights, in words."""
    begun = beginnings(home)
    for event in events(home):
        about, status = event.get("objectRef", {}), event.get("responseStatus", {})
        if status.get("code") != 403 or refused_for_other_reasons(status.get("message", "")):
            continue
        if any(begin <= event["requestReceivedTimestamp"] <= end for begin, end in begun):
            continue
        group, resource = resource_of(event)
        name = "/".join(part for part in (about.get("namespace"), about.get("name")) if part)
        yield f"{event['verb']} {resource or event['requestURI']} {name} ({group or 'core'})"


def rights_in(text):
    """(group, resource, verb) of every rule of a file like deploy/rbac.yaml."""
    for rule in re.split(r"^- (?=apiGroups:)", text, flags=re.MULTILINE)[1:]:

        def entries(field, rule=rule):
            found = re.search(rf"^(?:  )?{field}:(?: \[(.*)\]|\n((?:  - .*\n)+))", rule, re.MULTILINE)
            if found.group(1) is None:
                return [line.strip(" -") for line in found.group(2).splitlines()]
            return [entry.strip(' "') for entry in found.group(1).split(",")]

        for group in entries("apiGroups"):
            for resource in entries("resources"):
                for verb in entries("verbs"):
                    yield group, resource, verb


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", metavar="DIR", nargs="+")
    parser.add_argument("--all-used", action="store_true")
    options = parser.parse_args()
    used, problems, count = set(), [], 0
    for home in options.homes:
        before = count
        for event in events(home):
            count += 1
            used.add((*resource_of(event), event["verb"]))
        if count == before:
            problems.append(f"{home}: there is no request of a manager in its audit log")
        problems += [f"{home}: refused: {refusal}" for refusal in refusals(home)]
    with open(f"{HERE}/../../deploy/rbac.yaml", encoding="utf-8") as file:
        rights = set(rights_in(file.read()))
    unused = sorted(rights - used - set(UNSEEN))
    if options.all_used:
        problems += [f"never used: {verb} {resource} ({group or 'core'})" for group, resource, verb in unused]
    for problem in problems:
        print(f"FAIL {problem}")
    print(f"{count} requests of managers, {len(rights & used)} of {len(rights)} rights used, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
