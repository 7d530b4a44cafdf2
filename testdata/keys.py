"""Recomputes every derived member of a vector file, in Python.

    python3 keys.py FILE    prints the file with canonical, key and hash computed anew
"""

import hashlib
import json
import sys


def compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256(text):
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def line(v):
    natural = {
        "emp": v["employee_id"],
        "pp": v["pay_period_id"],
        "t": v["tenant_id"],
        "v": v["line_version"],
    }
    if "line_ref" in v:
        natural["l"] = v["line_ref"]
    canonical = compact(natural)
    key = "pl_" + v["tenant_id"] + "_" + v["pay_period_id"] + "_" + sha256(canonical)[:24]
    return {**v, "canonical": canonical, "key": key}


def batch(v):
    text = ":".join([v["tenant_id"], v["pay_period_id"], v["run_attempt_group"]])
    return {**v, "key": "batch_" + v["pay_period_id"] + "_" + sha256(text)[:20]}


def scalar_text(literal):
    value = json.loads(literal)
    return value if isinstance(value, str) else literal


def request_hash(v):
    payload = {
        "amount": int(v["amount_minor"]),
        "currency": v["currency"],
        "details": {d["name"]: scalar_text(d["json"]) for d in v["details"]},
    }
    canonical = compact(payload)
    return {**v, "canonical": canonical, "hash": sha256(canonical)}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        vectors = json.load(file)
    compute = {"lines": line, "batches": batch, "hashes": request_hash}
    out = {name: [compute[name](v) for v in rows] for name, rows in vectors.items()}
    print(json.dumps(out, indent=1))


main()
