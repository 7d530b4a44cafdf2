package main

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary the command `gateway` for the scripts, and
// for the children that a gateway starts of itself.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gateway": main})
}

// TestScripts runs every command as a person does, bad input included.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_DATA_HOME", env.WorkDir+"/data")
			env.Setenv("GATEWAY_URL", "http://127.0.0.1:9") // nobody, until `serve` says where
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": serveInScript, "stop": stopInScript, "hangup": hangUpInScript, "status": statusInScript, "capture": captureInScript, "until": untilInScript, "refuser": refuserInScript,
		},
	})
}

// scriptServer is the one running gateway of a script.
type scriptServer struct{ cmd *exec.Cmd }

// servers of the scripts that run, by their work directory.
var servers = newRegistry()

// serveInScript starts a gateway on a free port, waits until it listens, and
// sets GATEWAY_URL. With !, it must not start, and what it says is stderr.
func serveInScript(ts *testscript.TestScript, neg bool, args []string) {
	args = append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)
	if neg {
		if err := ts.Exec("gateway", args...); err == nil {
			ts.Fatalf("the gateway started")
		}
		return
	}
	cmd := exec.Command("gateway", args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "PATH", "GATEWAY_LISTEN"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	url, ok := address(line)
	if err != nil || !ok {
		ts.Fatalf("the gateway did not start: %q %v", line, cmd.Wait())
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
	ts.Setenv("GATEWAY_URL", url)
	servers.put(ts.Getenv("WORK"), &scriptServer{cmd})
	ts.Defer(func() { _ = servers.stop(ts.Getenv("WORK")) })
}

// stopInScript ends the gateway with SIGTERM; it must end with status 0.
func stopInScript(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(servers.stop(ts.Getenv("WORK")))
}

// hangUpInScript makes the gateway read its keys again.
func hangUpInScript(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(servers.get(ts.Getenv("WORK")).cmd.Process.Signal(syscall.SIGHUP))
}

// statusInScript runs a command that must end with a status: status 2 gateway …
func statusInScript(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, not %d", got, want)
	}
}

// untilInScript repeats a command until it ends with status 0: what a signal
// asks for takes a moment.
func untilInScript(ts *testscript.TestScript, _ bool, args []string) {
	again, late := time.NewTicker(50*time.Millisecond), time.After(20*time.Second)
	defer again.Stop()
	for ts.Exec(args[0], args[1:]...) != nil {
		select {
		case <-again.C:
		case <-late:
			ts.Fatalf("%v still fails", args)
		}
	}
}

// refuserInScript starts a vendor that does not know its own address, and puts
// that into a profile.
func refuserInScript(ts *testscript.TestScript, _ bool, args []string) {
	vendor := httptest.NewServer(http.NotFoundHandler())
	ts.Defer(vendor.Close)
	profile := strings.ReplaceAll(ts.ReadFile(args[0]), "$VENDOR", vendor.URL)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(profile), 0o600))
}

// captureInScript sets a variable to the first match of a pattern's group in
// the last standard output: capture ID '"id":"([^"]+)"'
func captureInScript(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], firstMatch(ts, args[1], ts.ReadFile("stdout")))
}

// stop ends a server in good order, at most once.
func (s *scriptServer) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	return s.cmd.Wait()
}
