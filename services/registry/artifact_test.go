package registry_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// artifacts contains one artifact, of session ses_1 and user local.
type artifacts struct {
	data string
	away int
}

func (a *artifacts) ReadArtifact(ctx context.Context, req *sessionsv1.ReadArtifactRequest,
	_ ...grpc.CallOption,
) (*sessionsv1.ReadArtifactResponse, error) {
	if a.away > 0 {
		a.away--
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "sessions is away")
	}
	if req.GetArtifactId() != "art_1" || authn.From(ctx).GetSubject() != "local" || req.GetSessionId() != "" && req.GetSessionId() != "ses_1" {
		return nil, fault.NotFound("artifact %q does not exist", req.GetArtifactId())
	}
	data := a.data[min(int(req.GetOffset()), len(a.data)):]
	if n := int(req.GetLength()); n > 0 && n < len(data) {
		data = data[:n]
	}
	return &sessionsv1.ReadArtifactResponse{
		Artifact: &sessionsv1.Artifact{Id: "art_1", MediaType: "text/plain", Size: int64(len(a.data))}, Data: []byte(data),
	}, nil
}

func TestReadArtifact(t *testing.T) {
	w := newWorld(t)
	w.artifacts.data = strings.Repeat("é", 20_000) + "needle" + strings.Repeat("z", 100)
	r := w.start(config())
	r.meshTools()
	for _, row := range []struct{ name, session, args, want, wrong string }{
		{name: "the beginning", args: `{"artifact_id":"art_1"}`, want: "bytes 0 to 16384 of 40106]\n" + strings.Repeat("é", 8192)},
		{
			name: "a part, whole characters only", session: "ses_1", args: `{"artifact_id":"art_1","offset":3,"length":4}`,
			want: "bytes 4 to 8 of 40106]\néé",
		},
		{
			name: "what is looked for", args: `{"artifact_id":"art_1","find":"needle","length":8}`,
			want: "bytes 40000 to 40008 of 40106]\nneedlezz",
		},
		{name: "what is not there", args: `{"artifact_id":"art_1","find":"nothing"}`, want: `"nothing" does not stand in artifact art_1`},
		{name: "past the end", args: `{"artifact_id":"art_1","offset":99999}`, want: "Nothing is there."},
		{name: "of another session", session: "ses_2", args: `{"artifact_id":"art_1"}`, wrong: "no artifact"},
		{name: "unknown", args: `{"artifact_id":"art_2"}`, wrong: "no artifact"},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := r.request("mesh__read_artifact", "read-"+row.name)
			req.ArgumentsJson, req.SessionId = row.args, row.session
			s := r.call(t.Context(), req)
			if s.completed.GetResult().GetIsError() != (row.wrong != "") || !strings.Contains(s.text(), row.want+row.wrong) {
				t.Errorf("got %.200v", s.completed)
			}
		})
	}
	w.artifacts.away = 1
	again := r.request("mesh__read_artifact", "read-away")
	again.ArgumentsJson = `{"artifact_id":"art_1","length":1}`
	if s := r.call(t.Context(), again); s.completed.GetResult().GetIsError() {
		t.Errorf("sessions was away for a moment: %v", s.completed)
	}
	other := r.request("mesh__read_artifact", "read-other")
	other.Principal, other.ArgumentsJson = authn.User("mallory"), `{"artifact_id":"art_1"}`
	if s := r.call(t.Context(), other); !s.completed.GetResult().GetIsError() {
		t.Errorf("another user reads it: %v", s.completed)
	}
}
