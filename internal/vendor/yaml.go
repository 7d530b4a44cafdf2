package vendor

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Bounds of a profile's file. Anchors and aliases are not read at all, so that a
// small file stays small.
const (
	maxProfile = 64 << 10
	maxDepth   = 16 // brackets within brackets; a profile needs five
)

// document is a file on its way into a profile. It collects every fault and
// goes on, so that a person corrects a file once.
type document struct {
	file   string
	faults Faults
}

// value is something in the file: its place, and the path of keys to it.
type value struct {
	doc    *document
	path   string
	node   ast.Node // nil = absent
	around ast.Node // what it is absent from
}

// open parses the text and returns its one mapping. ok is false where the text
// is no such thing; the fault is recorded.
func (d *document) open(text []byte) (root value, ok bool) {
	root = value{doc: d}
	switch {
	case len(text) > maxProfile:
		root.fault("is longer than %d bytes", maxProfile)
		return root, false
	case !utf8.Valid(text):
		root.fault("is not UTF-8")
		return root, false
	case depth(text) > maxDepth:
		root.fault("has more than %d levels of brackets", maxDepth)
		return root, false
	}
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return root, false
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		root.fault("must be one YAML document with a mapping of keys")
		return root, false
	}
	root.node = file.Docs[0].Body
	if _, ok := root.node.(ast.MapNode); !ok {
		root.fault("must be a mapping of keys")
		return root, false
	}
	return root, true
}

// depth is how deep brackets are nested at most, those in texts and comments
// included: a bound for the parser, which recurses.
func depth(text []byte) (deepest int) {
	level := 0
	for _, c := range text {
		switch c {
		case '[', '{':
			level++
			deepest = max(deepest, level)
		case ']', '}':
			level--
		}
	}
	return deepest
}

func (d *document) syntax(err error) {
	f := Fault{File: d.file, Message: "is not YAML"}
	var positioned yaml.Error
	if errors.As(err, &positioned) {
		f.Message += ": " + positioned.GetMessage()
		if t := positioned.GetToken(); t != nil && t.Position != nil {
			f.Line, f.Column = t.Position.Line, t.Position.Column
		}
	}
	d.faults = append(d.faults, f)
}

// fault records what is wrong with the value, at its place.
func (v value) fault(format string, args ...any) {
	f := Fault{File: v.doc.file, Path: v.path, Message: fmt.Sprintf(format, args...)}
	f.Line, f.Column = place(cmp.Or(v.node, v.around))
	v.doc.faults = append(v.doc.faults, f)
}

// place is where a node begins: a mapping at its first key, or its brace.
func place(n ast.Node) (line, column int) {
	switch m := n.(type) {
	case nil:
		return 0, 0
	case *ast.MappingValueNode:
		n = m.Key
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			n = m.Values[0].Key
		}
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line, t.Position.Column
	}
	return 0, 0
}

// object is a mapping that is being read key by key.
type object struct {
	value
	members map[string]value
	keys    map[string]value // where the keys themselves stand
	order   []string         // the keys as they stand in the file
	known   []string         // the keys that were asked for
}

// object reads the value as a mapping; a fault and an empty object if it is none.
func (v value) object() *object {
	o := &object{value: v, members: map[string]value{}, keys: map[string]value{}}
	switch n := v.node.(type) {
	case nil:
	case *ast.MappingNode:
		for _, pair := range n.Values {
			o.add(pair)
		}
	case *ast.MappingValueNode:
		o.add(n)
	default:
		v.fault("must be a mapping of keys")
	}
	return o
}

