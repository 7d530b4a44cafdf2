package vendor

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// known is a source of secrets for tests.
type knownSecrets map[string]string

func (k knownSecrets) Resolve(ref string) (Secret, error) {
	text, ok := k[ref]
	if !ok {
		return Secret{}, fmt.Errorf("%s does not exist", ref)
	}
	return NewSecret(text), nil
}

const minimal = `name: acme
base_url: https://api.acme.example
submit: {path: /v1/payroll/lines}
rate: {requests: 10, per: 1s}
`

func parsed(t testing.TB, text string) *Profile {
	t.Helper()
	p, err := Parse("acme.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// keyed is a vendor with line keys and a look-up.
func keyed(t testing.TB) *Profile {
	t.Helper()
	return parsed(t, minimal+"idempotency: {scope: line, retention: 24h}\nlookup: standard\n")
}

func profileWith(scope retry.KeyScope, change ...func(*Profile)) *Profile {
	p := &Profile{
		Name: "acme", BaseURL: "https://api.acme.example",
		Submit:      Submit{Method: "POST", Path: "/v1/payroll/lines", Timeout: 30 * time.Second, Settle: time.Minute, Chunk: Chunking{100, 250}},
		Idempotency: Idempotency{Scope: scope, Header: "Idempotency-Key", Stores: StoresSuccess, Conflict: retry.ConflictDone},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// lineNo is a line whose employee id and amount are easily found in a text.
func lineNo(i int) ChunkLine {
	l := payroll.Line{
		Ordinal: int32(i + 1), EmployeeID: fmt.Sprintf("EMP-%04d", 7000+i), Version: 1,
		Amount: payroll.Minor(183050 + 100*i), Currency: "USD",
	}
	return ChunkLine{Line: l, Key: fmt.Sprintf("pl_t1_2026-01_%024x", 0xabc0+i)}
}

func chunkOf(n int) Chunk {
	c := Chunk{BatchKey: "batch_2026-01_0123456789abcdef0123", PayPeriod: "2026-01"}
	for i := range n {
		c.Lines = append(c.Lines, lineNo(i))
	}
	return c
}

var received = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// reply is a whole answer.
func reply(status int, body string, headers ...string) Exchange {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return Exchange{Sent: MaybeSent, WrittenAt: received.Add(-time.Second), Status: status, Header: h, Body: []byte(body), Received: received}
}

// itemsOf spells the standard answer, one item status per line.
func itemsOf(c Chunk, statuses ...int) string {
	items := make([]string, len(statuses))
	for i, s := range statuses {
		items[i] = fmt.Sprintf(`{"key":%q,"status":%d}`, c.Lines[i].Key, s)
	}
	return `{"results":[` + strings.Join(items, ",") + `]}`
}
