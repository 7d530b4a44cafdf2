package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

func keysCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Make API keys", Args: cobra.NoArgs}
	cmd.AddCommand(newKeyCommand(env))
	return cmd
}

func newKeyCommand(env Env) *cobra.Command {
	var r keyRecord
	var file string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make a key: prints it once; the keys file holds only its SHA-256",
		Long: "Makes a key and prints it, once. Its record goes into the file of --file, or is printed for you to append.\n" +
			"A running server reads its keys again on SIGHUP.",
		Example: "  gateway keys new --id hr-2026 --tenant acme-us --scopes submit,read --file configs/keys.yaml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			key, record := newKey(r.ID, r.Tenant, r.Scopes)
			if err := record.validate(); err != nil {
				return err
			}
			if file != "" {
				if err := appendKey(file, record); err != nil {
					return err
				}
				fmt.Fprintf(env.Stdout, "%s\n", key)
				fmt.Fprintf(env.Stderr, "The key is shown once. Its record is in %s; send SIGHUP to a running server.\n", file)
				return nil
			}
			text, err := yaml.Marshal([]keyRecord{record})
			if err != nil {
				return err
			}
			fmt.Fprintf(env.Stdout, "%s\n", key)
			fmt.Fprintf(env.Stderr, "The key is shown once. Append this to the server's keys file and send it SIGHUP:\n\n%s", text)
			return nil
		},
	}
	cmd.Flags().StringVar(&r.ID, "id", "", "name of the key, recorded with what it does")
	cmd.Flags().StringVar(&r.Tenant, "tenant", "", "whose payroll it is; none for a key for admin alone")
	cmd.Flags().StringSliceVar(&r.Scopes, "scopes", []string{"submit", "read"}, "of submit, read, operate, admin")
	cmd.Flags().StringVar(&file, "file", "", "keys file to append to")
	_ = cmd.MarkFlagRequired("id")
	return cmd
}

// appendKey adds a record to a keys file, which it reads first: a file with a
// fault, or with that id in it, is left as it is.
func appendKey(file string, r keyRecord) error {
	records, err := readKeys(file)
	if errors.Is(err, os.ErrNotExist) {
		records, err = nil, nil
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(records, func(old keyRecord) bool { return old.ID == r.ID }) {
		return fmt.Errorf("--id: %s has a key of this id already", file)
	}
	text, err := yaml.Marshal([]keyRecord{r})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
