package sessions

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/bundle"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// What became of a document.
const (
	created   = "created"
	updated   = "updated"
	unchanged = "unchanged"
)

// ApplyBundle implements AgentService. An agent becomes exactly what its document says; of a source only the fields change that its document has.
// Sources come first, then all else in one transaction.
func (s *Service) ApplyBundle(ctx context.Context, req *sessionsv1.ApplyBundleRequest) (*sessionsv1.ApplyBundleResponse, error) {
	docs, err := bundle.Parse(req.GetYaml())
	if err != nil {
		return nil, err
	}
	if err := s.checkBundle(ctx, docs); err != nil {
		return nil, err
	}
	applied, err := s.applyOnce(ctx, docs, req.GetDryRun())
	for attempt := 1; raced(err) && attempt < applyAttempts; attempt++ {
		before := applied
		applied, err = s.applyOnce(ctx, docs, req.GetDryRun())
		keepActions(applied, before)
	}
	if err != nil {
		return nil, err
	}
	return &sessionsv1.ApplyBundleResponse{Applied: applied}, nil
}

// applyAttempts bounds how often a bundle is compared with what there is, and applied, while others change the same.
const applyAttempts = 5

// raced tells whether somebody else was faster, so that a bundle has to be compared with what there is now.
func raced(err error) bool {
	return fault.Is(err, faultv1.Reason_REASON_CONFLICT) || fault.Is(err, faultv1.Reason_REASON_ALREADY_EXISTS)
}

// keepActions has the answer tell of the sources that an attempt wrote before it failed.
func keepActions(applied, before []*sessionsv1.Applied) {
	if len(applied) != len(before) {
		return
	}
	for i, a := range before {
		if a.GetKind() == bundle.Source && applied[i].GetAction() == unchanged {
			applied[i].Action = a.GetAction()
		}
	}
}

// applyOnce compares a bundle with what there is, and applies it unless it is a dry run. All documents are checked before the first is
// written. After a conflict it may have written sources; the entries tell which.
func (s *Service) applyOnce(ctx context.Context, docs []*bundle.Document, dry bool) ([]*sessionsv1.Applied, error) {
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
	s.schedules.Changed()
	return applied, err
}

// errTried rolls back what a dry run has written.
var errTried = errors.New("nothing is to be kept")

