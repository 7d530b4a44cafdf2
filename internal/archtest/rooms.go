package archtest

// The floors, from the bottom. A package imports only from floors below its own;
// see arrows for the exceptions.
const (
	nouns    = iota // words and values; no database, no network
	parts           // one mechanism each, ignorant of the others
	services        // mechanisms put to a purpose
	wiring          // commands: read the configuration, put services together
)

// room is a package's place.
type room struct {
	floor int
	// onlyTests: test support, which production code must not import.
	onlyTests bool
	// alone: of ours it imports these and no others, whatever its floor allows.
	alone []string
	why   string
}

// rooms has every package of ours, by path from the module's root.
var rooms = map[string]room{
	"internal/payroll":   {floor: nouns, why: "the words all others speak; imports nothing of ours"},
	"internal/telemetry": {floor: nouns, why: "logs and metrics, usable from everywhere, knowing nobody"},
	"api":                {floor: nouns, why: "embeds the OpenAPI document"},
	"configs":            {floor: nouns, why: "embeds the built-in profiles"},
	"examples":           {floor: nouns, why: "embeds the example files"},

	"internal/store":     {floor: parts, why: "the contract of the two stores; no SQL"},
	"internal/vendor":    {floor: parts, why: "profiles, transport, and the judge of answers"},
	"internal/retry":     {floor: parts, why: "the decision about a next attempt, pure"},
	"internal/resume":    {floor: parts, why: "who may work on a period; the work itself is a function it is given"},
	"internal/ratelimit": {floor: parts, why: "rate and leases; a vendor is a name here"},
	"internal/lock":      {floor: parts, why: "period lock and line guard; keys are strings here"},

	"internal/intake":         {floor: services, why: "bodies in, one visible step"},
	"internal/batch":          {floor: services, why: "the run of a pay period; the store and the vendor behind interfaces"},
	"internal/store/postgres": {floor: services, why: "one dialect; the other one is not its business"},
	"internal/store/sqlite":   {floor: services, why: "one dialect; the other one is not its business"},
	"internal/httpapi":        {floor: services, why: "routes and problems; parses, makes one call, renders"},
	"internal/httpapi/apigen": {floor: services, alone: []string{"api"}, why: "generated from the OpenAPI document"},
	"internal/console":        {floor: services, why: "operator pages"},
	"internal/sandbox": {
		floor: services, alone: []string{"internal/payroll"},
		why: "the sandbox vendor judges the gateway: no fault of ours may be in the judge too",
	},
	"internal/benchmark": {floor: wiring, why: "measures the services side by side with bare loops"},

	"cmd/gateway":        {floor: wiring, why: "wires the product"},
	"cmd/bench":          {floor: wiring, why: "the door to internal/benchmark"},
	"scripts/testreport": {floor: wiring, alone: []string{}, why: "reads go test's events; nothing of the product"},

	"internal/archtest":        {floor: wiring, onlyTests: true, alone: []string{}, why: "looks at the house from outside"},
	"internal/pgtest":          {floor: nouns, onlyTests: true, alone: []string{}, why: "a database per test; knows no table"},
	"internal/store/storetest": {floor: services, onlyTests: true, why: "the promises of a store, run by each"},
	"internal/vendortest":      {floor: services, onlyTests: true, why: "fake vendors and a network that fails on purpose"},
	"internal/e2e":             {floor: wiring, onlyTests: true, why: "whole processes, killed and judged by the vendor's journal"},
}

// arrow is an import allowed within one floor.
type arrow struct{ from, to, why string }

var arrows = []arrow{
	{"internal/vendor", "internal/retry", "a profile carries the retry policies of its vendor"},
	{"internal/resume", "internal/store", "to hold a period is a row in the store"},
	{"internal/httpapi", "internal/httpapi/apigen", "the handlers implement the generated interface"},
	{"cmd/bench", "internal/benchmark", "the command is the door, the package the work"},
}

// owner says who alone may import a module, in code that is not a test.
type owner struct {
	module string // an import path, with all below it
	by     []string
	why    string
}

// owners: a library that is a choice of wiring, or whose traps need one keeper.
var owners = []owner{
	{"github.com/jackc/pgx", []string{"internal/store/postgres", "internal/benchmark", "internal/pgtest"}, "SQL for Postgres has one place; the benchmark needs a bare COPY beside it"},
	{"modernc.org/sqlite", []string{"internal/store/sqlite"}, "SQL for SQLite has one place"},
	{"database/sql", []string{"internal/store/postgres", "internal/store/sqlite"}, "no SQL outside the stores"},
	{"github.com/pressly/goose", []string{"internal/store/postgres", "internal/store/sqlite"}, "migrations belong to their dialect"},
	{"github.com/redis/go-redis", []string{"internal/ratelimit", "internal/lock"}, "Redis saves work and decides nothing: these two use it"},
	{"github.com/go-chi/chi", []string{"internal/httpapi", "internal/httpapi/apigen", "internal/console"}, "routing is no business of the services"},
	{"github.com/getkin/kin-openapi", []string{"internal/httpapi", "internal/httpapi/apigen"}, "its errors print the offending value, which is pay data: one mapper stands before them"},
	{"github.com/oapi-codegen", []string{"internal/httpapi", "internal/httpapi/apigen"}, "support of the generated code"},
	{"github.com/prometheus", []string{"internal/telemetry"}, "one registry; others count through it"},
	{"github.com/spf13", []string{"cmd/gateway"}, "commands and flags"},
	{"github.com/vbauerster/mpb", []string{"cmd/gateway"}, "progress bars"},
	{"github.com/caarlos0/env", []string{"cmd/gateway"}, "the environment is configuration"},
	{"golang.org/x/term", []string{"cmd/gateway"}, "only a command has a terminal"},
	{"github.com/google/go-cmp", []string{"internal/store/storetest", "internal/vendortest", "internal/e2e"}, "may panic on values it does not know: for tests"},
	{"pgregory.net/rapid", []string{"internal/store/storetest", "internal/vendortest", "internal/e2e"}, "for tests; MPL, not linked into the product"},
	{"go.uber.org/goleak", []string{"internal/store/storetest", "internal/vendortest", "internal/e2e"}, "for tests"},
	{"github.com/rogpeppe/go-internal", []string{"internal/e2e"}, "for tests"},
}

// readsEnvironment: besides commands, who may look at the environment, and why.
var readsEnvironment = map[string]string{
	"internal/pgtest": "the server that tests use is named by TEST_POSTGRES_URL",
}

// maxFileLines bounds the files people write.
const maxFileLines = 700
