package route

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
)

// Permission is the permission to have turns use a model, before the model's name. It needs no grant: a rule can deny it.
const Permission = "inference.models.use."

// Authorizer decides about permissions; it is an *authz.Authorizer.
type Authorizer interface {
	Decide(ctx context.Context, who *policyv1.Principal, permission string) (authz.Verdict, error)
}

// Policy asks whether principals may use models. The zero value allows all.
type Policy struct{ Authorizer Authorizer }

// Denied returns why a principal may not use a model, "" if it may. Without a principal, policy is not asked.
func (p Policy) Denied(ctx context.Context, who *policyv1.Principal, model string) (string, error) {
	if p.Authorizer == nil || who == nil {
		return "", nil
	}
	v, err := p.Authorizer.Decide(ctx, who, Permission+model)
	if err != nil || v.DeniedBy == "" {
		return "", err
	}
	return fmt.Sprintf("policy rule %q denies it", v.DeniedBy), nil
}

// Resolver resolves the models of turns. It is safe for concurrent use.
type Resolver struct {
	tables *tables
	models *catalog.Catalog
	policy Policy
}

// Deps are what a resolver works with. Models is required.
type Deps struct {
	Models *catalog.Catalog
	Policy Policy
	// Stored reads the routes of tenants; nil = there are only those of the configuration.
	Stored Reader
	// Log receives what keeps routes from being read; required with Stored.
	Log *slog.Logger
}

// NewResolver compiles the routes of the configuration and checks that there is a provider for each target.
func NewResolver(routes []Config, deps Deps) (*Resolver, error) {
	t, err := New(routes)
	if err != nil {
		return nil, err
	}
	r := &Resolver{models: deps.Models, policy: deps.Policy}
	for i, config := range routes {
		if wrong := r.unknownTarget(config); wrong != nil {
			return nil, fmt.Errorf("routes[%d]: %w", i, wrong)
		}
	}
	r.tables, err = newTables(t, deps)
	return r, err
}

// unknownTarget returns the first target that has no provider, nil if there is none.
func (r *Resolver) unknownTarget(c Config) *FieldError {
	for i, target := range c.Targets {
		if _, err := r.models.Resolve(target.Model, codes.InvalidArgument); err != nil {
			return mistake(fmt.Sprintf("targets[%d].model", i), "has no provider: %v", err)
		}
	}
	return nil
}

// Table returns the routes that apply to a tenant, with every change that was committed before the call. While the database cannot be read,
// they are those that were read last; if there are none, that is an error.
func (r *Resolver) Table(ctx context.Context, tenant string) (*Table, error) {
	return r.tables.of(ctx, tenant)
}

// Chain is the models that a turn calls.
type Chain struct {
	Choice
	// Targets are those of Picks that can be called; at least one.
	Targets []Target
	// Skipped are the others.
	Skipped []Pick
	// Revision is that of the routes.
	Revision string
}

// Target is a model of a chain.
type Target struct {
	Model  catalog.Model
	Reason string
}

// Resolve returns the models of a turn. Errors: NOT_FOUND/MODEL_UNKNOWN for an unknown model of the agent that has no known fallback, and
// PERMISSION_DENIED if all models are denied.
func (r *Resolver) Resolve(ctx context.Context, turn Turn) (Chain, error) {
	table, err := r.Table(ctx, turn.Principal.GetTenant())
	if err != nil {
		return Chain{}, err
	}
	if turn.Chosen {
		return r.chosen(ctx, table, turn)
	}
	c := Chain{Choice: table.Choose(turn), Revision: table.Revision()}
	var unknown, denied error
	seen := map[string]bool{}
	for _, pick := range c.Picks {
		m, err := r.models.Resolve(pick.Model, codes.NotFound)
		if err != nil {
			unknown = err
			c.Skipped = append(c.Skipped, Pick{pick.Model, "no provider has it"})
			continue
		}
		if seen[m.FullName()] {
			continue
		}
		seen[m.FullName()] = true
		why, err := r.policy.Denied(ctx, turn.Principal, m.FullName())
		switch {
		case err != nil:
			return Chain{}, fmt.Errorf("ask policy about %s: %w", m.FullName(), err)
		case why != "":
			c.Skipped = append(c.Skipped, Pick{m.FullName(), why})
			denied = notAllowed(m, why)
		default:
			c.Targets = append(c.Targets, Target{m, pick.Reason})
		}
	}
	switch {
	case len(c.Targets) > 0 || c.NeedsModalities:
		c.Targets = r.ableFirst(c.Targets, turn.Modalities)
		return c, nil
	case denied != nil:
		return Chain{}, denied
	}
	return Chain{}, unknown
}

// ableFirst moves targets that do not take images or sounds of the input behind those that do, as the call of the model does, which knows
// the types of files. If none takes them, the order stays.
func (r *Resolver) ableFirst(targets []Target, modalities []string) []Target {
	var able, unable []Target
	for _, t := range targets {
		input := catalog.Input(r.models.Sheet(t.Model))
		i := slices.IndexFunc(modalities, func(m string) bool { return (m == "image" || m == "audio") && !slices.Contains(input, m) })
		if i < 0 {
			able = append(able, t)
			continue
		}
		t.Reason += ", after those that take " + modalities[i]
		unable = append(unable, t)
	}
	if len(able) == 0 {
		return targets
	}
	return append(able, unable...)
}

// chosen returns the chain of a model that the turn's caller chose. If a route matches, the model must be one of its targets.
func (r *Resolver) chosen(ctx context.Context, table *Table, turn Turn) (Chain, error) {
	m, err := r.models.Resolve(turn.Model, codes.NotFound)
	if err != nil {
		return Chain{}, err
	}
	why, err := r.policy.Denied(ctx, turn.Principal, m.FullName())
	switch {
	case err != nil:
		return Chain{}, fmt.Errorf("ask policy about %s: %w", m.FullName(), err)
	case why != "":
		return Chain{}, notAllowed(m, why)
	}
	turn.Fallbacks = nil
	c := table.Choose(turn)
	if c.NeedsModalities {
		return Chain{Choice: c, Revision: table.Revision()}, nil
	}
	var names []string
	for _, pick := range c.Picks {
		if target, err := r.models.Resolve(pick.Model, codes.NotFound); err == nil {
			names = append(names, target.FullName())
		}
	}
	if c.Route != "" && !slices.Contains(names, m.FullName()) {
		return Chain{}, fault.Invalid("model", "%s is no target of route %q, which applies to the turn: it has %s", m.FullName(), c.Route,
			strings.Join(names, ", ")).Hint("Choose one of these, or leave out the model.")
	}
	return Chain{
		Choice: Choice{Route: c.Route, Origin: c.Origin}, Targets: []Target{{m, "chosen for the turn"}}, Revision: table.Revision(),
	}, nil
}

func notAllowed(m catalog.Model, why string) error {
	return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "no model may be used: %s: %s", m.FullName(), why).
		Hint("Ask an operator for a model that you may use.")
}
