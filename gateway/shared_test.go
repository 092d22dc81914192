package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func (u *upstream) GetShared(ctx context.Context, r *sessionsv1.GetSharedRequest) (*sessionsv1.GetSharedResponse, error) {
	return &sessionsv1.GetSharedResponse{Title: "T"}, u.asked(ctx, r)
}

// WatchShared sends one message and ends as that of a revoked share.
func (u *upstream) WatchShared(r *sessionsv1.WatchSharedRequest, s grpc.ServerStreamingServer[sessionsv1.SharedMessage]) error {
	if err := u.asked(s.Context(), r); err != nil {
		return err
	}
	if err := s.Send(&sessionsv1.SharedMessage{Seq: 7}); err != nil {
		return err
	}
	return fault.NotFound("the share is gone")
}

func (u *upstream) ContinueShared(ctx context.Context, r *sessionsv1.ContinueSharedRequest) (*sessionsv1.Turn, error) {
	return &sessionsv1.Turn{Id: "trn_1"}, u.asked(ctx, r)
}

func TestSharedConversationsAreReadWithoutCredentials(t *testing.T) {
	closed := serve(t, func(_ *gateway.Config, d *gateway.Deps) { d.Authenticator = nil })
	local := serve(t, nil)
	for _, row := range []struct {
		name, method, path, body string
		s                        *server
		headers                  []string
		status                   int
		subject                  string
	}{
		{"nobody reads", "GET", "/v1/shared/tok", "", closed, nil, 200, "anonymous"},
		{"nobody streams", "GET", "/v1/shared/tok/events", "", closed, nil, 200, "anonymous"},
		{"nobody writes", "POST", "/v1/shared/tok:continue", `{"message":"x"}`, closed, nil, 401, ""},
		{"a forged token reads", "GET", "/v1/shared/tok", "", local, []string{"Authorization", "Bearer for.ge.d"}, 401, ""},
		{"this machine reads", "GET", "/v1/shared/tok", "", local, nil, 200, "local"},
		{"this machine writes", "POST", "/v1/shared/tok:continue", `{"message":"x"}`, local, nil, 200, "local"},
		{"nobody reads something else", "GET", "/v1/sessions/s/shares", "", closed, nil, 401, ""},
	} {
		a := row.s.do(row.method, row.path, row.body, row.headers...)
		if a.status != row.status {
			t.Errorf("%s: status %d: %s", row.name, a.status, a.body)
			continue
		}
		if row.subject != "" && row.s.up.principal.GetSubject() != row.subject {
			t.Errorf("%s as %v", row.name, row.s.up.principal)
		}
	}
	stream := string(closed.do("GET", "/v1/shared/tok/events", "").body)
	if !strings.Contains(stream, "id: 7\n") || !strings.Contains(stream, "event: message\n") || !strings.Contains(stream, "not_found") {
		t.Errorf("streamed %q", stream)
	}
	if a := local.do("GET", "/v1/shared/tok/events?after=x", ""); a.status != http.StatusBadRequest {
		t.Errorf("a position that is none: status %d", a.status)
	}
}
