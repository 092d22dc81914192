package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// file reads the YAML file into a layer and checks every key.
func (l *loader) file() {
	if l.opts.File == "" {
		return
	}
	text, err := os.ReadFile(l.opts.File)
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("read configuration file: %w", err))
		return
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return // an empty file is fine
	} else if err != nil {
		l.errs = append(l.errs, fmt.Errorf("%s: %w", l.opts.File, err))
		return
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		l.errs = append(l.errs, fmt.Errorf("%s:%d: want key: value lines", l.opts.File, doc.Content[0].Line))
		return
	}
	r := &yamlReader{l: l, at: func(line int) string { return fmt.Sprintf("%s:%d", l.opts.File, line) }}
	if layer, ok := r.value(doc.Content[0], l.root, nil).(map[string]any); ok {
		merge(l.values, layer)
	}
}

// yamlReader converts YAML nodes to plain values and checks them against the schema.
type yamlReader struct {
	l     *loader
	at    func(line int) string
	depth int // of aliases, which can nest exponentially
}

// maxAliasDepth is more than hand-written files need.
const maxAliasDepth = 8

// ownTags are the tags of YAML itself. Programs that know others would read something else than what is written.
var ownTags = []string{"", "!", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!seq", "!!map", "!!timestamp", "!!binary", "!!merge"}

func (r *yamlReader) value(y *yaml.Node, n *node, path []string) any {
	if n != nil && n.kind == raw {
		r.remember(path, y, false)
		return r.raw(y, path)
	}
	if !slices.Contains(ownTags, y.Tag) {
		r.l.fail(path, r.at(y.Line), "the tag %s is not known: write the value out, in quotes if it begins with !", y.Tag)
		return nil
	}
	switch y.Kind {
	case yaml.AliasNode:
		if r.depth++; r.depth > maxAliasDepth {
			r.l.fail(path, r.at(y.Line), "aliases are nested too deeply")
			return nil
		}
		defer func() { r.depth-- }()
		return r.value(y.Alias, n, path)
	case yaml.MappingNode:
		return r.mapping(y, n, path)
	case yaml.SequenceNode:
		r.remember(path, y, false)
		out := make([]any, len(y.Content))
		for i, item := range y.Content {
			out[i] = r.value(item, elemOf(n), append(path[:len(path):len(path)], fmt.Sprintf("[%d]", i)))
		}
		return out
	default:
		return r.scalar(y, n, path)
	}
}

func (r *yamlReader) mapping(y *yaml.Node, n *node, path []string) any {
	r.remember(path, y, false)
	out := map[string]any{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Tag == "!!merge" {
			r.l.fail(path, r.at(key.Line), "merge keys (<<) are not supported: write the keys out")
			continue
		}
		here := append(path[:len(path):len(path)], key.Value)
		if _, twice := out[key.Value]; twice {
			r.l.fail(here, r.at(key.Line), "set twice")
			continue
		}
		child := elemOf(n)
		if n != nil && n.kind == object {
			f, ok := n.field(key.Value)
			if !ok {
				r.l.fail(here, r.at(key.Line), "unknown key%s", suggest(key.Value, n.names()))
				continue
			}
			child = f.node
		}
		out[key.Value] = r.value(value, child, here)
	}
	return out
}

func (r *yamlReader) scalar(y *yaml.Node, n *node, path []string) any {
	if y.Tag == "!!null" {
		r.remember(path, y, false)
		return nil
	}
	var out any
	if err := y.Decode(&out); err != nil {
		r.l.fail(path, r.at(y.Line), "%v", err)
		return nil
	}
	if y.Tag != "!!str" {
		r.remember(path, y, false)
		return number{Text: y.Value, Value: out}
	}
	if r.l.opts.KeepReferences && (n == nil || n.typ.Kind() == reflect.String || n.typ.Kind() == reflect.Interface) {
		r.remember(path, y, false)
		return y.Value
	}
	text, expanded, missing := expand(y.Value, r.l.lookup)
	for _, name := range missing {
		r.l.fail(path, r.at(y.Line), "environment variable %s is not set", name)
	}
	r.remember(path, y, expanded)
	return text
}

// raw copies a node for a type that reads YAML itself, with references and aliases replaced.
func (r *yamlReader) raw(y *yaml.Node, path []string) *yaml.Node {
	if y.Kind == yaml.AliasNode {
		if r.depth++; r.depth > maxAliasDepth {
			r.l.fail(path, r.at(y.Line), "aliases are nested too deeply")
			return &yaml.Node{}
		}
		defer func() { r.depth-- }()
		return r.raw(y.Alias, path)
	}
	out := &yaml.Node{Kind: y.Kind, Tag: y.Tag, Value: y.Value, Line: y.Line}
	for i, part := range y.Content {
		if y.Kind == yaml.MappingNode && i%2 == 0 { // keys have no references
			out.Content = append(out.Content, part)
			continue
		}
		out.Content = append(out.Content, r.raw(part, path))
	}
	if y.Kind == yaml.ScalarNode && y.Tag == "!!str" && !r.l.opts.KeepReferences {
		var missing []string
		out.Value, _, missing = expand(y.Value, r.l.lookup)
		for _, name := range missing {
			r.l.fail(path, r.at(y.Line), "environment variable %s is not set", name)
		}
	}
	return out
}

func (r *yamlReader) remember(path []string, y *yaml.Node, secret bool) {
	r.l.origins[strings.Join(path, delim)] = origin{text: r.at(y.Line), secret: secret}
}

// number is a scalar that is not a string, with its spelling, so that "version: 1.10" can still fill a string field.
type number struct {
	Text  string // exported because koanf copies values by their exported fields
	Value any
}

// elemOf returns the schema of a container's elements; nil if they may be anything.
func elemOf(n *node) *node {
	if n == nil {
		return nil
	}
	return n.elem
}

// reference matches ${env:NAME}; a second $ in front escapes it.
var reference = regexp.MustCompile(`\$?\$\{env:([^}]*)\}`)

// expand replaces references to the environment. It reports whether there were any, and which variables are not set.
func expand(text string, lookup func(string) (string, bool)) (out string, expanded bool, missing []string) {
	out = reference.ReplaceAllStringFunc(text, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		name := m[len("${env:") : len(m)-1]
		value, ok := lookup(name)
		if !ok {
			missing = append(missing, name)
		}
		expanded = true
		return value
	})
	return out, expanded, missing
}

func (l *loader) lookup(name string) (string, bool) {
	for _, pair := range l.opts.Environ {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return value, true
		}
	}
	return "", false
}
