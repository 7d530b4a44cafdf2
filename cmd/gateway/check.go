package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func checkCommand(env Env) *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look for faults in configuration, keys, profiles and store settings, and list them all",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := f.read(env.Getenv)
			if err != nil {
				return err
			}
			if err := checkStore(cmd.Context(), in.Config); err != nil {
				return err
			}
			vendors := "the built-in sandbox"
			if in.profiles != nil {
				vendors = strings.Join(slices.Sorted(maps.Keys(in.profiles)), ", ")
			}
			keys := "development keys"
			if in.keys != nil {
				keys = fmt.Sprintf("%d", len(in.keys))
			}
			fmt.Fprintf(env.Stdout, "no faults\nlisten: %s\nvendors: %s\nkeys: %s\nworkers: %d, lock_ttl: %v\n", in.Listen, vendors, keys, in.Workers, in.LockTTL)
			return nil
		},
	}
	f.define(cmd)
	return cmd
}
