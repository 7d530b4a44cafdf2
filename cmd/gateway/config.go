package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config is what `gateway serve` is told. Zero values are the defaults.
type Config struct {
	// Listen is the address of the HTTP API, host:port; port 0 takes a free
	// one. Default 127.0.0.1:8080.
	Listen string
	// Store is sqlite:///path/to/file or postgres://…. Default: gateway.db in
	// the data directory.
	Store string
	// Redis is needed from two replicas on, which this version does not have:
	// anything but "" is refused.
	Redis string
	// Vendors is the directory of vendor profiles. Default: none, and the
	// built-in profile "sandbox" with the sandbox vendor as a child process.
	Vendors string
	// Keys is the file of API keys, read again on SIGHUP. Default: a
	// development key that is made once and kept in the data directory.
	Keys string
	// Workers is how many pay periods are worked on at a time. Default 8.
	Workers int
	// LockTTL is how long after its last heartbeat an owner counts as dead.
	// Default 15s.
	LockTTL time.Duration

	dataDir string // "" = not known, because neither HOME nor XDG_DATA_HOME is set
}

// The bounds of LockTTL. A heartbeat is sent every fifth of it.
const (
	minLockTTL = 100 * time.Millisecond
	maxLockTTL = time.Hour
)

// setting is one key of the configuration: how its text is read.
type setting struct {
	key, usage string
	set        func(c *Config, text string) error
}

// settings are all keys, in the order of the documentation.
var settings = []setting{
	{"listen", "address of the HTTP API (default 127.0.0.1:8080)", (*Config).setListen},
	{"store", "sqlite:///path or postgres://… (default: SQLite in the data directory)", text(func(c *Config) *string { return &c.Store })},
	{"redis", "must be empty in this version", text(func(c *Config) *string { return &c.Redis })},
	{"vendors", "directory of vendor profiles (default: the built-in sandbox)", text(func(c *Config) *string { return &c.Vendors })},
	{"keys", "file of API keys (default: a development key)", text(func(c *Config) *string { return &c.Keys })},
	{"workers", "pay periods worked on at a time (default 8)", (*Config).setWorkers},
	{"lock_ttl", "after how long a silent owner counts as dead (default 15s)", (*Config).setLockTTL},
}

func text(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, value string) error {
		*field(c) = value
		return nil
	}
}

func (c *Config) setListen(value string) error {
	if value != "" {
		_, port, err := net.SplitHostPort(value)
		if n, notNumber := strconv.ParseUint(port, 10, 16); err != nil || notNumber != nil || port != strconv.FormatUint(n, 10) {
			return errors.New("must be host:port, such as 127.0.0.1:8080")
		}
	}
	c.Listen = value
	return nil
}

func (c *Config) setWorkers(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 1024 {
		return errors.New("must be a whole number from 1 to 1024")
	}
	c.Workers = n
	return nil
}

func (c *Config) setLockTTL(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < minLockTTL || d > maxLockTTL {
		return fmt.Errorf("must be a duration from %v to %v, such as 15s", minLockTTL, maxLockTTL)
	}
	c.LockTTL = d
	return nil
}

// loadConfig reads the configuration: flag before GATEWAY_<KEY> before file
// before default. Its error lists every fault at once. A relative path in the
// file is relative to the file, any other to the working directory.
func loadConfig(file string, flags map[string]string, getenv func(string) string) (Config, error) {
	c := Config{dataDir: dataDir(getenv)}
	var faults []error
	fault := func(where string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", where, err))
		}
	}
	if file != "" {
		faults = append(faults, c.readFile(file)...)
	}
	for _, s := range settings {
		variable := "GATEWAY_" + strings.ToUpper(s.key)
		if value := getenv(variable); value != "" {
			fault(variable, s.set(&c, value))
		}
		if value, given := flags[s.key]; given {
			fault("--"+flagName(s.key), s.set(&c, value))
		}
	}
	c.defaults()
	faults = append(faults, c.validate()...)
	return c, errors.Join(faults...)
}

// flagName is how a key is spelled on the command line.
func flagName(key string) string { return strings.ReplaceAll(key, "_", "-") }

// readFile takes the settings of a file, and lists what is wrong in it with the
// line where it stands.
func (c *Config) readFile(file string) (faults []error) {
	entries, err := readEntries(file)
	if err != nil {
		return []error{err}
	}
	known := func(key string) int {
		return slices.IndexFunc(settings, func(s setting) bool { return s.key == key })
	}
	for _, e := range entries {
		i := known(e.key)
		switch {
		case i < 0:
			err = fmt.Errorf("is no setting; those are %s", settingNames())
		case !e.scalar:
			err = errors.New("must be one value")
		default:
			err = settings[i].set(c, e.value)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %s: %w", file, e.line, e.key, err))
		}
	}
	c.makeAbsolute(filepath.Dir(file))
	return faults
}

func settingNames() string {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.key
	}
	return strings.Join(names, ", ")
}

func (c *Config) makeAbsolute(dir string) {
	c.Vendors, c.Keys = within(dir, c.Vendors), within(dir, c.Keys)
	if path, ok := c.sqlitePath(); ok {
		c.Store = sqliteScheme + within(dir, path)
	}
}

func within(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// dataDir is where a gateway keeps what nobody gave a place.
func dataDir(getenv func(string) string) string {
	const name = "payroll-gateway"
	if dir := getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, name)
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", name)
	}
	return ""
}

func (c *Config) defaults() {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:8080"
	}
	if c.Store == "" && c.dataDir != "" {
		c.Store = sqliteScheme + filepath.Join(c.dataDir, "gateway.db")
	}
	if c.Workers == 0 {
		c.Workers = 8
	}
	if c.LockTTL == 0 {
		c.LockTTL = 15 * time.Second
	}
}

// validate looks at what concerns more than the text of one setting.
func (c *Config) validate() []error {
	var faults []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	needsDataDir := c.Store == "" || c.Keys == "" || c.Vendors == ""
	fault(c.dataDir == "" && needsDataDir, "data directory: set HOME or XDG_DATA_HOME, or configure store, keys and vendors")
	fault(c.Redis != "", "redis: this version runs as one replica and does not use Redis: remove the setting")
	fault(c.Store != "" && !c.embedded() && !c.onPostgres(), "store: must begin with sqlite:// or postgres://")
	fault(c.Vendors != "" && !isDir(c.Vendors), "vendors: %s is no directory", c.Vendors)
	return faults
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

const sqliteScheme = "sqlite://"

// sqlitePath is the file of an embedded store; ok is false for Postgres.
func (c *Config) sqlitePath() (path string, ok bool) { return strings.CutPrefix(c.Store, sqliteScheme) }

func (c *Config) embedded() bool {
	path, ok := c.sqlitePath()
	return ok && path != ""
}

func (c *Config) onPostgres() bool {
	return strings.HasPrefix(c.Store, "postgres://") || strings.HasPrefix(c.Store, "postgresql://")
}
