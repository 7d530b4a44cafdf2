package main

import (
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// entry is one key of a flat YAML file, with the line it stands on.
type entry struct {
	key, value string
	line       int
	scalar     bool // false: a list or a mapping, which has no one value
}

// maxConfigFile bounds what a configuration may be.
const maxConfigFile = 64 << 10

// readEntries reads a flat YAML file. Every scalar is given as its text: what
// it means is the setting's business, wherever the text comes from.
func readEntries(file string) ([]entry, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if len(text) > maxConfigFile {
		return nil, fmt.Errorf("config: %s is longer than %d bytes", file, maxConfigFile)
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, fmt.Errorf("config: %s: %s", file, yaml.FormatError(err, false, true))
	}
	var entries []entry
	for _, doc := range tree.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.NullNode, *ast.CommentGroupNode:
		case *ast.MappingNode:
			for _, v := range body.Values {
				entries = append(entries, newEntry(v))
			}
		default:
			return nil, fmt.Errorf("config: %s: must be lines of the form key: value", file)
		}
	}
	return entries, nil
}

func newEntry(v *ast.MappingValueNode) entry {
	e := entry{key: v.Key.String(), line: v.Key.GetToken().Position.Line}
	switch value := v.Value.(type) {
	case *ast.NullNode:
		e.scalar = true
	case *ast.StringNode:
		e.value, e.scalar = value.Value, true
	case ast.ScalarNode:
		e.value, e.scalar = value.GetToken().Value, true
	}
	return e
}
