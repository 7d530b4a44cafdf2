package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func configFileWith(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFlagBeforeEnvironmentBeforeFileBeforeDefault(t *testing.T) {
	t.Parallel()
	file := configFileWith(t, "workers: 2\nlock_ttl: 2s\nlisten: 127.0.0.1:2\n")
	c, err := loadConfig(file, map[string]string{"workers": "4"}, environment("GATEWAY_WORKERS", "3", "GATEWAY_LOCK_TTL", "3s", "HOME", "/home/x"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Workers != 4 || c.LockTTL != 3*time.Second || c.Listen != "127.0.0.1:2" || c.Store != "sqlite:///home/x/.local/share/payroll-gateway/gateway.db" {
		t.Errorf("got %+v", c)
	}
}

func TestPathsInAFileAreRelativeToIt(t *testing.T) {
	t.Parallel()
	file := configFileWith(t, "store: sqlite://ledger.db\nkeys: keys.yaml\nvendors: /etc/vendors\n")
	c, err := loadConfig(file, nil, environment("HOME", "/home/x"))
	if err == nil || !strings.Contains(err.Error(), "/etc/vendors is no directory") {
		t.Errorf("got error %v", err)
	}
	dir := filepath.Dir(file)
	if c.Store != "sqlite://"+dir+"/ledger.db" || c.Keys != dir+"/keys.yaml" || c.Vendors != "/etc/vendors" {
		t.Errorf("got %+v", c)
	}
}

func TestConfigurationFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, fault string }{
		{"workers: 0", "workers: must be a whole number from 1 to 1024"},
		{"workers: 1025", "workers: must be a whole number from 1 to 1024"},
		{"workers: 2.5", "workers: must be a whole number"},
		{"lock_ttl: 15", "lock_ttl: must be a duration"},
		{"lock_ttl: 99ms", "lock_ttl: must be a duration"},
		{"lock_ttl: 61m", "lock_ttl: must be a duration"},
		{"redis: redis://h", "does not use Redis"},
		{"store: sqlite://", "store: must begin with sqlite:// or postgres://"},
		{"store: file.db", "store: must begin"},
		{"listen: {a: b}", "listen: must be one value"},
		{"listen: nowhere", "listen: must be host:port"},
		{"listen: 127.0.0.1", "listen: must be host:port"},
		{"listen: 127.0.0.1:65536", "listen: must be host:port"},
		{"listen: 127.0.0.1:http", "listen: must be host:port"},
		{"Listen: a", "Listen: is no setting"},
		{"workers: 1\nworkers: 2", "already defined"},
		{"a: b: c", "config:"},
		{"just text", "must be lines of the form"},
	} {
		_, err := loadConfig(configFileWith(t, c.text), nil, environment("HOME", "/home/x"))
		if err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%q: got error %v, want %q", c.text, err, c.fault)
		}
	}
}

func TestEmptyConfigurationIsTheDefault(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing\n", "store:\nkeys: ~\n"} {
		c, err := loadConfig(configFileWith(t, text), nil, environment("XDG_DATA_HOME", "/data"))
		if err != nil || c.Workers != 8 || c.LockTTL != 15*time.Second || c.Listen != "127.0.0.1:8080" || c.Store != "sqlite:///data/payroll-gateway/gateway.db" {
			t.Errorf("%q: got %+v, %v", text, c, err)
		}
	}
}
