package archtest

import (
	"os"
	"testing"
)

// TestHouse holds the tables against the source as it is.
func TestHouse(t *testing.T) {
	h, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(h.packages) == 0 {
		t.Fatal("no package was read: the test looks in the wrong place")
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, fault := range r.check(h) {
				t.Errorf("%s\n\trule: %s, because %s", fault, r.name, r.why)
			}
		})
	}
}

// TestTablesAreReasoned: an entry without a reason is a rule nobody can weigh.
func TestTablesAreReasoned(t *testing.T) {
	for path, r := range rooms {
		if r.why == "" {
			t.Errorf("room %s has no reason", path)
		}
	}
	for _, a := range arrows {
		if a.why == "" || rooms[a.from].floor != rooms[a.to].floor {
			t.Errorf("arrow %s -> %s needs a reason, and to be sideways", a.from, a.to)
		}
	}
	for _, o := range owners {
		for _, path := range o.by {
			if _, known := rooms[path]; !known || o.why == "" {
				t.Errorf("owner %s of %s needs a room, and the entry a reason", path, o.module)
			}
		}
	}
	for _, r := range rules {
		if r.why == "" {
			t.Errorf("rule %q has no reason", r.name)
		}
	}
}
