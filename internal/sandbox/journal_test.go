package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func openTestJournal(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func effectRecord(key string) *Effect {
	return &Effect{Stamp: Stamp{Type: TypeEffect}, Key: key, Amount: "1.00", Currency: "USD"}
}

func TestJournalNumbersAcrossRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	for i := range 3 {
		j := openTestJournal(t, path)
		mark, err := j.Append(time.Now(), effectRecord("a"), effectRecord("b"))
		if err != nil || j.Sync(mark) != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		c, err := ReadJournal(path)
		if err != nil || len(c.Effects) != 2*(i+1) || c.Effects[2*i+1].Seq != int64(2*(i+1)) {
			t.Fatalf("%+v, %v", c, err)
		}
	}
}

func TestTornLastLineIsNoRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := openTestJournal(t, path)
	if _, err := j.Append(time.Now(), effectRecord("a"), effectRecord("b")); err != nil {
		t.Fatal(err)
	}
	_ = j.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := strings.IndexByte(string(whole), '\n') + 1
	for cut := first; cut < len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ReadJournal(path)
		if err != nil || len(c.Effects) != 1 {
			t.Fatalf("cut at %d: %d effects, %v", cut, len(c.Effects), err)
		}
	}
	j = openTestJournal(t, path)
	if _, err := j.Append(time.Now(), effectRecord("c")); err != nil {
		t.Fatal(err)
	}
	_ = j.Close()
	c, err := ReadJournal(path)
	if err != nil || len(c.Effects) != 2 || c.Effects[1].Key != "c" || c.Effects[1].Seq != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
}

func TestDamageInTheMiddleIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	for _, text := range []string{"{}\n", "garbage\n{\"type\":\"effect\"}\n", "{\"type\":\"effect\",\"line_version\":\"x\"}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadJournal(path); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := OpenJournal(path); err == nil {
			t.Errorf("%q: opened", text)
		}
	}
}

func TestJournalInUseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := openTestJournal(t, path)
	defer func() { _ = j.Close() }()
	if _, err := OpenJournal(path); err == nil {
		t.Fatal("opened twice")
	}
}

func TestConcurrentAppendsShareSyncs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := openTestJournal(t, path)
	var workers sync.WaitGroup
	for w := range 16 {
		workers.Go(func() {
			for i := range 20 {
				mark, err := j.Append(time.Now(), effectRecord(fmt.Sprint(w, "-", i)))
				if err != nil || j.Sync(mark) != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	_ = j.Close()
	c, err := ReadJournal(path)
	if err != nil || len(c.Effects) != 320 {
		t.Fatalf("%d effects, %v", len(c.Effects), err)
	}
	for i, e := range c.Effects {
		if e.Seq != int64(i+1) {
			t.Fatalf("record %d has number %d", i+1, e.Seq)
		}
	}
}

func TestBrokenJournalStaysBroken(t *testing.T) {
	j := openTestJournal(t, filepath.Join(t.TempDir(), "j"))
	_ = j.Close()
	for range 2 {
		if _, err := j.Append(time.Now(), effectRecord("a")); err == nil {
			t.Fatal("appended to a closed file")
		}
	}
}

func TestNothingIsAnsweredWithoutAJournal(t *testing.T) {
	v := start(t, Config{})
	_ = v.journal.Close()
	if r, err := v.post(bodyOf(pay{emp: "1"})); err == nil {
		t.Fatalf("answered %d", r.status)
	}
	select {
	case <-v.server.broken:
	default:
		t.Fatal("the server goes on")
	}
}

// The journal of a process that was killed is the file as it stands when the
// answer arrives: it must hold the effect by then.
func TestEffectIsInTheFileWhenTheAnswerArrives(t *testing.T) {
	v := start(t, Config{})
	for i := range 20 {
		v.mustPost(bodyOf(pay{emp: fmt.Sprint(i)}))
		if n := len(v.read().Effects); n != i+1 {
			t.Fatalf("%d effects after %d answers", n, i+1)
		}
	}
}

func TestRestartRemembersKeysEffectsAndCounts(t *testing.T) {
	v := start(t, Config{Faults: mustRates(t, "503=1"), MaxFaultsPerLine: 1})
	body := bodyOf(pay{emp: "1"}, pay{emp: "sandbox.503x2"})
	for i, want := range [][]int{nil, {201, 503}, {200, 503}, {200, 201}, {200, 200}} {
		r := v.mustPost(body)
		if fmt.Sprint(r.statuses()) != fmt.Sprint(append([]int{}, want...)) {
			t.Fatalf("round %d: %d %s", i, r.status, r.body)
		}
		v.restart()
	}
	for range 2 { // a new line, so it has its fault coming
		v.mustPost(bodyOf(pay{emp: "1", version: 2, amount: "2.00"}))
	}
	last := v.read().Effects
	if e := last[len(last)-1]; e.Kind != EffectReplaced || e.Reference != "sbx-00000003" {
		t.Fatalf("%+v", e)
	}
}
