package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/windlass-dev/windlass/libs/nearest"
)

// env reads the variables with our prefix into a layer.
func (l *loader) env() {
	if l.opts.EnvPrefix == "" {
		return
	}
	layer := map[string]any{}
	for _, pair := range slices.Sorted(slices.Values(l.opts.Environ)) {
		name, value, _ := strings.Cut(pair, "=")
		rest, ours := strings.CutPrefix(name, l.opts.EnvPrefix)
		if !ours || l.allowed(name) {
			continue
		}
		from := "environment variable " + name
		path, n := l.root.resolve(rest)
		if n == nil {
			l.fail([]string{name}, from, "unknown variable%s", suggest(name, l.envNames()))
			continue
		}
		l.put(layer, path, n, value, from)
	}
	merge(l.values, layer)
}

func (l *loader) allowed(name string) bool {
	return slices.ContainsFunc(l.opts.EnvAllow, func(a string) bool {
		family, isFamily := strings.CutSuffix(a, "*")
		return a == name || isFamily && strings.HasPrefix(name, family)
	})
}

func (l *loader) envNames() []string {
	out := slices.Clone(l.opts.EnvAllow)
	walk(l.root, nil, func(path []string, _ *node) { out = append(out, envName(l.opts.EnvPrefix, path)) })
	return out
}

// put sets a value given as text. Lists of plain values are split at commas, maps of plain values may be name=value,name=value; all other
// containers are YAML or JSON text.
func (l *loader) put(layer map[string]any, path []string, n *node, value, from string) {
	l.origins[strings.Join(path, delim)] = origin{text: from}
	if n.kind == leaf {
		set(layer, path, value)
		return
	}
	if n.kind == list && n.elem.kind == leaf && !strings.HasPrefix(strings.TrimSpace(value), "[") {
		items := []any{}
		for item := range strings.SplitSeq(value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		set(layer, path, items)
		return
	}
	if pairs, ok := pairsOf(value); ok && n.kind == mapping && n.elem.kind == leaf {
		set(layer, path, pairs)
		return
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(value), &doc); err != nil || len(doc.Content) == 0 {
		l.fail(path, from, "want YAML or JSON text")
		return
	}
	r := &yamlReader{l: l, at: func(int) string { return from }}
	set(layer, path, r.value(doc.Content[0], n, path))
}

// pairName matches the name before the = of a pair. In YAML a name is followed by a colon.
var pairName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// pairsOf reads name=value,name=value; false if the text is something else.
func pairsOf(text string) (map[string]any, bool) {
	out := map[string]any{}
	for item := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		if name = strings.TrimSpace(name); !ok || !pairName.MatchString(name) {
			return nil, false
		}
		out[name] = strings.TrimSpace(value)
	}
	return out, true
}

// resolve returns the key that the rest of a variable's name refers to, or a nil node if there is none. Keys contain underscores
// themselves, so the longest matching key wins at each level; names of map entries can be anything and are as long as possible.
func (n *node) resolve(rest string) ([]string, *node) {
	if rest == "" {
		return nil, nil
	}
	if n.kind == mapping {
		return n.resolveEntry(rest)
	}
	fields := slices.Clone(n.fields)
	slices.SortStableFunc(fields, func(a, b field) int { return len(b.name) - len(a.name) })
	for _, f := range fields {
		tail, ok := strings.CutPrefix(rest, envWord(f.name))
		if !ok {
			continue
		}
		if tail == "" {
			return []string{f.name}, f.node
		}
		if tail, ok = strings.CutPrefix(tail, "_"); ok {
			if path, found := f.node.resolve(tail); found != nil {
				return append([]string{f.name}, path...), found
			}
		}
	}
	return nil, nil
}

func (n *node) resolveEntry(rest string) ([]string, *node) {
	name := func(s string) string { return strings.ToLower(s) }
	if n.elem.kind == leaf || n.elem.kind == list {
		return []string{name(rest)}, n.elem
	}
	for i := len(rest) - 1; i > 0; i-- {
		if rest[i] != '_' {
			continue
		}
		if path, found := n.elem.resolve(rest[i+1:]); found != nil {
			return append([]string{name(rest[:i])}, path...), found
		}
	}
	return nil, nil
}

func envWord(name string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

func envName(prefix string, path []string) string {
	words := make([]string, len(path))
	for i, p := range path {
		words[i] = envWord(p)
	}
	return prefix + strings.Join(words, "_")
}

// flags reads the flags that were set into a layer.
func (l *loader) flags() {
	if l.opts.Flags == nil {
		return
	}
	layer := map[string]any{}
	l.opts.Flags.Visit(func(f *pflag.Flag) {
		from := "flag --" + f.Name
		path, mapped := l.opts.FlagKeys[f.Name]
		if !mapped {
			path = strings.ReplaceAll(f.Name, "-", "_")
		}
		keys := strings.Split(path, ".")
		n := l.root.at(keys)
		switch {
		case n == nil && mapped:
			l.fail(keys, from, "FlagKeys names an unknown key")
		case n == nil:
		default:
			l.put(layer, keys, n, flagText(f), from)
		}
	})
	merge(l.values, layer)
}

// flagText returns a flag's value in the form that put expects: pflag formats lists in brackets.
func flagText(f *pflag.Flag) string {
	if s, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(s.GetSlice(), ",")
	}
	return f.Value.String()
}

// at returns the node of a path, or nil if there is none.
func (n *node) at(path []string) *node {
	for _, key := range path {
		switch n.kind {
		case object:
			f, ok := n.field(key)
			if !ok {
				return nil
			}
			n = f.node
		case mapping:
			n = n.elem
		default:
			return nil
		}
	}
	return n
}

// suggest returns ", did you mean …?" if a known name is similar, else "".
func suggest(name string, known []string) string {
	if near := nearest.Name(name, known); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}
