// Package schema validates JSON objects, mainly arguments of tool calls, against untrusted JSON Schemas. Its work is bounded whatever the
// schema or object: schemas are limited when they are compiled, see limits.go, and each validation has a budget, see guard.go.
package schema

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// base is the URL that a schema is compiled under; its references to itself resolve against it.
const base = "windlass:///schema.json"

// Cache caches compiled schemas. It is safe for concurrent use.
type Cache struct {
	compiled *lru.Cache[string, *compiled] // nil for a schema that cannot be compiled
	log      *slog.Logger
}

// NewCache returns a cache of at most size schemas.
func NewCache(size int, log *slog.Logger) (*Cache, error) {
	entries, err := lru.New[string, *compiled](size)
	if err != nil {
		return nil, fmt.Errorf("make schema cache: %w", err)
	}
	return &Cache{compiled: entries, log: log}, nil
}

// Get returns the cached validator for a definition's hash; false if it has to be created with Add.
func (c *Cache) Get(hash string) (Validator, bool) {
	s, ok := c.compiled.Get(hash)
	return Validator{schema: s}, ok
}

// Add compiles a schema and caches it under the hash of its definition. A schema that cannot be compiled is logged once and gets a
// validator that accepts everything: the tool itself will validate.
func (c *Cache) Add(ctx context.Context, hash, tool string, text []byte) Validator {
	s, err := compile(text)
	if err != nil {
		c.log.WarnContext(ctx, "input schema cannot be used, arguments are not checked", "tool", tool, "definition_hash", hash, "error",
			shorten(err.Error()))
	}
	c.compiled.Add(hash, s)
	return Validator{schema: s}
}

// Compile compiles a schema without caching it. Empty text gives a validator that accepts everything. The error says which limit the schema
// exceeds, or what is wrong with it.
func Compile(text []byte) (Validator, error) {
	s, err := compile(text)
	return Validator{schema: s}, err
}

// Check returns ErrLimit for a schema that exceeds a limit which can be counted in time linear in its size; Compile checks all limits.
func Check(text []byte) error {
	_, err := parse(text)
	return err
}

// parse parses a schema and counts its parts; nil for empty text.
func parse(text []byte) (any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	if len(text) > maxBytes {
		return nil, over("too many bytes", len(text), maxBytes)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	return doc, checkDocument(doc)
}

// compiled is a schema within the limits. Its graph is never evaluated directly, see guard.
type compiled struct {
	root   *jsonschema.Schema
	values map[*jsonschema.Schema]*valueRules
	// unevaluated means that evaluation keeps a list of each value's members.
	unevaluated bool
	guards      sync.Pool
}

func compile(text []byte) (_ *compiled, err error) {
	doc, err := parse(text)
	if doc == nil || err != nil {
		return nil, err
	}
	defer func() { // the compiler walks untrusted input
		if r := recover(); r != nil {
			err = fmt.Errorf("compile schema: panic: %v", r)
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine((&patterns{}).compile)
	if err := c.AddResource(base, doc); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	root, err := c.Compile(base)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	graph, err := checkExpansion(root)
	if err != nil {
		return nil, err
	}
	out := &compiled{root: root, values: map[*jsonschema.Schema]*valueRules{}}
	for s := range graph {
		if s.RecursiveRef != nil || s.DynamicRef != nil { // of a referenced meta-schema
			return nil, errors.New("$dynamicRef and $recursiveRef are not supported: use $ref")
		}
		out.values[s] = newValueRules(s)
		out.unevaluated = out.unevaluated || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil
	}
	return out, nil
}

// noLoader refuses references to other documents: a server's schema must not make us fetch or read anything.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("references to other documents are not followed: " + shorten(url))
}
