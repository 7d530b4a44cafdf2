package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"payrollgateway/internal/httpapi/apigen"
)

// server implements the generated interface and what is not generated.
type server struct {
	Config
	document *document
	page     []byte        // /docs
	policy   string        // its content security policy
	uploads  chan struct{} // a place for each submission being received
	waiters  chan struct{} // a place for each long poll
	started  time.Time
}

// New makes the handler of every call in the document. Errors: the embedded
// document cannot be read.
func New(c Config) (http.Handler, error) {
	d, err := readDocument()
	if err != nil {
		return nil, err
	}
	s := &server{Config: c.withDefaults(), document: d}
	s.uploads, s.waiters = make(chan struct{}, s.Uploads), make(chan struct{}, s.Waiters)
	s.started = s.Now()
	if s.page, s.policy, err = renderDocs(d); err != nil {
		return nil, err
	}
	return s.routes(), nil
}

func (s *server) routes() http.Handler {
	root := chi.NewRouter()
	root.Use(s.observe)
	root.NotFound(func(w http.ResponseWriter, _ *http.Request) { Refuse(apigen.ProblemCodeNotFound).write(w) })
	root.MethodNotAllowed(s.methodNotAllowed)
	root.Group(func(r chi.Router) {
		r.Use(s.guard)
		r.Post("/v1/batches", s.submitBatch)
		r.Get("/healthz", s.getHealth)
		r.Get("/readyz", s.getReadiness)
		r.Method(http.MethodGet, "/metrics", s.Metrics)
		r.Get("/openapi.yaml", s.getOpenAPI)
		r.Get("/docs", s.getDocs)
		strict := apigen.NewStrictHandlerWithOptions(s, nil, apigen.StrictHTTPServerOptions{
			RequestErrorHandlerFunc:  s.unbindable(apigen.ProblemCodeInvalidRequest),
			ResponseErrorHandlerFunc: s.fail,
		})
		apigen.HandlerWithOptions(strict, apigen.ChiServerOptions{
			BaseRouter: r, ErrorHandlerFunc: s.unbindable(apigen.ProblemCodeInvalidParameter),
		})
	})
	return root
}

// unbindable answers what the document allows and Go's types do not, such as a
// leap second. The generated error is not shown: it holds the value.
func (s *server) unbindable(code apigen.ProblemCode) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, _ error) { s.fail(w, r, Refuse(code)) }
}

// fail answers an error: its own problem, or `internal`, which is logged.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	refusal, ok := refusalOf(err)
	if !ok {
		s.Log.Error("a request failed", "route", routePattern(r), "error", err)
		refusal = Refuse(apigen.ProblemCodeInternal)
	}
	refusal.write(w)
}

var methods = []string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut}

// methodNotAllowed says which methods the path takes.
func (s *server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	routes := chi.RouteContext(r.Context()).Routes
	allowed := slices.DeleteFunc(slices.Clone(methods), func(method string) bool {
		return !routes.Match(chi.NewRouteContext(), method, r.URL.Path)
	})
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	Refuse(apigen.ProblemCodeMethodNotAllowed).write(w)
}
