package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"payrollgateway/internal/vendor"
)

// inputs are what a gateway is told, read and found free of faults.
type inputs struct {
	Config
	keys     []keyRecord                // nil: development keys
	profiles map[string]*vendor.Profile // nil: the built-in sandbox
}

// configFlags are the flags of commands that read the configuration.
type configFlags struct {
	file   string
	values map[string]*string // by key
	cmd    *cobra.Command
}

func (f *configFlags) define(cmd *cobra.Command) {
	f.cmd, f.values = cmd, map[string]*string{}
	cmd.Flags().StringVar(&f.file, "config", "", "YAML file of the settings below")
	for _, s := range settings {
		f.values[s.key] = cmd.Flags().String(flagName(s.key), "", s.usage)
	}
}

// given are the settings named on the command line.
func (f *configFlags) given() map[string]string {
	given := map[string]string{}
	for key, value := range f.values {
		if f.cmd.Flags().Changed(flagName(key)) {
			given[key] = *value
		}
	}
	return given
}

// read reads the configuration, the keys and the profiles. Its error lists
// every fault of all of them.
func (f *configFlags) read(getenv func(string) string) (in inputs, err error) {
	var faults [3]error
	in.Config, faults[0] = loadConfig(f.file, f.given(), getenv)
	if in.Keys != "" {
		in.keys, faults[1] = readKeys(in.Keys)
		if faults[1] == nil && len(in.keys) == 0 {
			faults[1] = fmt.Errorf("keys: %s holds no key: make one with `gateway keys new`", in.Keys)
		}
	}
	if in.Vendors != "" && isDir(in.Vendors) {
		in.profiles, faults[2] = readProfiles(in.Vendors, getenv)
	}
	return in, errors.Join(faults[:]...)
}

// readProfiles reads the profiles of a directory: every fault of every file.
func readProfiles(dir string, getenv func(string) string) (map[string]*vendor.Profile, error) {
	profiles, err := vendor.LoadDir(os.DirFS(dir), secrets{getenv})
	if err == nil && len(profiles) == 0 {
		return nil, fmt.Errorf("vendors: %s holds no profile (*.yaml)", dir)
	}
	return profiles, err
}
