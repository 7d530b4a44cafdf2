package telemetry

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is every metric of the gateway. Labels never name a tenant's people.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	waits    *prometheus.HistogramVec
	died     *prometheus.CounterVec
	gates    *prometheus.GaugeVec
	alerts   *prometheus.CounterVec
	http     *prometheus.HistogramVec
}

// GateStates are the label values of gateway_gate_state.
var GateStates = []string{"open", "throttled", "backpressure", "outage", "suspended"}

// NewMetrics makes the registry. Ledger is asked at every scrape, at most once
// a second; nil leaves its metrics out.
func NewMetrics(ledger func(context.Context) (Ledger, error)) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.requests = m.counter("gateway_vendor_requests_total", "Requests to vendors by kind and HTTP status (0 = no answer).", "vendor", "kind", "status")
	m.died = m.counter("gateway_dead_letters_total", "Lines that became dead letters.", "class", "stage", "reason")
	m.alerts = m.counter("gateway_alerts_total", "Alerts raised; each is also one ERROR log event.", "name")
	m.waits = m.histogram("gateway_rate_wait_seconds", "Wait of a request for its turn and its token.", prometheus.ExponentialBuckets(0.001, 4, 9), "vendor")
	m.http = m.histogram("gateway_http_request_seconds", "Requests to the gateway by route and status.", prometheus.ExponentialBuckets(0.001, 4, 9), "route", "method", "status")
	m.gates = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "gateway_gate_state", Help: "1 for the state that a vendor's gate is in."}, []string{"vendor", "state"})
	m.registry.MustRegister(m.gates, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if ledger != nil {
		m.registry.MustRegister(newLedgerCollector(ledger))
	}
	return m
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

// Handler serves the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// VendorRequest counts a request to a vendor; status 0 = no answer.
func (m *Metrics) VendorRequest(vendor, kind string, status int) {
	m.requests.WithLabelValues(vendor, kind, strconv.Itoa(status)).Inc()
}

// RateWait notes how long a request waited for its turn and its token.
func (m *Metrics) RateWait(vendor string, d time.Duration) {
	m.waits.WithLabelValues(vendor).Observe(d.Seconds())
}

// DeadLetter counts a line that became a dead letter.
func (m *Metrics) DeadLetter(class, stage, reason string) {
	m.died.WithLabelValues(class, stage, reason).Inc()
}

// Gate notes the state of a vendor's gate.
func (m *Metrics) Gate(vendor, state string) {
	for _, s := range GateStates {
		v := 0.0
		if s == state {
			v = 1
		}
		m.gates.WithLabelValues(vendor, s).Set(v)
	}
}

// Alert counts an alert.
func (m *Metrics) Alert(name string) { m.alerts.WithLabelValues(name).Inc() }

// HTTP notes a request to the gateway. The route is its pattern, never its path.
func (m *Metrics) HTTP(route, method string, status int, d time.Duration) {
	m.http.WithLabelValues(route, method, strconv.Itoa(status)).Observe(d.Seconds())
}
