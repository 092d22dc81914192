package api

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/usagedb"
)

// analysisTimeout bounds the time of statistics.
const analysisTimeout = 30 * time.Second

// sessionCounter counts sessions and what they use.
type sessionCounter interface {
	SessionCounts(ctx context.Context, tenant string, since time.Time) (store.SessionCounts, error)
	Usage(ctx context.Context, f usagedb.Filter) ([]usagedb.Row, error)
	Now() time.Time
}

// Analytics implements SessionAnalyticsService.
type Analytics struct {
	sessionsv1.UnimplementedSessionAnalyticsServiceServer
	store  sessionCounter
	policy access.PermissionReader
}

// NewAnalytics serves statistics of sessions. policy says who may see those of all users.
func NewAnalytics(from sessionCounter, policy access.PermissionReader) *Analytics {
	return &Analytics{store: from, policy: policy}
}

// GetSessionAnalytics implements SessionAnalyticsService.
func (s *Analytics) GetSessionAnalytics(ctx context.Context, _ *sessionsv1.GetSessionAnalyticsRequest,
) (*sessionsv1.SessionAnalytics, error) {
	ctx, cancel := context.WithTimeout(ctx, analysisTimeout)
	defer cancel()
	counts, err := s.store.SessionCounts(ctx, authn.Tenant(ctx), s.store.Now().Add(-time.Hour))
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.SessionAnalytics{Total: counts.Sessions, Messages: counts.Messages, ActiveLastHour: counts.Active}
	if counts.Sessions > 0 {
		out.MessagesPerSession = float64(counts.Messages) / float64(counts.Sessions)
	}
	return out, nil
}
