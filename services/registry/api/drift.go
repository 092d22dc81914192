package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/windlass-dev/windlass/libs/diff"
	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// DiffSource implements SourceService.
func (s *Sources) DiffSource(ctx context.Context, req *registryv1.DiffSourceRequest) (*registryv1.DiffSourceResponse, error) {
	src, err := s.source(ctx, req.GetSourceId())
	if err != nil {
		return nil, err
	}
	drifts, err := s.store.Drifted(ctx, src)
	if err != nil {
		return nil, fmt.Errorf("list drifted tools: %w", err)
	}
	hashes := make([]string, 0, 2*len(drifts))
	for _, d := range drifts {
		hashes = append(hashes, d.Accepted, d.Found)
	}
	definitions, err := s.store.Definitions(ctx, src.Tenant, hashes)
	if err != nil {
		return nil, fmt.Errorf("read definitions: %w", err)
	}
	raw := make(map[string][]byte, len(definitions))
	for _, d := range definitions {
		raw[d.Hash] = d.Raw
	}
	resp := &registryv1.DiffSourceResponse{}
	for _, d := range drifts {
		resp.Tools = append(resp.Tools, &registryv1.DriftedTool{
			Name: d.Name, AcceptedDefinitionHash: d.Accepted, DefinitionHash: d.Found,
			Diff: diff.Unified(readable(raw[d.Accepted]), readable(raw[d.Found])),
		})
	}
	return resp, nil
}

// AcceptSource implements SourceService.
func (s *Sources) AcceptSource(ctx context.Context, req *registryv1.AcceptSourceRequest) (*registryv1.AcceptSourceResponse, error) {
	src, err := s.source(ctx, req.GetSourceId())
	if err != nil {
		return nil, err
	}
	held, err := s.store.Drifted(ctx, src)
	if err != nil {
		return nil, fmt.Errorf("list drifted tools: %w", err)
	}
	chosen, err := choose(src.Name, held, req.GetTools())
	if err != nil {
		return nil, err
	}
	resp := &registryv1.AcceptSourceResponse{}
	if len(chosen) == 0 {
		return resp, nil
	}
	err = s.store.Accept(ctx, src, chosen, s.now())
	if errors.Is(err, store.ErrChanged) {
		return nil, fault.Conflict("source %q or one of its tools changed meanwhile", src.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("accept definitions: %w", err)
	}
	for _, d := range chosen {
		resp.Accepted = append(resp.Accepted, d.Name)
	}
	return resp, nil
}

// choose returns the named ones of the definitions held back; all of them if none is named. A tool is named as here, or as its source does.
func choose(source string, held []store.Drift, named []*registryv1.DefinitionChoice) ([]store.Drift, error) {
	if len(named) == 0 {
		return held, nil
	}
	var chosen []store.Drift
	for i, n := range named {
		field := fmt.Sprintf("tools[%d]", i)
		at := -1
		for _, name := range []string{n.GetName(), store.ToolName(source, n.GetName())} {
			if at = slices.IndexFunc(held, func(d store.Drift) bool { return d.Name == name }); at >= 0 {
				break
			}
		}
		if at < 0 {
			return nil, fault.Invalid(field+".name", "no changed definition of %q is held back", n.GetName())
		}
		d := held[at]
		if n.GetDefinitionHash() != "" && n.GetDefinitionHash() != d.Found {
			return nil, fault.Conflict("the definition of %q changed again since it was read: it has the hash %s now", d.Name, d.Found)
		}
		if slices.Contains(chosen, d) {
			return nil, fault.Invalid(field+".name", "%q is named twice", d.Name)
		}
		chosen = append(chosen, d)
	}
	return chosen, nil
}

// readable formats a definition with sorted keys, one value per line, and with invisible characters escaped, which could hide
// instructions for a model from the person who accepts them.
func readable(raw []byte) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return visible(string(raw))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) != nil {
		return visible(string(raw))
	}
	return visible(out.String())
}

func visible(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			out.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&out, "\\U%08x", r)
		default:
			fmt.Fprintf(&out, "\\u%04x", r)
		}
	}
	return out.String()
}
