package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payrollgateway/internal/benchmark"
	"payrollgateway/internal/pgtest"
)

// TestMain: the program starts itself as the vendor, and in tests it is the
// tests' binary that is started.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == vendorCommand {
		if _, err := run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestShort measures everything with little work, so that no experiment rots. It
// holds only those figures to their targets that no busy machine can change.
func TestShort(t *testing.T) {
	t.Parallel()
	server := pgtest.URL(t)
	page := filepath.Join(t.TempDir(), "benchmarks.md")
	var progress bytes.Buffer
	_, err := run(t.Context(), []string{"-short", "-out", page}, env(map[string]string{pgtest.Variable: server}), strings.NewReader(""), &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range benchmark.Experiments() {
		if !strings.Contains(string(text), "-only "+name+"`") {
			t.Errorf("the page has no figure of %s", name)
		}
	}
	for _, start := range []string{"| statements per chunk", "| WAL per line", "| most requests in any window", "| peak memory"} {
		_, row, _ := strings.Cut(string(text), start)
		row, _, _ = strings.Cut(row, "\n")
		if !strings.Contains(row, "| met |") {
			t.Errorf("%s%s", start, row)
		}
	}
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestAServerMustBeNamed(t *testing.T) {
	t.Parallel()
	if _, err := run(t.Context(), nil, env(nil), strings.NewReader(""), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), pgtest.Variable) {
		t.Errorf("%v", err)
	}
}

func TestThePageIsWrittenByWholeRunsOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		out  string
	}{{"", page}, {"-short", ""}, {"-only wal", ""}, {"-only wal -out x", "x"}} {
		f, err := parse(strings.Fields(c.args))
		if err != nil || f.out != c.out {
			t.Errorf("%q: %q, %v", c.args, f.out, err)
		}
	}
	if _, err := parse([]string{"-loud"}); err == nil || errors.Is(err, context.Canceled) {
		t.Error("an unknown flag was taken")
	}
}
