package provider

import (
	"encoding/json"
	"strings"
)

// renaming gives the arguments of calls the names of properties that the tools have, in place of those that were offered. Such arguments
// are emitted at the end: a name may be cut between two pieces.
type renaming struct {
	tools map[string]*strings.Replacer // those with other names
	calls map[int]*renamed
	order []int
	next  func(Delta) error
}

// renamed is a call being received.
type renamed struct {
	names     *strings.Replacer
	arguments strings.Builder
}

// newRenaming returns a renaming that forwards to emit.
func newRenaming(tools []Tool, emit func(Delta) error) *renaming {
	r := &renaming{tools: map[string]*strings.Replacer{}, calls: map[int]*renamed{}, next: emit}
	for _, t := range tools {
		if len(t.Keys) == 0 {
			continue
		}
		var pairs []string
		for made, own := range t.Keys {
			pairs = append(pairs, jsonText(made), jsonText(own)) // a made name ends with a hash: no other text is the same
		}
		r.tools[t.Own] = strings.NewReplacer(pairs...)
	}
	return r
}

func jsonText(name string) string {
	raw, err := json.Marshal(name)
	if err != nil {
		return name // a string always encodes
	}
	return string(raw)
}

// emit forwards a piece.
func (r *renaming) emit(d Delta) error {
	if d.Call == nil || len(r.tools) == 0 {
		return r.next(d)
	}
	c := r.calls[d.Call.Index]
	if names := r.tools[d.Call.Tool]; c == nil && names != nil {
		c = &renamed{names: names}
		r.calls[d.Call.Index], r.order = c, append(r.order, d.Call.Index)
	}
	if c == nil {
		return r.next(d)
	}
	c.arguments.WriteString(d.Call.Arguments)
	d.Withheld += len(d.Call.Arguments)
	if d.Call.Tool == "" {
		return r.next(Delta{Withheld: d.Withheld})
	}
	call := *d.Call
	call.Arguments, d.Call = "", &call
	return r.next(d)
}

// flush forwards the arguments that wait.
func (r *renaming) flush() error {
	for _, index := range r.order {
		c := r.calls[index]
		if c.arguments.Len() == 0 {
			continue
		}
		d := &CallDelta{Index: index, Arguments: c.names.Replace(c.arguments.String())}
		if err := r.next(Delta{Call: d}); err != nil {
			return err
		}
	}
	return nil
}
