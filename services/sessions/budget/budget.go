// Package budget keeps budgets and accounts turns against them.
//
// A budget limits what the turns of a tenant, subject, session or agent use together: tokens, money, tool calls. The limits of a
// single turn are kept in the same way, as a budget with the turn's id. A step reserves what it may use before it begins and
// settles what it used when it is committed, each in the transaction of the claim or the commit, so that steps which run at the
// same time cannot spend the same amount twice.
package budget

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

// DefaultWarnAt is the part of a limit at which turns get a warning, in percent, unless the budget says otherwise.
const DefaultWarnAt = 80

// Deps are what the service needs; all are required.
type Deps struct {
	// Store keeps the budgets.
	Store *store.Store
	// Prompts estimates what model steps read.
	Prompts Prompts
	// CheckSession returns nil if the caller may see a session.
	CheckSession func(ctx context.Context, id string) error
	// CheckAgent returns nil if there is an agent with an id.
	CheckAgent func(ctx context.Context, id string) error
	// OutputTokens is what a model call may write when its agent does not say.
	OutputTokens int64
}

// Prompts estimates prompts.
type Prompts interface {
	// ConversationTokens estimates how many tokens of conversation a model step of the turn reads now, without instructions and tools.
	ConversationTokens(tx *journal.Tx, t store.Turn) (int64, error)
}

// Service keeps budgets. It is safe for concurrent use.
type Service struct{ deps Deps }

// New returns the service.
func New(deps Deps) *Service { return &Service{deps: deps} }

// Spec is what the owner of a budget sets.
type Spec struct {
	// Scope and Target say whose turns the budget is for, Period when it starts again. They do not change.
	Scope  budgetdb.BudgetScope
	Target string
	Period budgetdb.BudgetPeriod
	// Max are the limits, 0 for none; at least one is set.
	Max budgetdb.Amount
	// WarnAt is the part of a limit at which turns get a warning, in percent; 0 stands for DefaultWarnAt.
	WarnAt int64
}

func errNotFound(id string) error { return fault.NotFound("budget %q does not exist", id) }

// Create adds a budget for the caller's tenant.
func (s *Service) Create(ctx context.Context, spec Spec) (budgetdb.Budget, error) {
	now := s.deps.Store.Now()
	b := budgetdb.Budget{
		Tenant: authn.Tenant(ctx), ID: ids.New(ids.Budget), Scope: spec.Scope, Target: spec.Target, Period: spec.Period, CreateTime: now,
		UpdateTime: now,
	}
	if b.Period == "" {
		b.Period = budgetdb.PeriodNone
	}
	b.PeriodStart = periodStart(b.Period, now)
	wrong := setLimits(&b, spec)
	switch {
	case b.Scope == "":
		wrong = append(wrong, fault.Field{Path: "budget.scope", Message: "say whose turns it is for: tenant, subject, session or agent"})
	case b.Scope == budgetdb.ScopeTenant && b.Target != "":
		wrong = append(wrong, fault.Field{Path: "budget.target", Message: "must be empty for the scope tenant"})
	case b.Scope != budgetdb.ScopeTenant && (b.Target == "" || !access.Storable(b.Target)):
		wrong = append(wrong, fault.Field{Path: "budget.target", Message: "name the " + string(b.Scope)})
	}
	if len(wrong) > 0 {
		return b, fault.InvalidFields(wrong)
	}
	if b.Scope == budgetdb.ScopeAgent {
		err := s.deps.CheckAgent(ctx, b.Target)
		if fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
			err = fault.Invalid("budget.target", "there is no agent %q", b.Target).Hint("Create it first: POST /v1/agents.")
		}
		if err != nil {
			return b, err
		}
	}
	if b.Scope == budgetdb.ScopeSession {
		if err := s.deps.CheckSession(ctx, b.Target); err != nil {
			return b, err
		}
	}
	return b, s.deps.Store.Write(ctx, func(tx *store.Tx) error { return tx.AddBudget(ctx, b) })
}

// setLimits sets the limits of a budget and returns what is wrong with them.
func setLimits(b *budgetdb.Budget, spec Spec) []fault.Field {
	b.Max, b.WarnAt = spec.Max, spec.WarnAt
	if b.WarnAt == 0 {
		b.WarnAt = DefaultWarnAt
	}
	if b.Max == (budgetdb.Amount{}) {
		return []fault.Field{{Path: "budget", Message: "limits nothing: set max_tokens, max_cost or max_tool_calls"}}
	}
	return nil
}

// Get returns a budget of the caller's tenant.
func (s *Service) Get(ctx context.Context, id string) (budgetdb.Budget, error) {
	if !access.Storable(id) {
		return budgetdb.Budget{}, errNotFound(id)
	}
	b, err := s.deps.Store.Budget(ctx, authn.Tenant(ctx), id)
	if errors.Is(err, store.ErrNotFound) {
		err = errNotFound(id)
	}
	startPeriod(&b, s.deps.Store.Now())
	return b, err
}

// List returns at most limit budgets of the caller's tenant in the order of their ids, from the one after the given id on.
func (s *Service) List(ctx context.Context, after string, limit int) ([]budgetdb.Budget, error) {
	rows, err := s.deps.Store.Budgets(ctx, authn.Tenant(ctx), after, limit)
	now := s.deps.Store.Now()
	for i := range rows {
		startPeriod(&rows[i], now)
	}
	return rows, err
}

// Update changes a budget. change gets it as it is and sets the limits to have; it may run more than once.
func (s *Service) Update(ctx context.Context, id string, change func(*Spec) error) (b budgetdb.Budget, err error) {
	err = s.locked(ctx, id, func(tx *store.Tx, found budgetdb.Budget) error {
		b = found
		b.UpdateTime = s.deps.Store.Now()
		startPeriod(&b, b.UpdateTime)
		spec := Spec{Scope: b.Scope, Target: b.Target, Period: b.Period, Max: b.Max, WarnAt: b.WarnAt}
		if err := change(&spec); err != nil {
			return err
		}
		if wrong := setLimits(&b, spec); len(wrong) > 0 {
			return fault.InvalidFields(wrong)
		}
		return tx.SaveBudget(ctx, b)
	})
	return b, err
}

// Delete deletes a budget. What steps hold of it is released.
func (s *Service) Delete(ctx context.Context, id string) error {
	return s.locked(ctx, id, func(tx *store.Tx, b budgetdb.Budget) error { return tx.DeleteBudget(ctx, b.Tenant, b.ID) })
}

// locked calls f with a budget of the caller's tenant that stays locked until f returns.
func (s *Service) locked(ctx context.Context, id string, f func(*store.Tx, budgetdb.Budget) error) error {
	if !access.Storable(id) {
		return errNotFound(id)
	}
	err := s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		b, err := tx.LockBudget(ctx, authn.Tenant(ctx), id)
		if err != nil {
			return err
		}
		return f(tx, b)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = errNotFound(id)
	}
	return err
}
