package store

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	storev1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/store/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
)

// marshal returns what is stored of a revision beside its columns.
func (a Agent) marshal() ([]byte, error) {
	m := a.Spec.Stored()
	m.CreateTime, m.UpdateTime = timestamppb.New(a.CreateTime), timestamppb.New(a.UpdateTime)
	data, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", a.ID, err)
	}
	return data, nil
}

// unmarshal reads what is stored of a revision beside its columns.
func (a *Agent) unmarshal(data []byte) error {
	m := &storev1.StoredAgent{}
	if err := proto.Unmarshal(data, m); err != nil {
		return fmt.Errorf("agent %s: %w", a.ID, err)
	}
	a.Spec, a.CreateTime, a.UpdateTime = agentspec.Of(m), timeOf(m.GetCreateTime()), timeOf(m.GetUpdateTime())
	return nil
}

// timeOf converts a stored time, the zero time for none.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
