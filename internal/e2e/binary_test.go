package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// sideBySide is how many tests run at a time, unless the command says so: they
// wait for timeouts, hints and processes far longer than they compute.
const sideBySide = 8

// binDir holds the binaries that the tests build, for as long as they run.
var binDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gateway-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binDir = dir
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(sideBySide))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// The product as people get it, and with failpoints for those who kill it.
var (
	product  = sync.OnceValues(func() (string, error) { return build("gateway") })
	breaking = sync.OnceValues(func() (string, error) { return build("gateway-failpoints", "-tags=failpoints") })
)

func build(name string, flags ...string) (string, error) {
	file := filepath.Join(binDir, name)
	args := append(append([]string{"build", "-trimpath", "-o", file}, flags...), "./cmd/gateway")
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return file, nil
}

// root is the module's, from here.
var root = filepath.Join("..", "..")

func built(t *testing.T, which func() (string, error)) string {
	t.Helper()
	file, err := which()
	if err != nil {
		t.Fatal(err)
	}
	return file
}