// applyDocs does what the documents say, or only finds out what would come of it: then schedules and webhooks are written and taken back, because what
// they may be together shows only so.
func (s *Service) applyDocs(ctx context.Context, docs []*bundle.Document, plans []planned, dry bool) ([]*sessionsv1.Applied, error) {
	applied, err := s.applySources(ctx, docs, dry)
	if err != nil {
		return nil, err
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		for i, d := range docs {
			var err error
			switch d.Kind {
			case bundle.Agent:
				err = s.applyAgent(ctx, tx, d.Agent, applied[i], dry)
			case bundle.Schedule, bundle.Webhook:
				err = plans[i].carryOut(ctx, tx, d, applied[i])
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
	for _, a := range applied {
		a.Secret = "" // of a webhook that is not there
	}
	return applied, nil
}

// Bounds of a bundle's contents: the mistakes that are looked for, each of which may have cost a request, and the approval rules of all its agents.
const (
	maxBundleMistakes = 100
	maxBundleRules    = 1000
)

// checkBundle checks the documents' contents, each mistake with its place. Others are asked about a bundle only if it is good by itself, and about
// each group and agent once: lists are bounded then, and names repeated in a thousand agents cost nothing.
func (s *Service) checkBundle(ctx context.Context, docs []*bundle.Document) error {
	if err := s.checkAlone(docs); err != nil {
		return err
	}
	var here []string
	rules := 0
	for _, d := range docs {
		if d.Kind == bundle.Agent {
			here = append(here, d.ID())
		}
		if rules += len(d.Agent.GetApprovals()); rules > maxBundleRules {
			return fault.Invalid("yaml", "holds more than %d approval rules", maxBundleRules).Hint("Apply it in several bundles.")
		}
	}
	var wrong []fault.Field
	known := agent.Known(here...)
	for _, d := range docs {
		if d.Kind != bundle.Agent {
			continue
		}
		asked, err := s.agents.CheckReferences(ctx, "", convert.AgentFromProto(d.Agent), known)
		if err != nil {
			return err
		}
		if wrong = append(wrong, placed(d, asked)...); len(wrong) > maxBundleMistakes {
			break
		}
	}
	return firstMistakes(wrong)
}

// firstMistakes makes an error of mistakes, nil for none; of very many it tells the first.
func firstMistakes(wrong []fault.Field) error {
	if len(wrong) > maxBundleMistakes {
		wrong = append(wrong[:maxBundleMistakes:maxBundleMistakes], fault.Field{Path: "yaml", Message: "there are more mistakes"})
	}
	if len(wrong) == 0 {
		return nil
	}
	return fault.InvalidFields(wrong)
}

// checkAlone finds what is wrong with the documents whatever there is elsewhere.
func (s *Service) checkAlone(docs []*bundle.Document) error {
	var wrong []fault.Field
	for _, d := range docs {
		found := convert.Violations(s.validator, "", d.Message())
		missing := func(field, message string) { found = append(found, fault.Field{Path: field, Message: message}) }
		switch {
		case d.Kind == bundle.Agent:
			found = append(found, s.agents.Check("", convert.AgentFromProto(d.Agent))...)
		case d.Kind == bundle.Source:
			if d.ID() == "" {
				missing("name", "is required")
			}
		case d.ID() == "":
			missing("id", "is required: it tells the next time that this is the same "+d.Kind)
		case d.Kind == bundle.Schedule && d.Schedule.GetAgentId() == "" && d.Schedule.GetSessionId() == "":
			missing("agent_id", "name the agent (or a session_id): a bundle must mean the same wherever it is applied")
		}
		if wrong = append(wrong, placed(d, found)...); len(wrong) > maxBundleMistakes {
			break
		}
	}
	return firstMistakes(wrong)
}

// placed gives mistakes their places in a document, in its own words.
func placed(d *bundle.Document, found []fault.Field) []fault.Field {
	out := make([]fault.Field, len(found))
	for i, f := range found {
		if d.Kind == bundle.Source && f.Path == "kind" {
			f.Path = bundle.SourceKind
		}
		out[i] = fault.Field{Path: d.Place(f.Path), Message: f.Message}
	}
	return out
}

func (s *Service) applyAgent(ctx context.Context, tx *store.Tx, want *sessionsv1.Agent, out *sessionsv1.Applied, dry bool) error {
	outcome, revision, err := s.agents.Put(ctx, tx, want.GetId(), convert.AgentFromProto(want), dry)
	out.Action, out.Revision = string(outcome), revision
	return err
}

// applySources creates or updates the sources, or only checks them. It gives an entry for each document; only those of sources are
// finished.
func (s *Service) applySources(ctx context.Context, docs []*bundle.Document, dry bool) ([]*sessionsv1.Applied, error) {
	applied := make([]*sessionsv1.Applied, len(docs))
	var wrong []fault.Field
	for i, d := range docs {
		applied[i] = &sessionsv1.Applied{Kind: d.Kind, Id: d.ID(), Action: unchanged}
		if d.Kind != bundle.Source {
			continue
		}
		err := s.applySource(ctx, d, applied[i], dry)
		if err == nil {
			continue
		}
		found, err := mistakes(d, err)
		if err != nil {
			return nil, err
		}
		wrong = append(wrong, found...)
	}
	if len(wrong) > 0 {
		return nil, fault.InvalidFields(wrong)
	}
	return applied, nil
}

// applySource creates or updates a source at the registry, in the name of the caller. A dry run has the registry check it.
func (s *Service) applySource(ctx context.Context, d *bundle.Document, out *sessionsv1.Applied, dry bool) error {
	old, err := s.registry.GetSource(ctx, &registryv1.GetSourceRequest{SourceId: d.Source.GetName()})
	switch {
	case fault.Is(err, faultv1.Reason_REASON_NOT_FOUND):
		out.Action, out.Revision = created, 1
		made, err := s.registry.CreateSource(ctx, &registryv1.CreateSourceRequest{Source: d.Source, ValidateOnly: dry})
		if err != nil || dry {
			return err
		}
		out.Revision, out.Warning = made.GetRevision(), sourceWarning(made)
		return nil
	case err != nil:
		return err
	}
	mask := changedFields(d, old)
	out.Revision, out.Warning = old.GetRevision(), sourceWarning(old)
	if len(mask) == 0 {
		return nil
	}
	out.Action = updated
	want := proto.CloneOf(d.Source)
	want.Id = old.GetId()
	now, err := s.registry.UpdateSource(ctx, &registryv1.UpdateSourceRequest{
		Source: want, UpdateMask: &fieldmaskpb.FieldMask{Paths: mask}, ValidateOnly: dry,
	})
	if err != nil || dry {
		return err
	}
	out.Revision, out.Warning = now.GetRevision(), sourceWarning(now)
	return nil
}

// changedFields names the document's fields whose value is another than the source's.
func changedFields(d *bundle.Document, old *registryv1.Source) []string {
	var mask []string
	want, have := d.Source.ProtoReflect(), old.ProtoReflect()
	for _, name := range d.Fields {
		fd := want.Descriptor().Fields().ByName(protoreflect.Name(name))
		if !want.Get(fd).Equal(have.Get(fd)) {
			mask = append(mask, name)
		}
	}
	return mask
}

func sourceWarning(src *registryv1.Source) string {
	if src.GetState() != "unreachable" {
		return ""
	}
	return fmt.Sprintf("source %s cannot be reached now: %s", src.GetName(), src.GetLastError())
}
