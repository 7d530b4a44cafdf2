// Command gateway is the payroll gateway: the server, its migrations, its
// sandbox vendor, and the commands that talk to a running one.
//
// What lives here: wiring, configuration, flags, the environment, and what a
// person reads on a terminal. What must not: decisions about lines, SQL, HTTP
// handlers.
package main

import (
	"context"
	"os"
)

func main() {
	env := Env{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
	os.Exit(run(context.Background(), env))
}
