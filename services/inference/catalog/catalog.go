// Package catalog holds the providers, configured and detected, and what is known of their models: names, prices, limits, keys, and whether
// they can be reached.
package catalog

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/windlass-dev/windlass/services/inference/provider/feature"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/price"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/scripted"
)

// builtin is the provider that always exists.
const builtin = "builtin"

// Deps holds what a catalog needs; Egress, Log and Getenv are required.
type Deps struct {
	// Egress dials the providers.
	Egress *egress.Egress
	// ProviderData opens the credentials of requests; nil refuses them.
	ProviderData *providerdata.Sealer
	// Vault has stored secrets; nil refuses references to them.
	Vault envref.Vault
	// Log receives the providers that do not list their models.
	Log *slog.Logger
	// Getenv reads the environment, as os.Getenv does.
	Getenv func(string) string
}

// Model is a model of a provider.
type Model struct {
	// Provider has the model.
	Provider *Provider
	// Name is the model's name without the provider.
	Name string
	// Default reports whether requests that name no model get it.
	Default bool
}

// FullName returns the name as in requests: provider/model.
func (m Model) FullName() string { return m.Provider.Name + "/" + m.Name }

// Features returns what a model takes of requests.
func (c *Catalog) Features(m Model) feature.Row {
	host := ""
	if at, ok := m.Provider.Provider.(provider.Located); ok {
		host = at.Host()
	}
	row, sheet := feature.Of(m.Provider.Kind.Features, host, m.Name), c.Sheet(m)
	row.Output, row.OutputBesideTools = modes(sheet, row.Output), modes(sheet, row.OutputBesideTools)
	return row
}

// modes returns those of ways to answer in JSON that a sheet allows.
func modes(sheet provider.Sheet, all []feature.OutputMode) []feature.OutputMode {
	var out []feature.OutputMode
	for _, mode := range all {
		if mode == feature.OutputNative && !sheet.StructuredOutput || mode == feature.OutputTool && !sheet.Tools {
			continue
		}
		out = append(out, mode)
	}
	return out
}

// Catalog holds the providers. It is immutable and safe for concurrent use.
type Catalog struct {
	cfg       Config
	deps      Deps
	providers []*Provider // in order of preference, builtin last
	byDefault string
	prices    price.List
}

// New creates the configured providers, detects others and determines the default model: the configured one, else the first model of the
// first provider that has one. ctx bounds the detection, maxResponse the bytes read per answer. The configuration must be valid.
func New(ctx context.Context, cfg Config, maxResponse int64, deps Deps) (*Catalog, error) {
	found, err := detect(ctx, cfg, maxResponse, deps)
	if err != nil {
		return nil, err
	}
	own, err := scripted.Kind{}.New(provider.Config{})
	if err != nil {
		return nil, err
	}
	prices, err := loadPrices(cfg)
	if err != nil {
		return nil, err
	}
	c := &Catalog{cfg: cfg, deps: deps, byDefault: cfg.DefaultModel, prices: prices}
	c.providers = append(found, &Provider{Name: builtin, Kind: scripted.Kind{}.Traits(), preferred: scripted.ModelName, Provider: own})
	if c.byDefault == "" {
		first := c.providers[0]
		if first.preferred == "" {
			return nil, fmt.Errorf("provider %q: name at least one model in models, or set default_model", first.Name)
		}
		c.byDefault = first.Name + "/" + first.preferred
	}
	if _, err := c.Resolve(c.byDefault, codes.InvalidArgument); err != nil {
		return nil, fmt.Errorf("default_model: %w. %s", err, missing(c.byDefault))
	}
	return c, nil
}

// missing returns what to do if the default model's provider is missing.
func missing(name string) string {
	first, _, _ := strings.Cut(name, "/")
	if kind, err := kindOf(first); err == nil && kind.Traits().EnvPrefix != "" {
		return "Set " + kind.Traits().EnvPrefix + "_API_KEY"
	}
	return "Configure the provider in inference.providers"
}

// DefaultModel returns the full name of the model for requests that name none.
func (c *Catalog) DefaultModel() string { return c.byDefault }

// Names returns the names of the providers in order of preference.
func (c *Catalog) Names() []string {
	names := make([]string, 0, len(c.providers))
	for _, p := range c.providers {
		names = append(names, p.Name)
	}
	return names
}

// Resolve returns the model with a name, or the default for an empty name. A provider accepts any name, a built-in one only its own. The
// error has the given code and MODEL_UNKNOWN.
func (c *Catalog) Resolve(name string, code codes.Code) (Model, error) {
	if name == "" {
		name = c.byDefault
	}
	first, rest, _ := strings.Cut(name, "/")
	for _, p := range c.providers {
		if p.Name == first && rest != "" && (!p.Kind.BuiltIn || rest == p.Kind.DefaultModel) {
			return Model{Provider: p, Name: rest, Default: name == c.byDefault}, nil
		}
	}
	return Model{}, fault.New(code, faultv1.Reason_REASON_MODEL_UNKNOWN, "no model %q", name).
		Hint("Write provider/model. Providers: %s.", strings.Join(c.Names(), ", "))
}

// List returns all known models, the default first, then by name. It omits providers that do not answer.
func (c *Catalog) List(ctx context.Context) []Model {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	names := make([][]string, len(c.providers))
	var wg sync.WaitGroup
	for i, p := range c.providers {
		wg.Go(func() { names[i] = p.list(ctx, c.deps.Log) })
	}
	wg.Wait()
	seen := map[string]bool{}
	var all []Model
	add := func(m Model) {
		m.Default = m.FullName() == c.byDefault
		if !seen[m.FullName()] {
			seen[m.FullName()] = true
			all = append(all, m)
		}
	}
	if m, err := c.Resolve("", codes.NotFound); err == nil {
		add(m)
	}
	for i, p := range c.providers {
		if p.preferred != "" {
			add(Model{Provider: p, Name: p.preferred})
		}
		for _, name := range names[i] {
			add(Model{Provider: p, Name: name})
		}
	}
	slices.SortFunc(all[1:], func(a, b Model) int { return cmp.Compare(a.FullName(), b.FullName()) })
	return all
}
