package gateway_test

import (
	"context"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// ReadArtifact returns an artifact whose media type is the id.
func (u *upstream) ReadArtifact(ctx context.Context, r *sessionsv1.ReadArtifactRequest) (*sessionsv1.ReadArtifactResponse, error) {
	types := map[string]string{"art_text": "text/plain; charset=utf-8", "art_html": "text/html", "art_odd": "no type\r\nX-Evil: 1"}
	return &sessionsv1.ReadArtifactResponse{
		Artifact: &sessionsv1.Artifact{Id: r.GetArtifactId(), Name: "files \"read\".txt", MediaType: types[r.GetArtifactId()]},
		Data:     []byte("<b>bytes</b>\x00\xff"),
	}, u.asked(ctx, r)
}

func TestAnArtifactIsItsBytes(t *testing.T) {
	s := serve(t, nil)
	for id, mediaType := range map[string]string{
		"art_text": "text/plain; charset=utf-8", "art_html": "text/html", "art_odd": "application/octet-stream",
	} {
		got := s.do("GET", "/v1/artifacts/"+id+"?offset=3&length=5", "")
		h := got.header
		if string(got.body) != "<b>bytes</b>\x00\xff" || h.Get("Content-Type") != mediaType || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Content-Disposition") != `attachment; filename="files \"read\".txt"` ||
			h.Get("Content-Security-Policy") != "sandbox; default-src 'none'" {
			t.Errorf("%s: %q, %v", id, got.body, h)
		}
		req, _ := s.up.request().(*sessionsv1.ReadArtifactRequest)
		if req.GetArtifactId() != id || req.GetOffset() != 3 || req.GetLength() != 5 {
			t.Errorf("asked for %v", req)
		}
	}
	s.up.fail(fault.NotFound("artifact %q does not exist", "art_x"))
	if got := s.do("GET", "/v1/artifacts/art_x", ""); got.status != 404 || got.header.Get("Content-Type") != "application/problem+json" ||
		got.header.Get("Content-Disposition") != "" {
		t.Errorf("unknown: %d %v", got.status, got.header)
	}
}
