package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Env is what a command gets from outside, so that tests can give it.
type Env struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
}

// status ends a command with an exit status and, where there is one, a message.
type status struct {
	code int
	err  error
}

func (s *status) Error() string {
	if s.err == nil {
		return fmt.Sprint("exit status ", s.code)
	}
	return s.err.Error()
}

func (s *status) Unwrap() error { return s.err }

// The exit statuses of commands that follow a batch.
const (
	exitFailed      = 1 // the command could not do what it was asked
	exitDeadLetters = 2 // the batch is at rest, and a person has to look at dead letters of it
	exitHeld        = 3 // the batch waits for a person: its vendor's gate is suspended
)

// run carries out a command and returns its exit status: 0 = done.
func run(ctx context.Context, env Env) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := rootCommand(env)
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var s *status
	if !errors.As(err, &s) {
		s = &status{exitFailed, err}
	}
	if s.err != nil {
		fmt.Fprintln(env.Stderr, "gateway:", err)
	}
	return s.code
}

func rootCommand(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "gateway",
		Short: "Sends pay runs to payroll vendors: each line once, each line's fate known",
		Long: "gateway takes pay-period batches from HR systems, sends them to payroll vendors' HTTP APIs in chunks under\n" +
			"each vendor's rate limit, learns the fate of every line, and survives being killed at any instant.",
		SilenceUsage: true, SilenceErrors: true,
	}
	root.AddGroup(
		&cobra.Group{ID: server, Title: "The server:"},
		&cobra.Group{ID: client, Title: "Talking to a running server (GATEWAY_URL, GATEWAY_KEY):"},
		&cobra.Group{ID: trying, Title: "Trying it out:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(server, serveCommand(env), migrateCommand(env), checkCommand(env), keysCommand(env))
	add(client, submitCommand(env), watchCommand(env), batchesCommand(env), deadLettersCommand(env), resumeCommand(env), vendorsCommand(env))
	add(trying, sandboxCommand(env), demoCommand(env))
	return root
}

// The groups of commands in the help.
const (
	server = "server"
	client = "client"
	trying = "trying"
)
