"""Results: JSON lines for later, a table for now."""
import json, os, time

from harness.machine import BENCH, WORK

OUT = None


def open_results(scenario):
    """results/SCENARIO-TIME.jsonl: one line a sample, one a summary."""
    global OUT
    os.makedirs(os.path.join(BENCH, "results"), exist_ok=True)
    OUT = open(
        os.path.join(BENCH, "results", "%s-%s.jsonl" % (scenario, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))), "a"
    )


def record(**k):
    k.setdefault("time", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    OUT.write(json.dumps(k).replace(WORK, "$WORK") + "\n")
    OUT.flush()


def table(head, rows):
    rows = [([str(x) for x in r] + [""] * len(head))[: len(head)] for r in rows]
    w = [max(len(r[i]) for r in [head] + rows) for i in range(len(head))]
    print()
    print(" | ".join(h.ljust(w[i]) for i, h in enumerate(head)))
    print("-|-".join("-" * x for x in w))
    for r in rows:
        print(" | ".join(x.ljust(w[i]) if i == 0 else x.rjust(w[i]) for i, x in enumerate(r)))
    print(flush=True)
