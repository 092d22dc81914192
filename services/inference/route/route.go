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
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// cost limits the work of evaluating one condition, in CEL's own units.
const cost = 20_000

// Table holds the routes. It is immutable and safe for concurrent use.
type Table struct {
	routes   []compiled
	revision string
}

// compiled is a route.
type compiled struct {
	Config
	when       *condition.Condition // nil = it always matches
	modalities bool                 // the condition reads the modalities
}

// New compiles routes. It returns all mistakes at once.
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
	t := &Table{}
	var errs []error
	names := map[string]bool{}
	for i, r := range routes {
		made, err := compile(env, r)
		if err == nil && names[r.Name] {
			err = fmt.Errorf("the name %q is taken", r.Name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("routes[%d]: %w", i, err))
		}
		names[r.Name] = true
		t.routes = append(t.routes, made)
	}
	text, err := json.Marshal(routes)
	if err != nil {
		errs = append(errs, err)
	}
	sum := sha256.Sum256(text)
	t.revision = hex.EncodeToString(sum[:6])
	return t, errors.Join(errs...)
}

func compile(env *condition.Env, r Config) (compiled, error) {
	out := compiled{Config: r}
	if err := r.check(); err != nil {
		return out, err
	}
	if r.When == "" {
		return out, nil
	}
	var err error
	out.when, err = env.Compile(r.When, func(ast *celast.AST) error {
		celast.PostOrderVisit(ast.Expr(), celast.NewExprVisitor(func(e celast.Expr) {
			out.modalities = out.modalities || e.Kind() == celast.IdentKind && e.AsIdent() == "modalities"
		}))
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("when: %w", err)
	}
	return out, nil
}

// Revision identifies the routes: it changes with them.
func (t *Table) Revision() string { return t.revision }

// Routes returns the routes in the order in which they are evaluated. They must not be modified.
func (t *Table) Routes() []Config {
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
	// Route is the route that matched, "" if none did.
	Route string
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
	out := Choice{Route: r.Name, SwitchOnFilter: r.SwitchOnFilter}
	targets := slices.Clone(r.Targets)
	slices.SortStableFunc(targets, func(a, b TargetConfig) int {
		return cmp.Compare(draw(turn.Session, b), draw(turn.Session, a))
	})
	for i, target := range targets {
		reason := fmt.Sprintf("route %q, target %d", r.Name, i+1)
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
