package benchmark

// Figure is one number that the product is held against.
type Figure struct {
	What  string // in words, as the page prints it
	Unit  Unit
	Now   Bound // the target of today; missing it fails the run
	Final Bound // the target of the finished product; shown beside
}

// Reading is what was measured for a figure.
type Reading struct {
	Value float64
	Note  string // what stands behind the value: absolute figures, spread, sizes
}

// Result is a figure with its reading.
type Result struct {
	Figure
	Reading
	Experiment string // the name by which it can be measured alone
}

// Met reports whether today's target is met.
func (r Result) Met() bool { return r.Now.Met(r.Value) }

// experiment measures some figures in one set-up.
type experiment struct {
	name    string
	figures []Figure
	// run gives a reading per figure, in their order.
	run func(l *lab) ([]Reading, error)
}

// experiments are all there are, in the order of the page.
var experiments = []experiment{
	{"intake", []Figure{
		{"intake: HTTP POST of NDJSON to the 202, lines/s over a bare COPY of the same rows", Ratio, AtLeast(0.35), AtLeast(0.6)},
	}, measureIntake},
	{"dispatch", []Figure{
		{"dispatch: lines/s over a bare loop, 8 in flight, vendor without latency", Ratio, AtLeast(0.4), AtLeast(0.6)},
		{"statements per chunk of 250, BEGIN and COMMIT not counted", Count, AtMost(4), AtMost(4)},
	}, measureDispatch},
	{"wal", []Figure{
		{"WAL per line, intake and dispatch of a clean run", Bytes, AtMost(900), AtMost(900)},
	}, measureWAL},
	{"status", []Figure{
		{"GET of a batch's status while its lines are being sent, p99", Milliseconds, AtMost(20), AtMost(20)},
	}, measureStatus},
	{"rate", []Figure{
		{"permitted vendor rate used (80 % of 50 requests per second)", Percent, AtLeast(98), AtLeast(98)},
		{"most requests in any window of one second, limit 50", Requests, AtMost(50), AtMost(50)},
	}, measureRate},
	{"embedded", []Figure{
		{"embedded (SQLite) over Postgres, end to end, lines/s", Ratio, Bound{}, AtLeast(0.5)},
	}, measureEmbedded},
	{"million", []Figure{
		{"peak memory of the gateway while the largest batch streams in and is sent, Postgres", Mebibytes, AtMost(256), AtMost(256)},
		{"lines/s of the largest batch over that of a small one", Ratio, Bound{}, AtLeast(0.8)},
	}, measureMillion},
	{"million-embedded", []Figure{
		{"peak memory of the gateway while the largest batch streams in and is sent, SQLite", Mebibytes, AtMost(256), AtMost(256)},
	}, measureMillionEmbedded},
}

// Experiments are the names that Options.Only takes.
func Experiments() []string {
	names := make([]string, len(experiments))
	for i, e := range experiments {
		names[i] = e.name
	}
	return names
}
