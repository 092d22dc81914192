package wait

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Authorized ends the waits of a subject's turns for an authorization: for a login, or for the connection of a source; an empty source is
// any. The turns then make their calls again. It returns how many waits ended. An error means that some may not have ended: call it again.
func (s *Service) Authorized(ctx context.Context, tenant, subject string, kind turnv1.AuthorizationKind, source string) (int, error) {
	open, err := s.deps.Store.AuthorizationWaits(ctx, tenant, subject)
	if err != nil {
		return 0, err
	}
	ended := 0
	var failed []error
	for _, w := range open {
		need := w.Request.GetAuthorization()
		if need.GetKind() != kind || source != "" && need.GetSource() != source {
			continue
		}
		now, err := s.Update(ctx, w, func(tx *journal.Tx, t *store.Turn, w *store.Wait) error {
			if !w.Open() {
				return nil
			}
			return s.EndAndWake(tx, t, w, turnv1.Verdict_VERDICT_ANSWERED, subject)
		}, func(store.Wait) error { return nil })
		if err != nil && !fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) { // a session may be deleted meanwhile
			failed = append(failed, err)
		} else if now.Verdict == turnv1.Verdict_VERDICT_ANSWERED {
			ended++
		}
	}
	return ended, errors.Join(failed...)
}
