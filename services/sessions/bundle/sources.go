package bundle

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// applyTools creates or updates what other services keep (sources, groups, policies and routes), or only checks it. It gives an entry for
// each document; only those of these kinds are finished.
func (s *Service) applyTools(ctx context.Context, docs []*Document, dry bool) ([]Applied, error) {
	applied := make([]Applied, len(docs))
	var wrong []fault.Field
	for i, d := range docs {
		applied[i] = Applied{Kind: d.Kind, ID: d.ID(), Action: Unchanged}
		var err error
		switch d.Kind {
		case Source:
			err = s.applySource(ctx, d, &applied[i], dry)
		case Group:
			err = s.applyGroup(ctx, d, &applied[i], dry)
		case Policy:
			err = s.applyPolicy(ctx, d, &applied[i], dry)
		case Route:
			err = s.applyRoute(ctx, d, &applied[i], dry)
		}
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
func (s *Service) applySource(ctx context.Context, d *Document, out *Applied, dry bool) error {
	old, err := s.deps.Sources.GetSource(ctx, &registryv1.GetSourceRequest{SourceId: d.Source.GetName()})
	switch {
	case fault.Is(err, faultv1.Reason_REASON_NOT_FOUND):
		out.Action, out.Revision = Created, 1
		made, err := s.deps.Sources.CreateSource(ctx, &registryv1.CreateSourceRequest{Source: d.Source, ValidateOnly: dry})
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
	out.Action = Updated
	want := proto.CloneOf(d.Source)
	want.Id = old.GetId()
	now, err := s.deps.Sources.UpdateSource(ctx, &registryv1.UpdateSourceRequest{
		Source: want, UpdateMask: &fieldmaskpb.FieldMask{Paths: mask}, ValidateOnly: dry,
	})
	if err != nil || dry {
		return err
	}
	out.Revision, out.Warning = now.GetRevision(), sourceWarning(now)
	return nil
}

// changedFields names the document's fields whose value is another than the source's.
func changedFields(d *Document, old *registryv1.Source) []string {
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
	switch src.GetState() {
	case registryv1.SourceState_SOURCE_STATE_UNREACHABLE:
		return fmt.Sprintf("source %s cannot be reached now: %s", src.GetName(), src.GetLastError())
	case registryv1.SourceState_SOURCE_STATE_INVALID:
		return fmt.Sprintf("source %s yields no tools: %s", src.GetName(), src.GetLastError())
	default:
		return ""
	}
}
