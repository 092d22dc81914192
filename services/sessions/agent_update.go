package sessions

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// fixed are the fields of an agent that an update does not change; naming them is no error, so that a caller may send back what he read.
var fixed = map[protoreflect.Name]bool{"id": true, "revision": true, "create_time": true, "update_time": true}

// UpdateAgent implements AgentService.
func (s *Service) UpdateAgent(ctx context.Context, req *sessionsv1.UpdateAgentRequest) (*sessionsv1.Agent, error) {
	id, revision := req.GetAgent().GetId(), req.GetAgent().GetRevision()
	// What is there already was checked when it came.
	if fields, err := s.checkElsewhere(ctx, "agent.", req.GetAgent(), newExisting(id)); err != nil || len(fields) > 0 {
		if err == nil {
			err = fault.InvalidFields(fields)
		}
		return nil, err
	}
	var now *sessionsv1.Agent
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		old, row, err := agentIn(ctx, tx, id)
		if err != nil {
			return err
		}
		if old == nil || row.Deleted {
			return noAgent(id)
		}
		if revision != 0 && revision != row.Revision {
			return fault.Conflict("agent %q is at revision %d, not %d", id, row.Revision, revision)
		}
		now = proto.CloneOf(old)
		if err := merge(now, req.GetAgent(), req.GetUpdateMask().GetPaths()); err != nil {
			return err
		}
		if proto.Equal(now, old) {
			return nil
		}
		if err := s.checkMerged(now); err != nil {
			return err
		}
		now, err = putAgent(ctx, tx, now, row, old)
		return err
	})
	if err != nil {
		return nil, err
	}
	return shown(now), nil
}

// checkMerged checks the whole agent: the interceptor saw the change alone.
func (s *Service) checkMerged(a *sessionsv1.Agent) error {
	if fields := append(s.violations("agent.", a), s.checkAgent("agent.", a)...); len(fields) > 0 {
		return fault.InvalidFields(fields)
	}
	return nil
}

// merge copies the fields that paths name from one agent to another; without paths those that are set.
func merge(to, from *sessionsv1.Agent, paths []string) error {
	if len(paths) == 0 {
		from.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if !fixed[fd.Name()] {
				to.ProtoReflect().Set(fd, v)
			}
			return true
		})
		return nil
	}
	for _, path := range paths {
		if path == "*" {
			copyAll(to.ProtoReflect(), from.ProtoReflect())
			continue
		}
		if err := copyPath(to.ProtoReflect(), from.ProtoReflect(), strings.Split(path, ".")); err != nil {
			return fault.Invalid("update_mask", "%q: %s", path, err)
		}
	}
	return nil
}

func copyAll(to, from protoreflect.Message) {
	fields := to.Descriptor().Fields()
	for i := range fields.Len() {
		if !fixed[fields.Get(i).Name()] {
			copyField(to, from, fields.Get(i))
		}
	}
}

func copyField(to, from protoreflect.Message, fd protoreflect.FieldDescriptor) {
	if from.Has(fd) {
		to.Set(fd, from.Get(fd))
	} else {
		to.Clear(fd)
	}
}

// free tells whether a field is a free object, which changes as a whole: the mask that is made of a request's body names what is inside.
func free(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Struct"
}

func copyPath(to, from protoreflect.Message, path []string) error {
	fd := to.Descriptor().Fields().ByName(protoreflect.Name(path[0]))
	if fd == nil {
		return fmt.Errorf("there is no such field")
	}
	if to.Descriptor().Name() == "Agent" && fixed[fd.Name()] {
		return nil
	}
	if len(path) == 1 || free(fd) {
		copyField(to, from, fd)
		return nil
	}
	if fd.Message() == nil || fd.IsMap() || fd.IsList() {
		return fmt.Errorf("%s has no fields", fd.Name())
	}
	return copyPath(to.Mutable(fd).Message(), from.Get(fd).Message(), path[1:])
}
