package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func migrateCommand(env Env) *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the store's schema up to date, as serve does when it starts",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := f.read(env.Getenv)
			if err != nil {
				return err
			}
			s, err := openStorage(cmd.Context(), in.Config)
			if err != nil {
				return err
			}
			if err := s.Close(); err != nil {
				return err
			}
			fmt.Fprintln(env.Stdout, "the store is up to date")
			return nil
		},
	}
	f.define(cmd)
	return cmd
}
