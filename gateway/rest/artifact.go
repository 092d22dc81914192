package rest

import (
	"context"
	"mime"
	"net/http"

	"google.golang.org/protobuf/proto"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// servedType returns the media type to serve content with: its own if that is valid.
func servedType(media string) string {
	if _, _, err := mime.ParseMediaType(media); err != nil {
		return "application/octet-stream"
	}
	return media
}

// setAttachment makes a browser save an artifact.
func setAttachment(_ context.Context, w http.ResponseWriter, m proto.Message) error {
	if x, ok := m.(*sessionsv1.ReadArtifactResponse); ok {
		SetAttachment(w.Header(), x.GetArtifact().GetName(), x.GetArtifact().GetMediaType())
	}
	return nil
}

// SetAttachment makes a browser save content instead of sniffing or running it: a tool or a user may have written anything.
func SetAttachment(h http.Header, name, media string) {
	h.Set("Content-Type", servedType(media))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
}
