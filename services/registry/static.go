package registry

import (
	"cmp"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/protoyaml"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/api"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/registry/mcp"
	"github.com/windlass-dev/windlass/services/registry/sourcespec"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// SourceConfig is a source in the configuration: a source of the API, whose kind is mcp unless it says otherwise.
type SourceConfig struct {
	*registryv1.Source
	// Tenant owns the source; empty = default.
	Tenant string
}

// ReadNode implements config.Node.
func (c *SourceConfig) ReadNode(n *yaml.Node, bad func(line int, key, problem string)) {
	c.Source = &registryv1.Source{}
	r := protoyaml.Reader{
		Name: "source", Other: map[string]*string{"tenant": &c.Tenant}, Loose: true, RefuseReadOnly: true,
		ReadOnly: func(fd protoreflect.FieldDescriptor) bool {
			return fd.Name() == "id" && fd.ContainingMessage().Name() == "Source" || protoyaml.OutputOnly(fd)
		},
		Bad: func(line int, path, message string) bool { bad(line, path, message); return true },
	}
	r.Read(c.Source, n)
}

// MarshalYAML implements yaml.Marshaler.
func (c SourceConfig) MarshalYAML() (any, error) {
	out, err := protoyaml.Write(c.Source)
	if c.Tenant != "" && err == nil {
		out["tenant"] = c.Tenant
	}
	return out, err
}

// source converts an entry.
func (c SourceConfig) source() (store.Source, error) {
	s, err := api.SourceFromProto(c.Source)
	s.Tenant, s.Kind = cmp.Or(c.Tenant, authn.DefaultTenant), cmp.Or(s.Kind, mcp.Name)
	if err == nil {
		err = sourcespec.Validate(s)
	}
	if err == nil && !authn.ValidTenant(s.Tenant) {
		err = fmt.Errorf("tenant %q: use up to 63 letters, digits, hyphens and underscores", s.Tenant)
	}
	return s, err
}

// static returns the configured sources and the mesh's own, which belongs to the tenant of the mesh's operator.
func (c Config) static() ([]store.Source, error) {
	all := []store.Source{{Tenant: authn.DefaultTenant, Name: store.Mesh, Kind: builtin.Name}}
	type key struct{ tenant, name string }
	seen := map[key]bool{{authn.DefaultTenant, store.Mesh}: true}
	for _, sc := range c.Sources {
		s, err := sc.source()
		if err == nil && seen[key{s.Tenant, s.Name}] {
			err = errors.New("duplicate name")
		}
		if err != nil {
			return nil, fmt.Errorf("registry: source %q of the configuration: %w", sc.GetName(), err)
		}
		seen[key{s.Tenant, s.Name}] = true
		all = append(all, s)
	}
	return all, nil
}
