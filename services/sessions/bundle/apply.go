package bundle

import (
	"context"
	"errors"
	"slices"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Apply creates and updates what the documents of a bundle say, and returns an entry for each of them in their order. An agent
// becomes exactly what its document says, and so do a group, a policy and a route; of a source only the fields change that its document
// has. Sources, groups, policies and routes come first, then all else in one transaction. A dry run only reports what would happen.
func (s *Service) Apply(ctx context.Context, text string, dry bool) ([]Applied, error) {
	docs, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if err := s.check(ctx, docs); err != nil {
		return nil, err
	}
	applied, err := s.applyOnce(ctx, docs, dry)
	for attempt := 1; raced(err) && attempt < applyAttempts; attempt++ {
		before := applied
		applied, err = s.applyOnce(ctx, docs, dry)
		keepActions(applied, before)
	}
	if err != nil {
		return nil, err
	}
	s.warn(ctx, docs, applied)
	return applied, nil
}

// applyAttempts bounds how often a bundle is compared with what there is, and applied, while others change the same.
const applyAttempts = 5

// raced reports whether another caller was faster, so that a bundle has to be compared with what there is now.
func raced(err error) bool {
	return fault.Is(err, faultv1.Reason_REASON_CONFLICT) || fault.Is(err, faultv1.Reason_REASON_ALREADY_EXISTS)
}

// keepActions has the response list the sources, groups, policies and routes that an attempt wrote before it failed.
func keepActions(applied, before []Applied) {
	if len(applied) != len(before) {
		return
	}
	for i, a := range before {
		if slices.Contains([]string{Source, Group, Policy, Route}, a.Kind) && applied[i].Action == Unchanged {
			applied[i].Action = a.Action
		}
	}
}

// applyOnce compares a bundle with what there is, and applies it unless it is a dry run. All documents are checked before the first is
// written. After a conflict it may have written sources; the entries say which.
func (s *Service) applyOnce(ctx context.Context, docs []*Document, dry bool) ([]Applied, error) {
	plans, err := s.plan(ctx, docs)
	if err != nil {
		return nil, err
	}
	applied, err := s.applyDocs(ctx, docs, plans, true)
	if err != nil {
		return nil, err
	}
	if dry {
		return applied, nil
	}
	applied, err = s.applyDocs(ctx, docs, plans, false)
	s.deps.Schedules.Changed()
	return applied, err
}

// errTried rolls back what a dry run has written.
var errTried = errors.New("nothing is to be kept")

// applyDocs does what the documents say, or only finds out what would come of it: then schedules and webhooks are written and
// taken back, because what they may be together shows only so.
func (s *Service) applyDocs(ctx context.Context, docs []*Document, plans []planned, dry bool) ([]Applied, error) {
	applied, err := s.applyTools(ctx, docs, dry)
	if err != nil {
		return nil, err
	}
	err = s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		for i, d := range docs {
			var err error
			switch d.Kind {
			case Agent:
				err = s.applyAgent(ctx, tx, d.Agent, &applied[i], dry)
			case Schedule, Webhook:
				err = plans[i].carryOut(ctx, tx, d, &applied[i])
			}
			if err != nil {
				return err
			}
		}
		if dry {
			return errTried
		}
		return nil
	})
	if !errors.Is(err, errTried) {
		return applied, err
	}
	for i := range applied {
		applied[i].Secret = secret.Value{} // of a webhook that is not there
	}
	return applied, nil
}

func (s *Service) applyAgent(ctx context.Context, tx *store.Tx, want *sessionsv1.Agent, out *Applied, dry bool) error {
	outcome, revision, err := s.deps.Agents.Put(ctx, tx, want.GetId(), convert.AgentFromProto(want), dry)
	out.Action, out.Revision = Action(outcome), revision
	return err
}
