// Package schema checks JSON objects, arguments of tool calls above all, against JSON Schemas that others give.
package schema

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSchema bounds the size of a schema that is compiled, in bytes.
const maxSchema = 1 << 20

// base is the address a schema is compiled under; its references to itself resolve against it.
const base = "windlass:///schema.json"

// Cache compiles schemas once. Safe for concurrent use.
type Cache struct {
	compiled *lru.Cache[string, *jsonschema.Schema] // nil for one that cannot be compiled
	log      *slog.Logger
}

// NewCache makes a cache of at most size schemas.
func NewCache(size int, log *slog.Logger) (*Cache, error) {
	compiled, err := lru.New[string, *jsonschema.Schema](size)
	if err != nil {
		return nil, fmt.Errorf("make schema cache: %w", err)
	}
	return &Cache{compiled: compiled, log: log}, nil
}

// Get gives the validator kept under a definition's hash; false when it has to be made with Add.
func (c *Cache) Get(hash string) (Validator, bool) {
	s, ok := c.compiled.Get(hash)
	return Validator{s}, ok
}

// Add compiles a schema and keeps it under the hash of its definition. One that cannot be compiled is logged here, once,
// and gives a validator that accepts everything: the tool itself will check.
func (c *Cache) Add(ctx context.Context, hash, tool string, text []byte) Validator {
	s, err := compile(text)
	if err != nil {
		c.log.WarnContext(ctx, "input schema cannot be used, arguments are not checked", "tool", tool, "definition_hash", hash, "error", err)
	}
	c.compiled.Add(hash, s)
	return Validator{s}
}

// Compile reads a schema for use at once. Empty text gives a validator that accepts everything.
func Compile(text []byte) (Validator, error) {
	s, err := compile(text)
	return Validator{s}, err
}

func compile(text []byte) (_ *jsonschema.Schema, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("schema of %d bytes is over the limit of %d", len(text), maxSchema)
	}
	defer func() { // the compiler walks whatever a server sends
		if r := recover(); r != nil {
			err = fmt.Errorf("compile schema: panic: %v", r)
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(base, doc); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	s, err := c.Compile(base)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return s, nil
}

// noLoader refuses references to other documents: a server's schema must not make us fetch or read anything.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("references to other documents are not followed: " + url)
}