func (o *object) add(pair *ast.MappingValueNode) {
	key := value{doc: o.doc, path: o.path, node: pair.Key}
	text, ok := pair.Key.(*ast.StringNode)
	if !ok {
		key.fault("has a key that is not a plain text: anchors, aliases, tags and merged keys are not read")
		return
	}
	name := text.Value
	key.path = join(o.path, name)
	if first, twice := o.keys[name]; twice {
		key.fault("is given twice, first on line %d: give it once", first.node.GetToken().Position.Line)
		return
	}
	o.keys[name], o.order = key, append(o.order, name)
	if _, null := pair.Value.(*ast.NullNode); !null {
		o.members[name] = value{doc: o.doc, path: key.path, node: pair.Value}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// get returns a member; ok is false where it is absent or null.
func (o *object) get(name string) (v value, ok bool) {
	o.known = append(o.known, name)
	v, ok = o.members[name]
	return v, ok
}

// child returns a member as an object; an empty one where it is absent.
func (o *object) child(name string) *object {
	v, ok := o.get(name)
	if !ok {
		v = o.absent(name)
	}
	return v.object()
}

// close records the keys that nobody asked for.
func (o *object) close() {
	for _, name := range o.order {
		if !slices.Contains(o.known, name) {
			o.keys[name].fault("is not a key of a profile here; known are: %s", strings.Join(slices.Sorted(slices.Values(o.known)), ", "))
		}
	}
}

// absent is a member that is not there.
func (o *object) absent(name string) value {
	v := value{doc: o.doc, path: join(o.path, name), around: cmp.Or(o.node, o.around)}
	if key, null := o.keys[name]; null {
		v.around = key.node
	}
	return v
}

// require records a missing key; its place is what it is missing from.
func (o *object) require(name, remedy string) bool {
	if _, ok := o.members[name]; ok {
		return true
	}
	o.absent(name).fault("is required: %s", remedy)
	return false
}

// text returns a scalar that is a text.
func (v value) text() (string, bool) {
	switch n := v.node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		v.fault("must be a text: put it in quotes")
	default:
		v.fault("must be a text")
	}
	return "", false
}

// number returns the digits of a number as they are written, or of a text.
func (v value) number() string {
	switch n := v.node.(type) {
	case *ast.IntegerNode:
		return n.Token.Value
	case *ast.FloatNode:
		return n.Token.Value
	case *ast.StringNode:
		return n.Value
	}
	return ""
}

// textTo reads an optional text into dst.
func (o *object) textTo(name string, dst *string) {
	if v, ok := o.get(name); ok {
		if s, ok := v.text(); ok {
			*dst = s
		}
	}
}

// boolTo reads an optional true or false into dst.
func (o *object) boolTo(name string, dst *bool) {
	v, ok := o.get(name)
	if !ok {
		return
	}
	n, ok := v.node.(*ast.BoolNode)
	if !ok {
		v.fault("must be true or false")
		return
	}
	*dst = n.Value
}

var plainInteger = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// intTo reads an optional whole number within bounds into dst.
func (o *object) intTo(name string, dst *int, least, most int) {
	if v, ok := o.get(name); ok {
		if n, ok := v.integer(least, most); ok {
			*dst = n
		}
	}
}

// integer reads digits without a leading zero: 010 is 8 to some and 10 to others.
func (v value) integer(least, most int) (int, bool) {
	if n, isNumber := v.node.(*ast.IntegerNode); isNumber && plainInteger.MatchString(n.Token.Value) {
		if i, err := strconv.Atoi(n.Token.Value); err == nil && i >= least && i <= most {
			return i, true
		}
	}
	v.fault("must be a whole number from %d to %d", least, most)
	return 0, false
}

// durationTo reads an optional length of time within bounds into dst. 0 needs
// no unit.
func (o *object) durationTo(name string, dst *time.Duration, least, most time.Duration) {
	v, ok := o.get(name)
	if !ok {
		return
	}
	d, err := time.ParseDuration(v.number())
	if err != nil || d < least || d > most {
		v.fault("must be a length of time from %v to %v, such as 500ms, 30s, 24h", least, most)
		return
	}
	*dst = d
}

// oneOf reads an optional word of a closed set into dst; false where the word
// is none of them.
func oneOf[T ~string](o *object, name string, dst *T, allowed ...T) bool {
	v, ok := o.get(name)
	if !ok {
		return true
	}
	if s, isText := v.node.(*ast.StringNode); isText && slices.Contains(allowed, T(s.Value)) {
		*dst = T(s.Value)
		return true
	}
	v.fault("must be one of %v", allowed)
	return false
}

// items returns the elements of a list; a fault where it is none.
func (v value) items() []value {
	n, ok := v.node.(*ast.SequenceNode)
	if !ok {
		v.fault("must be a list")
		return nil
	}
	items := make([]value, len(n.Values))
	for i, item := range n.Values {
		items[i] = value{doc: v.doc, path: fmt.Sprintf("%s[%d]", v.path, i), node: item}
	}
	return items
}
