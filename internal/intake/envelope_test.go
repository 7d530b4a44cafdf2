package intake

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

const goodRow = `{"employee_id":"7","line_version":1,"gross_pay":"2.50"}`

// goodMembers is an envelope's members, by name.
var goodMembers = map[string]string{
	"vendor": `"acme"`, "pay_period_id": `"2026-W28"`, "run_attempt_group": `"1"`, "currency": `"USD"`, "lines": `[` + goodRow + `]`,
}

// document spells a JSON body: the good members, changed by pairs of name and
// JSON; "" takes a member away.
func document(changes ...string) Request {
	members := make(map[string]string)
	for name, value := range goodMembers {
		members[name] = value
	}
	for i := 0; i < len(changes); i += 2 {
		members[changes[i]] = changes[i+1]
	}
	var parts []string
	for name, value := range members {
		if value != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", name, value))
		}
	}
	slices.Sort(parts)
	return jsonRequest("{" + strings.Join(parts, ",") + "}")
}

func TestEnvelopeIsStored(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	wantCutoff := time.Date(2026, 7, 16, 22, 0, 0, 0, time.UTC)
	requests := map[string]Request{
		"json": document("pay_date", `"2026-07-17"`, "cutoff_at", `"2026-07-16T18:00:00-04:00"`, "control_totals", `{"lines":1,"gross_pay":2.5}`),
		"csv": {
			ContentType: "Text/CSV; charset=UTF-8; header=present", Body: strings.NewReader("employee_id,line_version,gross_pay\n7,1,2.5\n"),
			Query: envelopeQuery("pay_date", "2026-07-17", "cutoff_at", "2026-07-16T22:00:00Z", "control_totals.lines", "1", "control_totals.gross_pay", "2.50"),
		},
	}
	hashes := make(map[payroll.Hash]bool)
	for name, r := range requests {
		d.mustSubmit(r)
		b := d.last.Batch
		if !b.CutoffAt.Equal(wantCutoff) {
			t.Errorf("%s: cut-off %v", name, b.CutoffAt)
		}
		hashes[b.ContentHash] = true
		b.CutoffAt, b.ContentHash = time.Time{}, payroll.Hash{}
		want := payroll.Batch{Tenant: "city", Vendor: "acme", PayPeriod: "2026-W28", Group: "1", Currency: "USD", PayDate: "2026-07-17", Total: 1, CreatedBy: "key-1", CreatedAt: noon}
		if b != want {
			t.Errorf("%s: %+v", name, b)
		}
	}
	if len(hashes) != 1 {
		t.Errorf("%d content hashes of one content", len(hashes))
	}
}

