package main

import (
	"regexp"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// registry keeps the servers of scripts that run side by side.
type registry struct {
	mu      sync.Mutex
	servers map[string]*scriptServer
}

func newRegistry() *registry { return &registry{servers: map[string]*scriptServer{}} }

func (r *registry) put(dir string, s *scriptServer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers[dir] = s
}

func (r *registry) get(dir string) *scriptServer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.servers[dir]
}

// stop ends the server of a directory, if it has one.
func (r *registry) stop(dir string) error {
	r.mu.Lock()
	s := r.servers[dir]
	delete(r.servers, dir)
	r.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.stop()
}

func firstMatch(ts *testscript.TestScript, pattern, text string) string {
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if len(match) < 2 {
		ts.Fatalf("nothing matches %s in %q", pattern, text)
	}
	return match[1]
}
