package sandbox

import (
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

const (
	maxBody       = 32 << 20
	maxConcurrent = 256 // requests worked on; more wait at the door
)

// Server is the vendor as an http.Handler.
type Server struct {
	cfg     Config
	journal *Journal
	door    chan struct{}
	closed  chan struct{} // closed by Close
	broken  chan struct{} // closed when the journal failed
	closing sync.Once
	breaks  sync.Once

	mu       sync.Mutex // guards what follows, and the order of the journal
	book     *book
	history  *history
	summary  *summary
	window   window
	inFlight int
}

// New makes a vendor of the configuration that goes on where the journal ends.
// The caller closes the journal after the server.
func New(cfg Config, journal *Journal) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg.withDefaults(), journal: journal, door: make(chan struct{}, maxConcurrent),
		closed: make(chan struct{}), broken: make(chan struct{}), history: newHistory(), summary: newSummary(),
		window: window{limit: cfg.RateLimit},
	}
	s.book = newBook(&s.cfg)
	past := journal.takePast()
	for i := range past.Requests {
		s.history.note(&past.Requests[i])
		s.summary.noteRequest(&past.Requests[i])
	}
	for _, e := range past.Effects {
		s.book.noteEffect(e)
		s.summary.noteEffect(e)
	}
	for _, m := range past.Memories {
		s.book.noteMemory(m)
	}
	return s, nil
}

// Close wakes whatever the server holds back. Work that had not begun is not
// done.
func (s *Server) Close() {
	s.closing.Do(func() { close(s.closed) })
}

// ServeHTTP answers one request. Only the summary stays out of the journal.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.door <- struct{}{}:
		defer func() { <-s.door }()
	case <-r.Context().Done():
		return
	}
	v := &visit{s: s, w: w, r: r, gone: r.Context().Done()}
	v.allowWriting()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		problem(http.StatusRequestEntityTooLarge, "body_too_large", "").write(w)
		return
	case err != nil:
		return // it never arrived, so it was never read
	}
	key, lookUp := strings.CutPrefix(r.URL.Path, s.cfg.Path+"/")
	switch {
	case r.URL.Path == summaryPath && r.Method == http.MethodGet:
		v.summary()
	case r.URL.Path == s.cfg.Path && r.Method == http.MethodPost:
		v.submit(body)
	case lookUp && r.Method == http.MethodGet && !s.cfg.NoLookUp:
		v.lookUp(key)
	default:
		v.noRoute()
	}
}

func (s *Server) authorised(r *http.Request) bool {
	given := []byte(r.Header.Get("Authorization"))
	return s.cfg.Token == "" || subtle.ConstantTimeCompare(given, []byte("Bearer "+s.cfg.Token)) == 1
}

// fail ends a server whose journal cannot be trusted any more.
func (s *Server) fail() {
	s.breaks.Do(func() { close(s.broken) })
}