func TestJSONEnvelopeFaults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request Request
		code    Code
		where   string // pointers
	}{
		"nothing given":         {jsonRequest(`{}`), InvalidEnvelope, "/lines /vendor /pay_period_id /run_attempt_group /currency"},
		"wrong types":           {document("vendor", `5`, "currency", `null`, "lines", `{}`), InvalidEnvelope, "/currency /lines /vendor"},
		"wrong values":          {document("pay_period_id", `"a b"`, "run_attempt_group", `""`, "currency", `"usd"`), InvalidEnvelope, "/pay_period_id /run_attempt_group /currency"},
		"unknown vendor":        {document("vendor", `"nobody"`), UnknownVendor, "/vendor"},
		"unknown vendor & more": {document("vendor", `"nobody"`, "currency", `"X"`), InvalidEnvelope, "/vendor /currency"},
		"connection":            {document("connection", `"main"`), InvalidEnvelope, "/connection"},
		"empty connection":      {document("connection", `""`), InvalidEnvelope, "/connection"},
		"pay_date":              {document("pay_date", `"17.07.2026"`), InvalidEnvelope, "/pay_date"},
		"pay_date that is none": {document("pay_date", `"2026-02-30"`), InvalidEnvelope, "/pay_date"},
		"cut-off, no offset":    {document("cutoff_at", `"2026-07-16T18:00:00"`), InvalidEnvelope, "/cutoff_at"},
		"cut-off, past":         {document("cutoff_at", `"2026-07-13T12:00:00Z"`), InvalidEnvelope, "/cutoff_at"},
		"cut-off, one digit":    {document("cutoff_at", `"2026-07-16T8:00:00Z"`), InvalidEnvelope, "/cutoff_at"},
		"callback_url":          {document("callback_url", `"https://hr.example/hook"`), InvalidEnvelope, "/callback_url"},
		"unknown members":       {document("cutoff", `"x"`, "extra", `{"a":[1,{}]}`), InvalidEnvelope, "/cutoff /extra"},
		"an unspeakable member": {document("Jane Doe", `1`), InvalidEnvelope, ""},
		"a dotted name":         {document("control_totals.lines", `1`), InvalidEnvelope, ""},
		"case variant alone":    {document("Pay_Date", `"2026-07-17"`), InvalidEnvelope, "/Pay_Date"},
		"case variant of lines": {document("Lines", `[]`), DuplicateName, "/lines"},
		"control empty":         {document("control_totals", `{}`), InvalidEnvelope, "/control_totals"},
		"control no object":     {document("control_totals", `3`), InvalidEnvelope, "/control_totals"},
		"control wrong":         {document("control_totals", `{"lines":"1","gross_pay":"1e3","sum":1}`), InvalidEnvelope, "/control_totals/lines /control_totals/sum /control_totals/gross_pay"},
		"control lines 1.0":     {document("control_totals", `{"lines":1.0}`), InvalidEnvelope, "/control_totals/lines"},
		"control member twice":  {document("control_totals", `{"lines":1,"lines":1}`), DuplicateName, "/control_totals/lines"},
		"a member twice":        {jsonRequest(`{"vendor":"acme","vendor":"acme"}`), DuplicateName, "/vendor"},
		"twice by escape":       {jsonRequest(`{"vendor":"acme","\u0076endor":"acme"}`), DuplicateName, "/vendor"},
		"case variant twice":    {jsonRequest(`{"Vendor":"acme","vendor":"acme"}`), DuplicateName, "/vendor"},
		"lines twice":           {jsonRequest(`{"lines":[],"lines":[]}`), DuplicateName, "/lines"},
		"no lines":              {document("lines", `[]`), EmptyBatch, ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := newDesk(t).mustRefuse(c.request, c.code)
			var where []string
			for _, f := range refused.Faults {
				if f.Pointer != "" {
					where = append(where, f.Pointer)
				}
			}
			if got := strings.Join(where, " "); got != c.where {
				t.Errorf("got %s\nwant %s", got, c.where)
			}
			if unknown := strings.Contains(name, "unknown vendor"); unknown != slices.Equal(refused.Known, []string{"acme", "sandbox"}) {
				t.Errorf("known vendors: %v", refused.Known)
			}
		})
	}
}

func TestQueryEnvelopeFaults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		query url.Values
		code  Code
		where string // parameters
	}{
		"nothing given":   {nil, InvalidParameter, "vendor pay_period_id run_attempt_group currency"},
		"unknown":         {envelopeQuery("cutoff", "x", "callback_url", "y"), InvalidParameter, "callback_url cutoff"},
		"unknown vendor":  {envelopeQuery("vendor", "nobody"), UnknownVendor, "vendor"},
		"given twice":     {url.Values{"vendor": {"acme", "acme"}, "pay_period_id": {"1"}, "run_attempt_group": {"1"}, "currency": {"USD"}}, InvalidParameter, "vendor"},
		"capitals":        {envelopeQuery("Vendor", "acme"), InvalidParameter, "Vendor"},
		"a plus unquoted": {envelopeQuery("cutoff_at", "2026-07-16T18:00:00 04:00"), InvalidParameter, "cutoff_at"},
		"control wrong":   {envelopeQuery("control_totals.lines", "-1", "control_totals.gross_pay", "+5"), InvalidParameter, "control_totals.lines control_totals.gross_pay"},
		"control 007":     {envelopeQuery("control_totals.lines", "007"), InvalidParameter, "control_totals.lines"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := csvRequest("employee_id,line_version,gross_pay\n7,1,2\n")
			r.Query = c.query
			refused := newDesk(t).mustRefuse(r, c.code)
			var where []string
			for _, f := range refused.Faults {
				where = append(where, f.Parameter)
			}
			if got := strings.Join(where, " "); got != c.where {
				t.Errorf("got %s\nwant %s", got, c.where)
			}
		})
	}
}

