package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"payrollgateway/internal/benchmark"
)

// vendorCommand makes this program the vendor without latency, as which it
// starts itself.
const vendorCommand = "vendor"

// flags are what the command line says.
type flags struct {
	short            bool
	only, out        string
	gateway, profile string
}

// run measures and reports whether every target of today is met.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout io.Writer) (met bool, err error) {
	if len(args) > 0 && args[0] == vendorCommand {
		return true, benchmark.ServeVendor(untilClosed(ctx, stdin), stdout)
	}
	f, err := parse(args)
	if err != nil {
		return false, err
	}
	server := getenv("TEST_POSTGRES_URL")
	if server == "" {
		return false, errors.New("TEST_POSTGRES_URL is not set: run scripts/bench.sh, which starts a private server")
	}
	dir, err := os.MkdirTemp("", "bench-*")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o, err := f.options(ctx, dir)
	if err != nil {
		return false, err
	}
	o.Postgres, o.Progress = server, stdout
	results, err := benchmark.Run(ctx, o)
	if err != nil {
		return false, err
	}
	if f.out != "" {
		w, err := where(ctx, server)
		if err != nil {
			return false, err
		}
		if err := os.WriteFile(f.out, []byte(benchmark.Page(w, results)), 0o644); err != nil {
			return false, err
		}
	}
	return allMet(results), nil
}

func allMet(results []benchmark.Result) bool {
	for _, r := range results {
		if !r.Met() {
			return false
		}
	}
	return true
}

const page = "docs/benchmarks.md"

func parse(args []string) (flags, error) {
	var f flags
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.BoolVar(&f.short, "short", false, "little work: shows that everything works, says nothing about speed")
	set.StringVar(&f.only, "only", "", "measure these alone, separated by commas: "+strings.Join(benchmark.Experiments(), ", "))
	set.StringVar(&f.out, "out", "", "file of the page (default "+page+", with -short or -only none)")
	set.StringVar(&f.gateway, "gateway", "", "the gateway's binary (default: built for the occasion)")
	set.StringVar(&f.profile, "cpuprofile", "", "write a CPU profile of our side of the dispatch here")
	err := set.Parse(args)
	if f.out == "" && !f.short && f.only == "" {
		f.out = page
	}
	return f, err
}

func (f flags) options(ctx context.Context, dir string) (o benchmark.Options, err error) {
	self, err := os.Executable()
	if err != nil {
		return o, err
	}
	o = benchmark.Options{Gateway: f.gateway, Vendor: []string{self, vendorCommand}, Dir: dir, Sizes: benchmark.Full()}
	if f.short {
		o.Sizes = benchmark.Short()
	}
	if f.only != "" {
		o.Only = strings.Split(f.only, ",")
	}
	if f.profile != "" {
		o.Profile = func() func() { return profileTo(f.profile) }
	}
	if o.Gateway == "" {
		o.Gateway = filepath.Join(dir, "gateway")
		err = build(ctx, o.Gateway)
	}
	return o, err
}

// build makes the gateway's binary the way it is shipped.
func build(ctx context.Context, file string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", file, "payrollgateway/cmd/gateway")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	return nil
}

// profileTo writes a CPU profile until the function that it returns is called. A
// profile of an earlier round is replaced.
func profileTo(file string) (stop func()) {
	f, err := os.Create(file)
	if err != nil {
		return func() {}
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return func() { _ = f.Close() }
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}
}

// untilClosed ends with ctx or when r ends: a child whose parent died.
func untilClosed(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // owned by the process: it ends with it
		_, _ = io.Copy(io.Discard, r)
		cancel()
	}()
	return ctx
}

// where says what the figures were measured on.
func where(ctx context.Context, server string) (benchmark.Where, error) {
	version, err := benchmark.ServerVersion(ctx, server)
	return benchmark.Where{
		Machine: fmt.Sprintf("%s, %d processors, %s/%s, %s", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()),
		Server:  "PostgreSQL " + version, Date: time.Now().UTC().Format(time.DateOnly), Commit: commit(ctx),
	}, err
}

// processor is the model's name where the system tells it.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // elsewhere there is none
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// commit is the commit that the working tree stands on, and whether it differs.
func commit(ctx context.Context) string {
	hash, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no").Output()
	if err != nil || len(changed) > 0 {
		return strings.TrimSpace(string(hash)) + ", with changes"
	}
	return strings.TrimSpace(string(hash))
}
