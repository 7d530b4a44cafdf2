package sandbox

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// The page for integrators names every setting, fault and finding, and every
// magic id on it does what it says: is read at all.
func TestDocumentationIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	config := reflect.TypeFor[Config]()
	for i := range config.NumField() {
		if name := config.Field(i).Name; name != "Clock" && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("setting %s is not documented", name)
		}
	}
	for kind := range kinds {
		if !strings.Contains(page, "`"+string(kind)+"`") {
			t.Errorf("fault %s is not documented", kind)
		}
	}
	for kind := range invariantOf {
		if !strings.Contains(page, "`"+string(kind)+"`") {
			t.Errorf("finding %s is not documented", kind)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(sandbox\\.[^`]+)`").FindAllStringSubmatch(page, -1) {
		if m, err := parseMagic(row[1]); err != nil || !m.fault.Strikes() {
			t.Errorf("magic id %s: %v", row[1], err)
		}
	}
}
