package benchmark

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program started for an experiment, with its output's end known.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// start starts a program; stop ends it.
func start(ctx context.Context, command ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)}
	p.cmd.Stderr = &firstBytes{to: &p.stderr, room: 16 << 10}
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdout = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	return p, nil
}

// stop asks the program to end, waits, and kills it where asking does not help.
func (p *process) stop() error {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_, _ = io.Copy(io.Discard, p.stdout)
	var status *exec.ExitError
	if err := p.cmd.Wait(); err != nil && (!errors.As(err, &status) || status.Exited()) {
		return fmt.Errorf("%s: %w\n%s", p.cmd.Path, err, p.stderr.String())
	}
	return nil
}

// peakMemory is the most memory that the program has held so far, in bytes. It
// is the kernel's mark of this program alone; what getrusage says of a child
// includes the parent that it was forked from.
func (p *process) peakMemory() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("peak memory is read from Linux's /proc: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("peak memory: the kernel does not tell")
}

// firstBytes keeps the first bytes of what a program complains about.
type firstBytes struct {
	to   *bytes.Buffer
	room int
}

func (t *firstBytes) Write(p []byte) (int, error) {
	t.to.Write(p[:min(len(p), t.room)])
	t.room -= min(len(p), t.room)
	return len(p), nil
}
