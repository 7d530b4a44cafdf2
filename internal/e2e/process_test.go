package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a gateway that runs as one, to be killed.
type process struct {
	*testing.T
	cmd   *exec.Cmd
	url   string
	ended chan struct{}
	log   *tailBuffer
}

// patience bounds every wait for a process; on a machine that is busy with
// other tests things take their time.
const patience = 2 * time.Minute

// startProcess starts the gateway and waits until it listens. One that dies
// before, because it was told to, has no URL.
func startProcess(t *testing.T, binary string, env []string, args ...string) *process {
	t.Helper()
	p := &process{T: t, cmd: exec.Command(binary, args...), ended: make(chan struct{}), log: &tailBuffer{}}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), env...), p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := make(chan string, 1)
	go func() { // ends with the process
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, lines)
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	line := within(t, first, "the gateway does not start")
	_, rest, _ := strings.Cut(line, " on ")
	p.url, _, _ = strings.Cut(rest, ",")
	return p
}

func within[T any](t *testing.T, c <-chan T, complaint string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal(complaint)
	}
	panic("unreachable")
}

// signal sends a signal; the process may be gone already.
func (p *process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// wait returns the exit status, or -1 after a signal.
func (p *process) wait() int {
	p.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.signal(syscall.SIGQUIT)
		<-p.ended
		p.Fatalf("the process does not end:\n%s", p.log)
	}
	return p.cmd.ProcessState.ExitCode()
}

// killed checks that the process died of SIGKILL and of nothing else.
func (p *process) killed() {
	p.Helper()
	p.wait()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		p.Fatalf("the process ended by itself: %v\n%s", p.cmd.ProcessState, p.log)
	}
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct {
	mu   sync.Mutex
	text []byte
}

// maxTail bounds what is kept.
const maxTail = 16 << 10

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	if len(b.text) > maxTail {
		b.text = b.text[len(b.text)-maxTail:]
	}
	return len(p), nil
}

func (b *tailBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}
