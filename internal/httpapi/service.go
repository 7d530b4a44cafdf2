package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"payrollgateway/api"
	"payrollgateway/internal/httpapi/apigen"
)

func (s *server) getHealth(w http.ResponseWriter, _ *http.Request) { writeStatus(w, "ok") }

func writeStatus(w http.ResponseWriter, status string) {
	w.Header().Set("Content-Type", mediaJSON)
	_ = json.NewEncoder(w).Encode(map[string]string{"status": status})
}

// readyWithin bounds how long the store may take to say that it is there.
const readyWithin = 5 * time.Second

func (s *server) getReadiness(w http.ResponseWriter, r *http.Request) {
	if s.Draining() {
		Refuse(apigen.ProblemCodeDraining).write(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
	defer cancel()
	ok, causes := s.Ready(ctx)
	if ok {
		writeStatus(w, "ready")
		return
	}
	refusal := Refuse(apigen.ProblemCodeStoreUnavailable)
	for _, cause := range causes {
		refusal.Errors = append(refusal.Errors, apigen.Fault{Detail: cause})
	}
	refusal.write(w)
}

func (s *server) getOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(api.OpenAPI)
}

func (s *server) getDocs(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", s.policy)
	_, _ = w.Write(s.page)
}
