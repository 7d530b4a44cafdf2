package vendor

import (
	"crypto/sha256"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/shopspring/decimal"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// Bounds and defaults of a profile.
const (
	defaultTimeout     = 30 * time.Second
	longestTimeout     = 10 * time.Minute
	longestWait        = 366 * 24 * time.Hour
	longestWindow      = 31 * 24 * time.Hour
	defaultConcurrency = 4
	defaultHeadroom    = 0.2
	defaultMaxWait     = time.Hour
	mostLines          = 10_000
	mostRequests       = 10_000
)

// Parse reads a profile strictly: unknown and doubled keys, wrong types, values
// out of range, secrets that cannot be read. The error is of type Faults and
// holds every fault of the file. file is only a name, for the faults.
func Parse(file string, text []byte, secrets Secrets) (*Profile, error) {
	d := &document{file: file}
	p := &Profile{Text: slices.Clone(text), SHA256: sha256.Sum256(text)}
	if secrets != nil {
		p.secrets = secrets.Resolve
	}
	if root, ok := d.open(text); ok {
		p.read(root.object())
	}
	if err := d.faults.orNil(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Profile) read(o *object) {
	p.readIdentity(o)
	p.readAuth(o)
	p.readSubmit(o.child("submit"))
	p.readIdempotency(o.child("idempotency"))
	p.Corrections = payroll.CorrectionsRefuse
	oneOf(o, "corrections", &p.Corrections, payroll.CorrectionsRefuse, payroll.CorrectionsReplace)
	p.readRates(o)
	p.readLimits(o.child("limits"))
	p.readRetry(o.child("retry"))
	p.readLookUp(o)
	p.readNotApplied(o)
	notYet(o, "request")
	notYet(o, "response")
	o.close()
}

var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (p *Profile) readIdentity(o *object) {
	o.textTo("name", &p.Name)
	if o.require("name", `the value of "vendor" in a batch`) && p.Name != "" && !profileName.MatchString(p.Name) {
		o.members["name"].fault("must be 1 to 64 characters of A-Z a-z 0-9 . _ -, the first a letter or digit")
	}
	revision := 1
	o.intTo("revision", &revision, 1, math.MaxInt32)
	p.Revision = int32(revision)
	o.textTo("base_url", &p.BaseURL)
	if o.require("base_url", "where the vendor is, such as https://api.acme.example") && p.BaseURL != "" {
		p.BaseURL = strings.TrimSuffix(p.BaseURL, "/")
		if remedy := badBase(p.BaseURL); remedy != "" {
			o.members["base_url"].fault("%s", remedy)
		}
	}
}

// badBase says what is wrong with a base URL, or nothing. Plain http would show
// pay and credentials to the network, so it is for this machine only.
func badBase(base string) string {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return "must be a URL such as https://api.acme.example"
	case u.User != nil:
		return "must not hold a credential: use auth"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(base, "#"):
		return "must not have a query or a fragment"
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "must be https: pay and credentials would travel in the clear (http is for loopback addresses)"
	}
	return ""
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

var (
	submitPath = regexp.MustCompile(`^(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+$`)
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")
)

func (p *Profile) readSubmit(o *object) {
	p.Submit = Submit{Method: "POST", Timeout: defaultTimeout, Concurrency: defaultConcurrency}
	s := &p.Submit
	oneOf(o, "method", &s.Method, "POST", "PUT", "PATCH")
	o.textTo("path", &s.Path)
	if o.require("path", "where lines are posted, such as /v1/payroll/lines") && s.Path != "" && !submitPath.MatchString(s.Path) {
		o.members["path"].fault("must be a path that begins with a slash and does not end with one")
	}
	o.durationTo("timeout", &s.Timeout, time.Millisecond, longestTimeout)
	s.Settle = 2 * s.Timeout
	o.durationTo("settle", &s.Settle, s.Timeout, longestWait)
	o.intTo("concurrency", &s.Concurrency, 1, 1024)
	o.boolTo("atomic", &s.Atomic)
	s.Chunk = Chunking{Min: 100, Max: 250}
	if s.Atomic {
		s.Chunk = Chunking{Min: 25, Max: 50}
	}
	s.readChunk(o.child("chunk"))
	o.close()
}

// readChunk keeps the default of one bound out of the way of the other.
func (s *Submit) readChunk(o *object) {
	least := s.Chunk.Min
	o.intTo("max", &s.Chunk.Max, 1, mostLines)
	o.intTo("min", &s.Chunk.Min, 1, mostLines)
	_, maxGiven := o.members["max"]
	minimum, minGiven := o.members["min"]
	switch {
	case maxGiven && !minGiven:
		s.Chunk.Min = min(least, s.Chunk.Max)
	case minGiven && !maxGiven:
		s.Chunk.Max = max(s.Chunk.Min, s.Chunk.Max)
	case s.Chunk.Min > s.Chunk.Max:
		minimum.fault("must not be above max")
	}
	o.close()
}

func (p *Profile) readIdempotency(o *object) {
	p.Idempotency = Idempotency{Scope: retry.KeyNone, Stores: StoresSuccess, Conflict: retry.ConflictDone}
	i := &p.Idempotency
	scoped := oneOf(o, "scope", &i.Scope, retry.KeyLine, retry.KeyRequest, retry.KeyNone)
	o.textTo("header", &i.Header)
	o.durationTo("retention", &i.Retention, 0, 100*longestWait)
	oneOf(o, "stores", &i.Stores, StoresSuccess, StoresAll)
	o.boolTo("partial", &i.Partial)
	oneOf(o, "conflict", &i.Conflict, retry.ConflictDone, retry.ConflictInProgress, retry.ConflictUnknown)
	if scoped {
		i.checkScope(o, p.authHeaders())
	}
	p.checkRetention(o)
	o.close()
}

// checkScope finds what contradicts the scope: somebody believed in a key that
// is not there.
func (i *Idempotency) checkScope(o *object, taken map[string]bool) {
	header, named := o.members["header"]
	switch {
	case i.Scope == retry.KeyRequest && i.Header == "":
		o.require("header", "the header that carries the key of a request, such as Idempotency-Key")
	case i.Scope == retry.KeyRequest && !headerName.MatchString(i.Header):
		header.fault("must be the name of a header")
	case i.Scope == retry.KeyRequest && taken[http.CanonicalHeaderKey(i.Header)]:
		header.fault("is set by auth: every request would carry the same key")
	case i.Scope != retry.KeyRequest && named && i.Header != "":
		header.fault("is for the scope request: with line the key is in each line")
	}
	if v, given := o.members["retention"]; given && i.Scope == retry.KeyNone && i.Retention > 0 {
		v.fault("contradicts the scope none: a vendor without keys remembers none")
	}
	if v, given := o.members["partial"]; given && i.Scope != retry.KeyRequest && i.Partial {
		v.fault("is for the scope request")
	}
}

// checkRetention refuses a retention under which no request could ever be
// repeated: it promises what it cannot keep.
func (p *Profile) checkRetention(o *object) {
	first := time.Unix(0, 0)
	v, given := o.members["retention"]
	if given && p.Idempotency.Retention > 0 && p.Policy().HonoursKeys() && !p.Policy().Remembers(payroll.Trouble{FirstSentAt: first}, first) {
		v.fault("is too short beside submit.timeout and submit.settle: a repeated request could arrive after the vendor forgot its key; give 0 to repeat none")
	}
}

func (p *Profile) readRates(o *object) {
	v, ok := o.get("rate")
	if !o.require("rate", "what the vendor permits, such as {requests: 10, per: 1s}") || !ok {
		return
	}
	if _, list := v.node.(*ast.SequenceNode); !list {
		p.Rate = []Rate{readRate(v.object())}
		return
	}
	for _, item := range v.items() {
		p.Rate = append(p.Rate, readRate(item.object()))
	}
	if len(p.Rate) == 0 {
		v.fault("must hold at least one limit")
	}
}

func readRate(o *object) Rate {
	r := Rate{Headroom: defaultHeadroom}
	o.intTo("requests", &r.Requests, 1, mostRequests)
	o.require("requests", "how many requests the vendor permits in the window")
	o.durationTo("per", &r.Per, time.Millisecond, longestWindow)
	o.require("per", "the length of the window, such as 1s")
	if v, ok := o.get("headroom"); ok {
		r.Headroom = v.share(0.9)
	}
	o.close()
	return r
}

var shareText = regexp.MustCompile(`^0(\.[0-9]{1,6})?$`)

func (v value) share(most float64) float64 {
	text := v.number()
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !shareText.MatchString(text) || share > most {
		v.fault("must be a share from 0 to %v", most)
	}
	return share
}

func (p *Profile) readLimits(o *object) {
	p.Limits = payroll.DefaultCap()
	amountTo(o, "min_amount", &p.Limits.Min)
	amountTo(o, "max_amount", &p.Limits.Max)
	if p.Limits.Min.GreaterThan(p.Limits.Max) {
		o.fault("min_amount must not be above max_amount")
	}
	o.close()
}

var amountText = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,4})?$`)

// amountTo reads an optional amount from its text; it is never a float.
func amountTo(o *object, name string, dst *decimal.Decimal) {
	v, ok := o.get(name)
	if !ok {
		return
	}
	text := v.number()
	amount, err := decimal.NewFromString(text)
	if err != nil || !amountText.MatchString(text) {
		v.fault(`must be a plain decimal number such as "250000.00"`)
		return
	}
	*dst = amount
}

// budgetNames are the keys of retry, by class.
var budgetNames = [payroll.RetryClasses]string{
	payroll.ClassNetwork: "network", payroll.ClassVendorError: "vendor_error", payroll.ClassRateLimited: "rate_limited",
	payroll.ClassNotYet: "not_yet", payroll.ClassLookUp: "look_up",
}

func (p *Profile) readRetry(o *object) {
	p.Retry = Retry{Budgets: retry.DefaultBudgets(), MaxWait: defaultMaxWait}
	for class, name := range budgetNames {
		readBudget(o.child(name), &p.Retry.Budgets[class])
	}
	o.durationTo("max_wait", &p.Retry.MaxWait, 0, 7*24*time.Hour)
	o.close()
}

func readBudget(o *object, b *retry.Budget) {
	o.intTo("max_retries", &b.MaxRetries, 0, retry.MaxSends)
	o.durationTo("base", &b.Base, time.Millisecond, longestWait)
	o.durationTo("cap", &b.Cap, time.Millisecond, longestWait)
	if b.Base > b.Cap {
		o.fault("base must not be above cap")
	}
	o.close()
}

func (p *Profile) readLookUp(o *object) {
	word := "none"
	if v, ok := o.get("lookup"); ok {
		if _, mapping := v.node.(ast.MapNode); mapping {
			v.fault("a mapping is not read by this version: use none or standard")
		} else {
			oneOf(o, "lookup", &word, "none", "standard")
		}
	}
	p.LookUp = word == "standard"
	p.LookUpLag = p.Submit.Timeout
	o.durationTo("lookup_lag", &p.LookUpLag, 0, longestWait)
}

// elsewhere are statuses that not_applied may not speak of, with the reason.
var elsewhere = map[int]string{
	400: "is for submit.atomic to say",
	409: "may mean that the payment exists",
	422: "is for submit.atomic to say",
}

func (p *Profile) readNotApplied(o *object) {
	v, ok := o.get("not_applied")
	if !ok {
		return
	}
	for _, item := range v.items() {
		status, ok := item.integer(300, 599)
		switch {
		case !ok:
		case elsewhere[status] != "":
			item.fault("status %d %s", status, elsewhere[status])
		case p.harmless(status):
			item.fault("is listed twice")
		default:
			p.NotApplied = append(p.NotApplied, status)
		}
	}
}

// notYet accepts a key of a later version only where it asks for the default.
func notYet(o *object, name string) {
	v, ok := o.get(name)
	if !ok {
		return
	}
	switch n := v.node.(type) {
	case *ast.StringNode:
		ok = n.Value == ""
	case *ast.MappingNode:
		ok = len(n.Values) == 0
	default:
		ok = false
	}
	if !ok {
		v.fault("is not read by this version: leave it out to use the standard one")
	}
}
