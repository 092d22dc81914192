package rest

import (
	"context"
	"mime"
	"net/http"

	"google.golang.org/protobuf/proto"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// artifactType returns the media type to serve an artifact with: its own if that is valid.
func artifactType(x *sessionsv1.ReadArtifactResponse) string {
	if _, _, err := mime.ParseMediaType(x.GetArtifact().GetMediaType()); err != nil {
		return "application/octet-stream"
	}
	return x.GetArtifact().GetMediaType()
}

// setAttachment makes a browser save an artifact instead of sniffing or running it: a tool may have written anything.
func setAttachment(_ context.Context, w http.ResponseWriter, m proto.Message) error {
	x, ok := m.(*sessionsv1.ReadArtifactResponse)
	if !ok {
		return nil
	}
	h := w.Header()
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": x.GetArtifact().GetName()}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	return nil
}
