package route

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/condition"
	"github.com/windlass-dev/windlass/libs/regexsize"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/inference/store"
)

// cost limits the work of evaluating one condition, in CEL's own units.
const cost = 20_000

// Origin is where a route is kept.
type Origin int

// Origins.
const (
	// Configuration is the configuration: the route applies to all tenants.
	Configuration Origin = iota + 1
	// Stored is the database: the route was created with the API and applies to its tenant.
	Stored
)

// String returns the words for a reason.
func (o Origin) String() string {
	if o == Configuration {
		return "of the configuration"
	}
	return "of the tenant"
}

// Table holds the routes that apply to a tenant. It is immutable and safe for concurrent use.
type Table struct {
	env      *condition.Env
	routes   []compiled // in the order in which they are evaluated
	revision string
}

// compiled is a route.
type compiled struct {
	Config
	origin     Origin
	priority   int32                // of a stored one
	when       *condition.Condition // nil = it always matches
	modalities bool                 // the condition reads the modalities
}

// New compiles the routes of a configuration. It returns all mistakes at once.
func New(routes []Config) (*Table, error) {
	env, err := condition.New(condition.Config{
		Messages: []proto.Message{&policyv1.Principal{}},
		Variables: []cel.EnvOption{
			cel.Variable("agent", cel.StringType),
			cel.Variable("model", cel.StringType),
			cel.Variable("tenant", cel.StringType),
			cel.Variable("principal", cel.ObjectType("windlass.policy.v1.Principal")),
			cel.Variable("modalities", cel.ListType(cel.StringType)),
			cel.Variable("size", cel.IntType),
		},
		Want: `true or false, for example "image" in modalities`, Cost: cost,
	})
	if err != nil {
		return nil, err
	}
	var all []compiled
	var errs []error
	names := map[string]bool{}
	for i, r := range routes {
		made, wrong := compile(env, r, Configuration)
		if wrong == nil && names[r.Name] {
			wrong = mistake("name", "%q is taken", r.Name)
		}
		if wrong != nil {
			errs = append(errs, fmt.Errorf("routes[%d]: %w", i, wrong))
		}
		names[r.Name] = true
		all = append(all, made)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return newTable(env, all)
}

// rank orders routes of different origins: those of the configuration come first, except default ones, which come last.
func (c Config) rank(from Origin) int {
	switch {
	case from == Stored:
		return 1
	case c.Default:
		return 2
	}
	return 0
}

// newTable orders routes and makes their revision.
func newTable(env *condition.Env, routes []compiled) (*Table, error) {
	slices.SortStableFunc(routes, func(a, b compiled) int {
		return cmp.Or(cmp.Compare(a.rank(a.origin), b.rank(b.origin)), cmp.Compare(b.priority, a.priority))
	})
	t := &Table{env: env, routes: routes}
	text, err := json.Marshal(t.configs())
	if err != nil {
		return nil, fmt.Errorf("encode routes: %w", err)
	}
	sum := sha256.Sum256(text)
	t.revision = hex.EncodeToString(sum[:6])
	return t, nil
}

// With returns a table that also has the routes of a tenant, which are ordered by name, except disabled ones. One that a newer version of
// the software does not accept any more is left out, and returned with the reason.
func (t *Table) With(stored []store.Route) (*Table, map[string]error, error) {
	all := slices.Clone(t.routes)
	broken := map[string]error{}
	for _, r := range stored {
		if r.Spec.Disabled {
			continue
		}
		made, wrong := compile(t.env, configOf(r), Stored)
		if wrong != nil {
			broken[r.Name] = wrong
			continue
		}
		made.priority = r.Spec.Priority
		all = append(all, made)
	}
	out, err := newTable(t.env, all)
	return out, broken, err
}

// configOf returns what a stored route says.
func configOf(r store.Route) Config {
	c := Config{Name: r.Name, When: r.Spec.When, SwitchOnFilter: r.Spec.SwitchOnFilter}
	for _, target := range r.Spec.Targets {
		c.Targets = append(c.Targets, TargetConfig{Model: target.Model, Weight: int(target.Weight)})
	}
	return c
}

// compile returns a route that can be evaluated, or its first mistake.
func compile(env *condition.Env, r Config, from Origin) (compiled, *FieldError) {
	out := compiled{Config: r, origin: from}
	if wrong := r.check(); wrong != nil {
		return out, wrong
	}
	if r.When == "" {
		return out, nil
	}
	var err error
	out.when, err = env.Compile(r.When, func(ast *celast.AST) error {
		var size int
		var wrong error
		celast.PostOrderVisit(ast.Expr(), celast.NewExprVisitor(func(e celast.Expr) {
			out.modalities = out.modalities || e.Kind() == celast.IdentKind && e.AsIdent() == "modalities"
			if n, err := patternSize(e); err != nil {
				wrong = err
			} else {
				size += n
			}
		}))
		if wrong == nil && size > maxCompiled {
			wrong = fmt.Errorf("its patterns are too large when they are compiled (%d instructions, %d are possible)", size, maxCompiled)
		}
		return wrong
	})
	if err != nil {
		return out, mistake("when", "does not compile: %v", err)
	}
	return out, nil
}

// patternSize returns to what the patterns of a call of matches are compiled, 0 for another expression. CEL compiles them at each
// evaluation.
func patternSize(e celast.Expr) (total int, err error) {
	if e.Kind() != celast.CallKind || e.AsCall().FunctionName() != "matches" {
		return 0, nil
	}
	for _, arg := range e.AsCall().Args() {
		if arg.Kind() != celast.LiteralKind {
			continue
		}
		if text, ok := arg.AsLiteral().Value().(string); ok {
			size, err := regexsize.Of(text)
			if err != nil {
				return 0, fmt.Errorf("a pattern is no regular expression (RE2): %w", err)
			}
			total += size.Instructions + size.Ranges
		}
	}
	return total, nil
}

// Revision identifies the routes: it changes with them.
func (t *Table) Revision() string { return t.revision }

// configs returns the routes in the order in which they are evaluated.
func (t *Table) configs() []Config {
	out := make([]Config, len(t.routes))
	for i, r := range t.routes {
		out[i] = r.Config
	}
	return out
}

// Turn is what a route can depend on.
type Turn struct {
	// Agent is the agent's ID; Model ("" = the default) and Fallbacks are its models.
	Agent, Model string
	Fallbacks    []string
	// Principal is for whom the turn runs.
	Principal *policyv1.Principal
	// Session decides between targets with weights.
	Session string
	// Modalities are those of the input; empty = unknown.
	Modalities []string
	// Size is about how many tokens the conversation has.
	Size int64
	// Chosen: the turn's caller chose Model, which is the only one.
	Chosen bool
}

// Choice is the models of a turn.
type Choice struct {
	// Route is the route that matched, "" if none did, and Origin where it is kept.
	Route  string
	Origin Origin
	// Picks are the models in the order in which they are called.
	Picks []Pick
	// SwitchOnFilter requests an answer that a content filter ended from the next model.
	SwitchOnFilter bool
	// NeedsModalities: the modalities of the turn are unknown, and a route depends on them. Nothing else is set.
	NeedsModalities bool
}

// Pick is a model, and why it is there.
type Pick struct{ Model, Reason string }

// Choose returns the models of a turn.
func (t *Table) Choose(turn Turn) Choice {
	if len(t.routes) > 0 {
		variables := map[string]any{
			"agent": turn.Agent, "model": turn.Model, "tenant": turn.Principal.GetTenant(), "principal": turn.Principal,
			"modalities": turn.Modalities, "size": turn.Size,
		}
		for _, r := range t.routes {
			if r.modalities && len(turn.Modalities) == 0 {
				return Choice{NeedsModalities: true}
			}
			if r.matches(variables) {
				return r.choice(turn)
			}
		}
	}
	out := Choice{Picks: []Pick{{turn.Model, "the agent's model"}}}
	if turn.Model == "" {
		out.Picks[0].Reason = "the default model: the agent names none"
	}
	for i, m := range turn.Fallbacks {
		out.Picks = append(out.Picks, Pick{m, fmt.Sprintf("fallback %d of the agent", i+1)})
	}
	return out
}

// matches reports whether the condition holds. One that cannot be evaluated, for example because a claim is missing, does not.
func (r compiled) matches(variables map[string]any) bool {
	if r.when == nil {
		return true
	}
	yes, err := r.when.Eval(variables)
	return yes && err == nil
}

// choice orders the targets of a route that matches.
func (r compiled) choice(turn Turn) Choice {
	out := Choice{Route: r.Name, Origin: r.origin, SwitchOnFilter: r.SwitchOnFilter}
	targets := slices.Clone(r.Targets)
	slices.SortStableFunc(targets, func(a, b TargetConfig) int {
		return cmp.Compare(draw(turn.Session, b), draw(turn.Session, a))
	})
	for i, target := range targets {
		reason := fmt.Sprintf("route %q %s, target %d", r.Name, r.origin, i+1)
		if target.Weight > 0 {
			reason += fmt.Sprintf(", drawn for the session with weight %d", target.Weight)
		}
		out.Picks = append(out.Picks, Pick{target.Model, reason})
	}
	return out
}

// draw returns the rank of a target in a session, by weighted rendezvous hashing: each session has its own order, which stays when other
// targets come and go, and each target is first in the share of the sessions that its weight says. It is -Inf without a weight.
func draw(session string, t TargetConfig) float64 {
	if t.Weight == 0 {
		return math.Inf(-1)
	}
	sum := sha256.Sum256([]byte(session + "\x00" + t.Model))
	const bits = 53
	u := (float64(binary.BigEndian.Uint64(sum[:8])>>(64-bits)) + 0.5) / (1 << bits)
	return -float64(t.Weight) / math.Log(u)
}
