package payroll_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"payrollgateway/internal/payroll"
)

const (
	keyVectors  = "../../testdata/keyvectors.json"
	hashVectors = "../../testdata/hashvectors.json"
)

type vectors struct {
	Lines   []lineVector  `json:"lines,omitempty"`
	Batches []batchVector `json:"batches,omitempty"`
	Hashes  []hashVector  `json:"hashes,omitempty"`
}

type lineVector struct {
	Tenant    string `json:"tenant_id"`
	PayPeriod string `json:"pay_period_id"`
	Employee  string `json:"employee_id"`
	Version   int32  `json:"line_version"`
	Ref       string `json:"line_ref,omitempty"`
	Canonical string `json:"canonical"`
	Key       string `json:"key"`
}

type batchVector struct {
	Tenant    string `json:"tenant_id"`
	PayPeriod string `json:"pay_period_id"`
	Group     string `json:"run_attempt_group"`
	Key       string `json:"key"`
}

type hashVector struct {
	Amount    string         `json:"amount_minor"`
	Currency  string         `json:"currency"`
	Details   []detailVector `json:"details"`
	Canonical string         `json:"canonical"`
	Hash      string         `json:"hash"`
}

type detailVector struct {
	Name string `json:"name"`
	JSON string `json:"json"`
}

func decode(t *testing.T, text []byte) (v vectors) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func readVectors(t *testing.T, file string) vectors {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

// TestVectorsAgreeInThreeLanguages guards against the one-character difference
// in a JSON encoder that breaks deduplication without a sound: Go, Python and
// Node compute every key and hash of the vector files.
func TestVectorsAgreeInThreeLanguages(t *testing.T) {
	t.Parallel()
	others := []struct{ interpreter, script, remedy string }{
		{"python3", "../../testdata/keys.py", "install Python 3 (Debian: apt-get install python3)"},
		{"node", "../../testdata/keys.mjs", "install Node (Debian: apt-get install nodejs)"},
	}
	for _, file := range []string{keyVectors, hashVectors} {
		want := readVectors(t, file)
		if diff := cmp.Diff(want, inGo(t, want)); diff != "" {
			t.Errorf("%s in Go (-file +computed):\n%s", file, diff)
		}
		for _, o := range others {
			path, err := exec.LookPath(o.interpreter)
			if err != nil {
				t.Fatalf("%s is missing: %s; keys are compared with its computation", o.interpreter, o.remedy)
			}
			out, err := exec.CommandContext(t.Context(), path, o.script, file).Output()
			if err != nil {
				t.Fatalf("%s %s: %v", o.interpreter, o.script, err)
			}
			if diff := cmp.Diff(want, decode(t, out)); diff != "" {
				t.Errorf("%s in %s (-file +computed):\n%s", file, o.interpreter, diff)
			}
		}
	}
}

func inGo(t *testing.T, v vectors) vectors {
	t.Helper()
	for _, l := range v.Lines {
		if !payroll.ValidIdentifier(l.Tenant) || !payroll.ValidIdentifier(l.PayPeriod) || !payroll.ValidEmployeeID(l.Employee) {
			t.Errorf("vector %s is not made of valid identifiers", l.Key)
		}
	}
	return vectors{Lines: each(v.Lines, lineInGo), Batches: each(v.Batches, batchInGo), Hashes: each(v.Hashes, func(h hashVector) hashVector {
		return hashInGo(t, h)
	})}
}

func each[T any](rows []T, compute func(T) T) (out []T) {
	for _, row := range rows {
		out = append(out, compute(row))
	}
	return out
}

func lineInGo(v lineVector) lineVector {
	line := payroll.Line{EmployeeID: v.Employee, Version: v.Version, Ref: v.Ref}
	n := line.Natural(v.Tenant, v.PayPeriod)
	v.Canonical, v.Key = n.Canonical(), n.Key()
	return v
}

func batchInGo(v batchVector) batchVector {
	v.Key = payroll.Batch{Tenant: v.Tenant, PayPeriod: v.PayPeriod, Group: v.Group}.Key()
	return v
}

func hashInGo(t *testing.T, v hashVector) hashVector {
	t.Helper()
	amount, err := strconv.ParseInt(v.Amount, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	var details payroll.Details
	for _, d := range v.Details {
		details = append(details, detail(t, d.Name, d.JSON))
	}
	if err := details.Check(); err != nil {
		t.Errorf("a detail of a vector is refused: %v", err)
	}
	hash := payroll.RequestHash(v.Currency, payroll.Minor(amount), details)
	v.Hash = hex.EncodeToString(hash[:])
	return v
}

// detail reads a scalar as a decoder does.
func detail(t *testing.T, name, literal string) payroll.Detail {
	t.Helper()
	if literal[0] != '"' {
		return payroll.LiteralDetail(name, literal)
	}
	var text string
	if err := json.Unmarshal([]byte(literal), &text); err != nil {
		t.Fatal(err)
	}
	return payroll.TextDetail(name, text)
}

func TestVectorsKeysAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	v := readVectors(t, keyVectors)
	for _, l := range v.Lines {
		if seen[l.Key] {
			t.Errorf("two vectors share the key %s", l.Key)
		}
		seen[l.Key] = true
	}
	if len(v.Lines) < 20 || len(v.Batches) < 5 {
		t.Errorf("%d line and %d batch vectors: the file lost some", len(v.Lines), len(v.Batches))
	}
}

func TestVersionsShareADigestAndPaymentsDoNot(t *testing.T) {
	t.Parallel()
	n := payroll.Natural{Tenant: "42", PayPeriod: "2024Q1", Employee: "1001", Version: 1}
	v2, bonus := n, n
	v2.Version, bonus.Ref = 2, "bonus"
	if n.AnyVersion() != v2.AnyVersion() {
		t.Error("two versions of a payment do not share their digest")
	}
	if n.AnyVersion() == bonus.AnyVersion() {
		t.Error("a bonus shares the digest of the salary")
	}
	if n.Digest() == v2.Digest() {
		t.Error("two versions share a key")
	}
	if n.Digest() == n.AnyVersion() {
		t.Error("a key is also the digest of all versions")
	}
}
