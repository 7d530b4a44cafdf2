package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// TestLibcIsTheOneSQLiteWasMadeFor guards the replace line of go.mod. SQLite's
// translation to Go is made for exactly the libc that its own go.mod names, but
// goose asks for a newer one and the go command would take the newest asked for.
func TestLibcIsTheOneSQLiteWasMadeFor(t *testing.T) {
	sqlite := describe(t, "modernc.org/sqlite")
	demands, err := os.ReadFile(sqlite.GoMod)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(demands)
	if found == nil {
		t.Fatalf("%s does not name modernc.org/libc", sqlite.GoMod)
	}
	libc := describe(t, "modernc.org/libc")
	built := libc.Version
	if libc.Replace != nil {
		built = libc.Replace.Version
	}
	if want := string(found[1]); built != want {
		t.Errorf("built with modernc.org/libc %s, but sqlite %s demands %s: in go.mod, replace modernc.org/libc => modernc.org/libc %s",
			built, sqlite.Version, want, want)
	}
}

type moduleInfo struct {
	Version, GoMod string
	Replace        *moduleInfo
}

func describe(t *testing.T, path string) (m moduleInfo) {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-json", path).Output()
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatalf("go list -m %s: %v", path, err)
	}
	return m
}
