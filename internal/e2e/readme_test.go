package e2e

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// With -update the session's output in README.md is written anew.
var updateReadme = flag.Bool("update", false, "write the output of README.md's session anew")

// command is one of the README's, with what is printed below it.
type command struct {
	text string
	want []string
	line int // of its last output line, in the file
}

// TestReadmeSession runs the README's session and compares what comes out: a
// document that is run cannot rot. Only what differs from run to run is left
// out: ids, times, the port.
func TestReadmeSession(t *testing.T) {
	t.Parallel()
	readme := filepath.Join(root, "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	commands := sessionOf(string(text))
	if len(commands) < 20 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	got := play(t, commands)
	if *updateReadme {
		rewrite(t, readme, strings.Split(string(text), "\n"), commands, got)
		return
	}
	for i, c := range commands {
		if want := strings.Join(c.want, "\n"); masked(want) != masked(got[i]) {
			t.Errorf("$ %s\n--- README.md\n%s\n--- now\n%s", c.text, want, got[i])
		}
	}
}

// sessionOf finds the commands of the console blocks.
func sessionOf(text string) (commands []command) {
	inside := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case strings.HasPrefix(line, "$ "):
			commands = append(commands, command{text: line[2:], line: i})
		default:
			last := &commands[len(commands)-1]
			last.want, last.line = append(last.want, line), i
		}
	}
	return commands
}

// play runs the commands in one shell, in a home of its own, on a free port.
func play(t *testing.T, commands []command) (outputs []string) {
	t.Helper()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(built(t, product), filepath.Join(home, "bin", "gateway")); err != nil {
		t.Fatal(err)
	}
	const mark = "@@@ next"
	address := freeAddress(t)
	var script strings.Builder
	script.WriteString("trap 'kill -9 $(cat gateway.pid) 2>/dev/null' EXIT\nmake() { :; }\nexec 2>&1\n")
	for _, c := range commands {
		text := strings.ReplaceAll(c.text, "127.0.0.1:8080", address)
		text = strings.ReplaceAll(text, "gateway serve", "gateway serve --listen "+address)
		fmt.Fprintf(&script, "%s\necho '%s'\n", text, mark)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", withIDs(script.String()))
	cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home, "XDG_DATA_HOME=", "GATEWAY_URL=", "GATEWAY_KEY=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the session ended: %v\n%s", err, out)
	}
	all := strings.ReplaceAll(killed.ReplaceAllString(string(out), ""), address, "127.0.0.1:8080")
	for _, part := range strings.SplitN(all, mark+"\n", len(commands)+1)[:len(commands)] {
		outputs = append(outputs, strings.TrimRight(strings.ReplaceAll(part, "\r", ""), "\n"))
	}
	return outputs
}

// killed is what the shell says of its job, whenever it notices.
var killed = regexp.MustCompile(`(?m)^bash: line \d+: +\d+ Killed .*\n`)

// letterPath is where the session names a dead letter by its id, which is
// another one in each run: the shell takes it from the list it printed before.
var letterPath = regexp.MustCompile(`dead-letters/[0-9a-f-]{36}`)

func withIDs(script string) string {
	const find = `$(curl -sS -H "Authorization: Bearer $KEY" "http://$ADDRESS/v1/dead-letters" | sed 's/.*"id":"\([^"]*\)".*/\1/')`
	address := regexp.MustCompile(`http://([0-9.:]+)/`).FindStringSubmatch(script)[1]
	return letterPath.ReplaceAllLiteralString(script, "dead-letters/"+strings.ReplaceAll(find, "$ADDRESS", address))
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// varying is what differs from run to run.
var varying = []struct {
	what *regexp.Regexp
	mask string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}T[0-9:.]+Z`), "TIME"},
}

func masked(text string) string {
	for _, v := range varying {
		text = v.what.ReplaceAllString(text, v.mask)
	}
	return text
}

// rewrite puts the outputs below their commands.
func rewrite(t *testing.T, file string, lines []string, commands []command, outputs []string) {
	t.Helper()
	var text []string
	next := 0
	for i, c := range commands {
		text = append(text, lines[next:c.line-len(c.want)+1]...)
		if outputs[i] != "" {
			text = append(text, strings.Split(outputs[i], "\n")...)
		}
		next = c.line + 1
	}
	all := strings.Join(append(text, lines[next:]...), "\n")
	if id := regexp.MustCompile(`"id": "([^"]+)"`).FindStringSubmatch(all); id != nil {
		all = letterPath.ReplaceAllLiteralString(all, "dead-letters/"+id[1])
	}
	if err := os.WriteFile(file, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
}