func TestQueryIsRefusedWithJSON(t *testing.T) {
	t.Parallel()
	r := document()
	r.Query = url.Values{"vendor": {"acme"}}
	refused := newDesk(t).mustRefuse(r, InvalidParameter)
	if refused.Faults[0].Parameter != "vendor" {
		t.Errorf("%+v", refused.Faults)
	}
}

func TestControlTotals(t *testing.T) {
	t.Parallel()
	rows := goodRow + "\n" + `{"employee_id":"8","line_version":1,"gross_pay":"-1.25"}` + "\n" + `{"employee_id":"9","line_version":1,"gross_pay":"100","currency":"JPY"}` + "\n"
	unreadable := `{"employee_id":"9","line_version":1,"gross_pay":"x"}` + "\n"
	tests := map[string]struct {
		body, lines, gross string
		where              string
		counted            Counted
	}{
		"they match":          {rows, "3", "101.25", "", Counted{}},
		"zeros do not matter": {rows, "", "101.250000", "", Counted{}},
		"a line is missing":   {rows, "4", "101.25", "control_totals.lines", Counted{3, "101.25", 0}},
		"a cent is missing":   {rows, "3", "101.26", "control_totals.gross_pay", Counted{3, "101.25", 0}},
		"both":                {rows, "2", "0", "control_totals.lines control_totals.gross_pay", Counted{3, "101.25", 0}},
		"unreadable amount":   {rows + unreadable, "", "101.25", "control_totals.gross_pay", Counted{4, "101.25", 1}},
		"unreadable, lines":   {rows + unreadable, "4", "", "", Counted{}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			r := ndjsonRequest(c.body)
			r.Query = envelopeQuery("control_totals.lines", c.lines, "control_totals.gross_pay", c.gross)
			if c.where == "" {
				d.mustSubmit(r)
				return
			}
			refused := d.mustRefuse(r, ControlTotalsMismatch)
			var where []string
			for _, f := range refused.Faults {
				where = append(where, f.Parameter)
			}
			if strings.Join(where, " ") != c.where || *refused.Counted != c.counted {
				t.Errorf("%v, counted %+v", where, *refused.Counted)
			}
		})
	}
}

// Totals of a batch must fit 64 bits, whatever part of it is looked at.
func TestAmountsBeyond64Bits(t *testing.T) {
	t.Parallel()
	row := `{"employee_id":"%d","line_version":1,"gross_pay":"%s999999999999999.99"}` + "\n"
	var body strings.Builder
	for i := range 100 {
		fmt.Fprintf(&body, row, i, []string{"", "-"}[i%2])
	}
	refused := newDesk(t).mustRefuse(ndjsonRequest(body.String()), InvalidEnvelope)
	if refused.Faults[0].Ordinal != 93 {
		t.Errorf("%+v", refused.Faults)
	}
}

func TestStoreIsToldAndAnswers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	r := document()
	r.Strict = true
	d.mustSubmit(r)
	if !d.last.Strict || d.last.Corrections != payroll.CorrectionsRefuse || !d.last.Now.Equal(noon) {
		t.Errorf("%+v", d.last)
	}
	d.err = &store.ContentDiffersError{Ordinal: 1}
	accepted, err := d.submit(document())
	var differs *store.ContentDiffersError
	if !errors.As(err, &differs) || accepted.Batch.Key() != payroll.BatchKey("city", "2026-W28", "1") {
		t.Errorf("%v, batch %s", err, accepted.Batch.Key())
	}
	d.nothingLeft()
}

func TestCancelledRequest(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := document()
	r.Now = noon
	if _, err := d.service.Submit(ctx, r); !errors.Is(err, context.Canceled) || d.accepted != 0 {
		t.Errorf("%v", err)
	}
}
