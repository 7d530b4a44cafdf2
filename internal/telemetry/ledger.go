package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Ledger is what metrics show of the store.
type Ledger struct {
	Lines           map[string]int64 // by state, of unfinished batches
	OpenLetters     []LetterCount
	RetryDepth      int64
	OldestUnsettled time.Duration // age of the oldest unfinished batch
}

// LetterCount is how many dead letters are open under three labels.
type LetterCount struct {
	Class, Stage, Reason string
	N                    int64
}

// scrapeTimeout bounds what a scrape may cost the store.
const scrapeTimeout = 2 * time.Second

// ledgerCollector asks the store when it is scraped, at most once a second.
type ledgerCollector struct {
	read    func(context.Context) (Ledger, error)
	lines   *prometheus.Desc
	letters *prometheus.Desc
	depth   *prometheus.Desc
	oldest  *prometheus.Desc

	mu   sync.Mutex
	last Ledger
	at   time.Time
}

func newLedgerCollector(read func(context.Context) (Ledger, error)) *ledgerCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &ledgerCollector{
		read:    read,
		lines:   desc("gateway_lines", "Lines of unfinished batches by state.", "state"),
		letters: desc("gateway_dead_letters_open", "Open dead letters.", "class", "stage", "reason"),
		depth:   desc("gateway_retry_queue_depth", "Lines that wait for a retry or a look-up."),
		oldest:  desc("gateway_oldest_unsettled_seconds", "Age of the oldest unfinished batch; 0 = none."),
	}
}

// Describe implements prometheus.Collector.
func (c *ledgerCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.lines, c.letters, c.depth, c.oldest} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. While the store cannot be read the
// ledger's metrics are absent rather than old.
func (c *ledgerCollector) Collect(ch chan<- prometheus.Metric) {
	l, err := c.fresh()
	if err != nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for state, n := range l.Lines {
		gauge(c.lines, float64(n), state)
	}
	for _, n := range l.OpenLetters {
		gauge(c.letters, float64(n.N), n.Class, n.Stage, n.Reason)
	}
	gauge(c.depth, float64(l.RetryDepth))
	gauge(c.oldest, l.OldestUnsettled.Seconds())
}

func (c *ledgerCollector) fresh() (Ledger, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) < time.Second && !c.at.IsZero() {
		return c.last, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	l, err := c.read(ctx)
	if err != nil {
		return Ledger{}, err
	}
	c.last, c.at = l, time.Now()
	return l, nil
}
