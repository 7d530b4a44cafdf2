package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"payrollgateway/internal/vendor"
)

// secrets resolves the references of vendor profiles: ${file:/path}, ${env:NAME}.
type secrets struct{ getenv func(string) string }

// maxSecret bounds a secret's file.
const maxSecret = 64 << 10

// Resolve implements vendor.Secrets. A file's trailing newline is not part of
// the secret.
func (s secrets) Resolve(ref string) (vendor.Secret, error) {
	source, name, ok := vendor.Reference(ref)
	if !ok {
		return vendor.Secret{}, errors.New("write it as ${file:/path} or ${env:NAME}")
	}
	text := ""
	switch source {
	case "env":
		text = s.getenv(name)
	case "file":
		b, err := os.ReadFile(name)
		if err != nil {
			return vendor.Secret{}, fmt.Errorf("%s: the file cannot be read", ref)
		}
		if len(b) > maxSecret {
			return vendor.Secret{}, fmt.Errorf("%s: the file is too large for a secret", ref)
		}
		text = strings.TrimRight(string(b), "\r\n")
	}
	if text == "" {
		return vendor.Secret{}, fmt.Errorf("%s: is empty", ref)
	}
	return vendor.NewSecret(text), nil
}
