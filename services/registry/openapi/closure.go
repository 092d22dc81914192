package openapi

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// closure is a set of operations and all that they refer to.
type closure struct {
	root              map[string]any
	paths, components map[string]any
	// wrong says which reference leads nowhere; empty if none does.
	wrong string
}

func (r *rescuer) closure(places []place) *closure {
	c := &closure{root: r.root, paths: map[string]any{}, components: map[string]any{}}
	for _, p := range places {
		c.operation(p)
	}
	return c
}

// operation adds an operation; one without method is what all operations of a path share.
func (c *closure) operation(p place) {
	source := object(object(c.root["paths"])[p.path])
	item := object(c.paths[p.path])
	if item == nil {
		item = maps.Clone(source)
		maps.DeleteFunc(item, func(key string, _ any) bool { return slices.Contains(methods, key) })
		c.paths[p.path] = item
		c.follow(item, false)
	}
	if _, ok := item[p.method]; !ok && p.method != "" {
		item[p.method] = source[p.method]
		c.follow(source[p.method], false)
	}
}

// follow adds what a value refers to. named means that its keys are names, and not keywords.
func (c *closure) follow(v any, named bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			text, isText := item.(string)
			switch {
			case c.wrong != "":
				return
			case !named && key == "$ref" && isText:
				c.refer(text)
			case !named && isData(key):
			default:
				c.follow(item, !named && namesOf(key))
			}
		}
	case []any:
		for _, item := range v {
			c.follow(item, false)
		}
	}
}

func (c *closure) refer(ref string) {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		c.wrong = fmt.Sprintf("it refers to another document (%s); bundle both into one", truncate.Bytes(ref, 100))
		return
	}
	parts, ok := c.find(pointer)
	switch {
	case !ok:
		c.wrong = fmt.Sprintf("its reference %q leads nowhere", truncate.Bytes(ref, 200))
	case len(parts) > 2 && parts[0] == "components":
		c.component(parts[1], parts[2])
	case len(parts) > 1 && parts[0] == "paths":
		p := place{path: parts[1]}
		if len(parts) > 2 && slices.Contains(methods, parts[2]) {
			p.method = parts[2]
		}
		c.operation(p)
	}
}

func (c *closure) component(kind, name string) {
	all := object(c.components[kind])
	if all == nil {
		all = map[string]any{}
		c.components[kind] = all
	}
	if _, ok := all[name]; ok {
		return
	}
	all[name] = object(object(c.root["components"])[kind])[name]
	c.follow(all[name], false)
}

// find follows a JSON pointer (RFC 6901) as it is written in a URL, and returns its parts.
func (c *closure) find(pointer string) (parts []string, ok bool) {
	if pointer, err := url.PathUnescape(pointer); err == nil && strings.HasPrefix(pointer, "/") {
		for part := range strings.SplitSeq(pointer[1:], "/") {
			parts = append(parts, strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
		}
	}
	var v any = c.root
	for _, part := range parts {
		switch at := v.(type) {
		case map[string]any:
			if v, ok = at[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return parts, len(parts) > 0
}

// namesOf reports whether the keys of what a keyword holds are names.
func namesOf(keyword string) bool {
	return slices.Contains([]string{
		"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "schemas", "responses", "parameters", "requestBodies",
		"headers", "pathItems", "content", "encoding", "variables", "mapping",
	}, keyword)
}

// isData reports whether a keyword holds a value, in which nothing is a reference.
func isData(keyword string) bool {
	return strings.HasPrefix(keyword, "x-") ||
		slices.Contains([]string{"example", "examples", "default", "enum", "const", "required", "description", "mapping"}, keyword)
}
