// Recomputes every derived member of a vector file, in Node.
//
//	node keys.mjs FILE    prints the file with canonical, key and hash computed anew
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const sha256 = (text) => createHash("sha256").update(text, "utf8").digest("hex");

// An object by hand: JavaScript would put integer-like names first.
const object = (members) =>
  "{" +
  members
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, json]) => `${JSON.stringify(name)}:${json}`)
    .join(",") +
  "}";

function line(v) {
  const members = [
    ["emp", JSON.stringify(v.employee_id)],
    ["pp", JSON.stringify(v.pay_period_id)],
    ["t", JSON.stringify(v.tenant_id)],
    ["v", JSON.stringify(v.line_version)],
  ];
  if ("line_ref" in v) members.push(["l", JSON.stringify(v.line_ref)]);
  const canonical = object(members);
  const key = `pl_${v.tenant_id}_${v.pay_period_id}_${sha256(canonical).slice(0, 24)}`;
  return { ...v, canonical, key };
}

function batch(v) {
  const digest = sha256(`${v.tenant_id}:${v.pay_period_id}:${v.run_attempt_group}`);
  return { ...v, key: `batch_${v.pay_period_id}_${digest.slice(0, 20)}` };
}

function scalarText(literal) {
  const value = JSON.parse(literal);
  return typeof value === "string" ? value : literal;
}

function requestHash(v) {
  const details = v.details.map((d) => [d.name, JSON.stringify(scalarText(d.json))]);
  const canonical = object([
    ["amount", BigInt(v.amount_minor).toString()],
    ["currency", JSON.stringify(v.currency)],
    ["details", object(details)],
  ]);
  return { ...v, canonical, hash: sha256(canonical) };
}

const compute = { lines: line, batches: batch, hashes: requestHash };
const vectors = JSON.parse(readFileSync(process.argv[2], "utf8"));
const out = {};
for (const [name, rows] of Object.entries(vectors)) out[name] = rows.map((v) => compute[name](v));
console.log(JSON.stringify(out, null, 1));
