package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// child is a process of this same program: it ends with us, however we end,
// because its standard input does.
type child struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	url   string        // where it listens
	said  string        // what it printed first
	done  chan struct{} // closed when it has ended
	err   error         // how; valid once done
}

// withParent is the flag by which a command ends when its standard input does.
const withParent = "with-parent"

// startChild starts a command of ours that prints where it listens, and waits
// until it did. Its settings are its arguments: it inherits none. It runs in a
// process group of its own: what a person types to stop us must not stop it
// first.
func startChild(ctx context.Context, stderr io.Writer, name string, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{name: name, done: make(chan struct{})}
	c.cmd = exec.Command(self, append([]string{name, "--" + withParent}, args...)...) //nolint:noctx // it is stopped in good order by stop
	c.cmd.Stderr = stderr
	c.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GATEWAY_") })
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, c.awaitReady(ctx, out)
}

// awaitReady returns when the child listens; else it is stopped.
func (c *child) awaitReady(ctx context.Context, out io.Reader) error {
	first := make(chan string, 1)
	go func() { // ends with the child's output; done says so
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		first <- line
		drain(lines)
		c.err = c.cmd.Wait()
		close(c.done)
	}()
	select {
	case line := <-first:
		url, ok := address(line)
		if !ok {
			c.stop(stopWithin)
			return fmt.Errorf("the %s process did not start", c.name)
		}
		c.url, c.said = url, strings.TrimSpace(line)
		return nil
	case <-ctx.Done():
		c.stop(stopWithin)
		return context.Cause(ctx)
	}
}

// stopWithin is how long a child without work may take to end.
const stopWithin = 5 * time.Second

// stop ends the child in good order within a time, else at once, and waits.
func (c *child) stop(within time.Duration) {
	_ = c.stdin.Close()
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-c.done:
	case <-late.C:
		c.kill()
	}
}

// kill is SIGKILL: the child ends where it stands.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// startSandbox starts the sandbox vendor on a free port, with its journal in a
// directory. The journal may be held for a moment by the sandbox of a gateway
// that was just killed: such a start is tried again.
func startSandbox(ctx context.Context, journal string, stderr io.Writer, args ...string) (*child, error) {
	args = append([]string{"--listen", "127.0.0.1:0", "--journal", journal}, args...)
	pause := time.NewTicker(200 * time.Millisecond)
	defer pause.Stop()
	for deadline := time.Now().Add(stopWithin); ; {
		c, err := startChild(ctx, stderr, "sandbox", args...)
		if err == nil || time.Now().After(deadline) || ctx.Err() != nil {
			return c, err
		}
		<-pause.C
	}
}

// untilClosed ends with ctx or when r ends: a child whose parent died. The
// goroutine that reads lives as long as the process: a read of standard input
// cannot be broken off.
func untilClosed(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		drain(r)
		cancel(errors.New("the parent process ended"))
	}()
	return ctx
}

// address takes the URL out of the line that a server of ours prints first.
func address(line string) (url string, ok bool) {
	_, rest, found := strings.Cut(line, " on ")
	url, _, _ = strings.Cut(strings.TrimSpace(rest), ",")
	return url, found && strings.HasPrefix(url, "http://")
}

// drain reads until the end, so that a writer never blocks.
func drain(r io.Reader) { _, _ = io.Copy(io.Discard, r) }
