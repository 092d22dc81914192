// Package skills makes tools of skills: folders with a SKILL.md in the Agent Skills format, in a folder of this machine or in an archive. A
// call of the tool returns the text of a file. Nothing of a skill is ever run.
package skills

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Name is the name of the kind.
const Name = "skills"

// Tags of the tools: each has the first, and those that cannot be loaded also the second.
const (
	tagSkill     = "skill"
	tagNeedsCode = "needs-code"
)

// inputSchema is that of every skill.
const inputSchema = `{"type":"object","properties":{"file":{"type":"string","minLength":1,"maxLength":255,"description":"A file of the ` +
	`skill, as its instructions name it; the instructions themselves (SKILL.md) when left out"}},"additionalProperties":false}`

// Kind is a folder or an archive with skills.
type Kind struct{}

// Facts implements source.Kind.
func (Kind) Facts() source.Facts {
	return source.Facts{Name: Name, Fields: []string{"archive"}, Silent: true, Uncached: true}
}

// Validate implements source.Kind.
func (Kind) Validate(s store.Source, bad source.Bad) {
	if (s.Spec.Dir != "") == (s.Document != "") {
		bad("source.dir", "give exactly one of dir, a folder of the registry's machine, and archive, a zip or tar file")
	}
	if s.Spec.Dir != "" && !filepath.IsAbs(s.Spec.Dir) {
		bad("source.dir", "the path of the folder must be absolute")
	}
	if _, err := base64.StdEncoding.DecodeString(s.Document); err != nil {
		bad("source.document", "a source of kind skills has an archive, and no document")
	}
	if s.Spec.URL != "" || s.Spec.BaseURL != "" || s.Spec.Operations != nil || len(s.Spec.Endpoints) > 0 || s.Spec.Auth != nil ||
		len(s.Spec.Headers) > 0 {
		bad("source.kind", "a source of kind skills has no url, base_url, operations, endpoints, headers or auth")
	}
	server := s
	server.Spec.Dir = ""
	source.NoServer(server, bad)
}

// driver reads skills, and returns their texts.
type driver struct {
	env     *source.Env
	dirs    []string
	reading chan struct{} // holds a token while a source is read: it takes memory
	skills  *source.Decoder[skill]
}

// skillsKept limits the skills in memory, each of which may have maxSkillText.
const skillsKept = 32

// Open returns the driver of the kind. Sources may name folders that are below one of dirs, which are absolute, or are one of them.
func Open(env *source.Env, dirs []string) source.Driver {
	return driver{env, dirs, make(chan struct{}, 1), source.NewDecoder(env.Definitions, skillsKept, decode)}
}

// Discover implements source.Driver. The texts are a part of the definitions, so that a call returns the text that was found, and accepted
// if the source is pinned, on every replica.
func (d driver) Discover(ctx context.Context, s store.Source, _ source.User) (store.Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, d.env.DiscoverTimeout)
	defer cancel()
	select {
	case d.reading <- struct{}{}:
		defer func() { <-d.reading }()
	case <-ctx.Done():
		return store.Inventory{}, ctx.Err()
	}
	inv, err := d.inventory(ctx, s)
	switch {
	case err == nil && inv.Digest == s.Digest:
		return store.Inventory{Unchanged: true}, nil
	case err == nil:
		return inv, nil
	case ctx.Err() != nil:
		return store.Inventory{}, ctx.Err()
	}
	f := fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q: %s", s.Name, truncate.Bytes(err.Error(), 500))
	if _, wrong := errors.AsType[wrongError](err); wrong {
		f = source.Invalid(f)
	}
	return store.Inventory{}, f
}

// inventory makes the tools of a source.
func (d driver) inventory(ctx context.Context, s store.Source) (store.Inventory, error) {
	t := newTree()
	var err error
	if s.Spec.Dir != "" {
		err = d.folder(ctx, t, s.Spec.Dir)
	} else {
		var data []byte
		if data, err = base64.StdEncoding.DecodeString(s.Document); err == nil {
			err = readArchive(ctx, t, data)
		}
	}
	if err != nil {
		return store.Inventory{}, err
	}
	found, warnings, err := t.skills()
	if err != nil {
		return store.Inventory{}, err
	}
	inv := store.Inventory{ProtocolVersion: "Agent Skills", Warnings: warnings}
	for _, k := range found {
		tool, err := k.tool()
		if err != nil {
			return store.Inventory{}, fmt.Errorf("skill %q: %w", k.Name, err)
		}
		inv.Tools = append(inv.Tools, tool)
	}
	inv.Digest, err = digest(s, inv)
	return inv, err
}

// importVersion is part of the digest of an inventory: raise it when the same files give other tools.
const importVersion = "1"

// digest covers everything that the tools are made of.
func digest(s store.Source, inv store.Inventory) (string, error) {
	h := sha256.New()
	err := json.NewEncoder(h).Encode([]any{importVersion, s.Spec.Exclude, inv.Warnings, inv.Tools})
	return hex.EncodeToString(h.Sum(nil)), err
}

// Call implements source.Driver.
func (d driver) Call(ctx context.Context, r *source.Request, _ func(source.Notice)) (source.Reply, error) {
	k, err := d.skills.Of(ctx, r.Source.Tenant, r.Definition)
	if err != nil {
		return source.Reply{}, source.Unsent(err)
	}
	file, _ := r.Arguments["file"].(string) // the schema has checked the type
	text, err := k.load(file)
	if err != nil {
		return source.Reply{Result: source.Text(err.Error(), true)}, nil
	}
	return source.Reply{Result: source.Text(text, false)}, nil
}

// wrongError says what is wrong with a source that was read: reading it again does not help.
type wrongError string

// Error returns the text.
func (e wrongError) Error() string { return string(e) }

func wrong(format string, args ...any) error { return wrongError(fmt.Sprintf(format, args...)) }
