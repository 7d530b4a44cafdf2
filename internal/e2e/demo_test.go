package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/sandbox"
)

// TestDemo is the acceptance test: the command that people run, whole. What it
// says of itself is compared with the vendor's journal by another reader.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kept")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, built(t, product), "demo", "--keep", dir, "--seed", "1")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GATEWAY_STORE=nonsense://") // it takes nothing from outside
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), complaints.String())
	}
	said := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"18,067 lines, 1,273,471,635.81 USD, accepted", "is gone in mid-run", "/resume: 202, epoch 2",
		"file as posted 18,067 1,273,471,635.81", "statutory_cap_breach 16 523,058.03 13 negative, 3 above 250,000.00",
		"total 18,067 1,273,471,635.81 = the file", "= what is settled", "paid twice: 0", "forgotten: 0", "none faster than it allows", "It all adds up",
		"timeout-after-commit", "429-before-commit", "503-before-commit", "422-before-commit",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
	journal, err := sandbox.ReadJournal(filepath.Join(dir, "vendor-journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	paid := map[sandbox.Payment]int{}
	for _, e := range journal.Effects {
		if paid[e.Payment()]++; paid[e.Payment()] > 1 {
			t.Error("somebody was paid twice")
		}
	}
	if len(paid) < 17_900 {
		t.Errorf("%d people were paid", len(paid))
	}
}

// TestDemoCleansUp: without --keep nothing is left behind, also when it is
// told to stop.
func TestDemoCleansUp(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	cmd := exec.CommandContext(t.Context(), built(t, product), "demo")
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := make([]byte, 0, 4096)
	for !bytes.Contains(seen, []byte("3/6")) {
		chunk := make([]byte, 512)
		n, err := out.Read(chunk)
		if err != nil {
			t.Fatalf("%v after %s", err, seen)
		}
		seen = append(seen, chunk[:n]...)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it says that it succeeded")
	}
	entries, err := os.ReadDir(temporary)
	if err != nil || len(entries) > 0 {
		t.Errorf("it left %v behind (%v)", entries, err)
	}
}
