package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"payrollgateway/internal/httpapi"
	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
)

// keyRecord is one API key as the keys file holds it: never the key itself.
type keyRecord struct {
	ID     string   `yaml:"id"`
	Tenant string   `yaml:"tenant,omitempty"` // none for admin
	Scopes []string `yaml:"scopes,flow"`
	SHA256 string   `yaml:"sha256"` // hex, of the whole key
}

const adminScope = string(apigen.ScopeAdmin)

// tenantScopes are those of a key that belongs to a tenant.
var tenantScopes = []string{string(apigen.ScopeSubmit), string(apigen.ScopeRead), string(apigen.ScopeOperate)}

// newKey makes a key and its record. The key is shown once and kept nowhere.
func newKey(id, tenant string, scopes []string) (key string, r keyRecord) {
	var random [20]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the program instead
	key = "pgk_" + id + "_" + strings.ToLower(base32.StdEncoding.EncodeToString(random[:]))
	return key, record(key, id, tenant, scopes)
}

func record(key, id, tenant string, scopes []string) keyRecord {
	sum := sha256.Sum256([]byte(key))
	return keyRecord{ID: id, Tenant: tenant, Scopes: scopes, SHA256: hex.EncodeToString(sum[:])}
}

// validate lists what is wrong with a record.
func (r keyRecord) validate() error {
	var faults []error
	fault := func(wrong bool, text string) {
		if wrong {
			faults = append(faults, errors.New(text))
		}
	}
	known := append(slices.Clone(tenantScopes), adminScope)
	sum, err := hex.DecodeString(r.SHA256)
	fault(!payroll.ValidIdentifier(r.ID), "id: must be 1 to 64 characters of A-Z a-z 0-9 . _ -")
	fault(len(r.Scopes) == 0, "scopes: at least one is needed of submit, read, operate, admin")
	fault(slices.ContainsFunc(r.Scopes, func(s string) bool { return !slices.Contains(known, s) }), "scopes: must be of submit, read, operate, admin")
	fault(r.Tenant != "" && !payroll.ValidIdentifier(r.Tenant), "tenant: must be 1 to 64 characters of A-Z a-z 0-9 . _ -")
	fault(r.Tenant == "" && slices.ContainsFunc(r.Scopes, func(s string) bool { return s != adminScope }), "tenant: is missing; only a key for admin alone has none")
	fault(r.Tenant != "" && slices.Contains(r.Scopes, adminScope), "scopes: admin is for what tenants share; make a key without a tenant for it")
	fault(err != nil || len(sum) != sha256.Size, "sha256: must be the 64 hex digits of the SHA-256 of the key")
	return errors.Join(faults...)
}

// key is the record as the API looks it up.
func (r keyRecord) key() httpapi.Key {
	k := httpapi.Key{ID: r.ID, Tenant: r.Tenant}
	for _, s := range r.Scopes {
		k.Scopes = append(k.Scopes, apigen.Scope(s))
	}
	_, _ = hex.Decode(k.SHA256[:], []byte(r.SHA256)) // a valid record
	return k
}

// readKeys reads the keys file strictly and lists every fault.
func readKeys(file string) ([]keyRecord, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	var records []keyRecord
	if err := yaml.UnmarshalWithOptions(text, &records, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("keys: %s: %s", file, yaml.FormatError(err, false, false))
	}
	var faults []error
	seen := map[string]bool{}
	for i, r := range records {
		if err := r.validate(); err != nil {
			faults = append(faults, fmt.Errorf("keys: %s: entry %d: %w", file, i+1, err))
		}
		if seen[r.ID] || seen[r.SHA256] {
			faults = append(faults, fmt.Errorf("keys: %s: entry %d: its id or its key stands in the file twice", file, i+1))
		}
		seen[r.ID], seen[r.SHA256] = true, true
	}
	return records, errors.Join(faults...)
}

// developmentTenant is whose payroll the development key submits.
const developmentTenant = "dev"

// developmentKey is a key of an unconfigured gateway: made once, kept in the
// data directory for its owner's eyes.
type developmentKey struct {
	id     string // also the file's name
	tenant string
	scopes []string
}

// The keys of an unconfigured gateway.
var (
	forTenant = developmentKey{"development-key", developmentTenant, tenantScopes}
	forAdmin  = developmentKey{"development-admin-key", "", []string{adminScope}}
)

// read returns the key, or os.ErrNotExist where it was never made.
func (d developmentKey) read(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, d.id))
	return strings.TrimSpace(string(text)), err
}

// ensure returns the key and its record, and makes it where there is none.
func (d developmentKey) ensure(dir string) (key string, r keyRecord, err error) {
	key, err = d.read(dir)
	if errors.Is(err, os.ErrNotExist) {
		key, r = newKey(d.id, d.tenant, d.scopes)
		return key, r, os.WriteFile(filepath.Join(dir, d.id), []byte(key+"\n"), 0o600)
	}
	if err != nil {
		return "", r, fmt.Errorf("development key: %w", err)
	}
	return key, record(key, d.id, d.tenant, d.scopes), nil
}
