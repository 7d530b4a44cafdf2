package vendor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
)

// LoadDir reads every *.yaml and *.yml of a directory, without those below it,
// and returns the profiles by name. A file need not be named after its vendor.
// The error holds the faults of all files; two profiles of one name are a fault.
func LoadDir(dir fs.FS, secrets Secrets) (map[string]*Profile, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, fmt.Errorf("vendor: the directory of profiles: %w", err)
	}
	l := loader{dir: dir, secrets: secrets, profiles: map[string]*Profile{}, from: map[string]string{}}
	for _, e := range entries {
		if ext := path.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			l.load(e.Name())
		}
	}
	if err := l.faults.orNil(); err != nil {
		return nil, err
	}
	return l.profiles, nil
}

type loader struct {
	dir      fs.FS
	secrets  Secrets
	profiles map[string]*Profile
	from     map[string]string // the file of each profile
	faults   Faults
}

func (l *loader) load(file string) {
	text, err := readBounded(l.dir, file)
	if err != nil {
		l.faults = append(l.faults, Fault{File: file, Message: "cannot be read: " + err.Error()})
		return
	}
	p, err := Parse(file, text, l.secrets)
	var faults Faults
	switch {
	case errors.As(err, &faults):
		l.faults = append(l.faults, faults...)
	case l.profiles[p.Name] != nil:
		l.faults = append(l.faults, Fault{File: file, Path: "name", Message: strconv.Quote(p.Name) + " is the name of the profile in " + l.from[p.Name] + " too"})
	default:
		l.profiles[p.Name], l.from[p.Name] = p, file
	}
}

// readBounded reads a byte more than a profile may have, so that Parse sees it.
func readBounded(dir fs.FS, file string) ([]byte, error) {
	f, err := dir.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(f, maxProfile+1))
}
