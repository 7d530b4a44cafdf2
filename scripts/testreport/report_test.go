package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	const passed = `{"Action":"output","Package":"p","Test":"TestA","Output":"chatter\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`
	tests := []struct {
		name, events string
		status       int
		says, omits  string
	}{
		{"passing", passed, 0, "ok  \tp\t0.1s\ntests passed: 1, failed: 0, skipped: 0\n", "chatter"},
		{"package without tests", passed + `{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}
{"Action":"skip","Package":"q"}`, 0, "[no test files]", "counts as failed"},
		{"skipped test", passed + `{"Action":"output","Package":"p","Test":"TestB","Output":"no server\n"}
{"Action":"skip","Package":"p","Test":"TestB"}`, 1, "no server\nskipped, which counts as failed: p TestB\n", "chatter"},
		{"failed test", passed + `{"Action":"output","Package":"p","Test":"TestB","Output":"got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestB"}`, 1, "got 1, want 2\n", "chatter"},
		{"package fails though its tests pass", passed + `{"Action":"output","Package":"q","Output":"panic: after the tests\n"}
{"Action":"output","Package":"q","Output":"FAIL\tq\t0.1s\n"}
{"Action":"fail","Package":"q"}`, 1, "panic: after the tests\n", "chatter"},
		{"build failure", passed + `{"ImportPath":"q","Action":"build-output","Output":"q.go:1: no\n"}
{"ImportPath":"q","Action":"build-fail"}`, 1, "q.go:1: no\n", "chatter"},
		{"process killed in mid-test", `{"Action":"output","Package":"p","Test":"TestA","Output":"half\n"}`, 1, "never ended: p TestA\nhalf\n", "ok"},
		{"go test could not start", passed + "pattern ./nowhere: no such directory\n", 1, "pattern ./nowhere", "chatter"},
		{"nothing ran", "", 1, "tests passed: 0", "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if got := run(strings.NewReader(tt.events), &out); got != tt.status {
				t.Errorf("exit status %d, want %d", got, tt.status)
			}
			if !strings.Contains(out.String(), tt.says) {
				t.Errorf("output lacks %q:\n%s", tt.says, out.String())
			}
			if strings.Contains(out.String(), tt.omits) {
				t.Errorf("output should not have %q:\n%s", tt.omits, out.String())
			}
		})
	}
}
