package builtin

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
)

// Limits of one read in bytes: the result becomes part of the conversation, and must not become an artifact again.
const (
	usualRead = 16 << 10
	maxRead   = 48 << 10
)

// readArtifact is the name of the tool that reads artifacts.
const readArtifact = "read_artifact"

const readArtifactSchema = `{"type":"object","properties":{` +
	`"artifact_id":{"type":"string","description":"The artifact's id, art_…"},` +
	`"offset":{"type":"integer","minimum":0,"description":"First byte to read, from 0; 0 when left out"},` +
	`"length":{"type":"integer","minimum":1,"maximum":49152,"description":"Bytes to read at most; 16384 when left out"},` +
	`"find":{"type":"string","maxLength":1000,"description":"Read from the first place at or after offset where this text stands"}` +
	`},"required":["artifact_id"],"additionalProperties":false}`

// Artifacts reads artifacts for the tools. It acts for the principal in the context.
type Artifacts interface {
	// ReadArtifact returns bytes of an artifact.
	ReadArtifact(ctx context.Context, req *sessionsv1.ReadArtifactRequest, opts ...grpc.CallOption) (*sessionsv1.ReadArtifactResponse, error)
}

// awayError is a transient error, as opposed to a tool's answer.
type awayError struct{ error }

func (e awayError) Unwrap() error { return e.error }

// readArtifact returns a part of an artifact. A turn can only read artifacts of its session.
func (ts Tools) readArtifact(ctx context.Context, args map[string]any, by source.Caller) (string, error) {
	id, _ := args["artifact_id"].(string) // the schema has checked the types
	find, _ := args["find"].(string)
	offset, length := int64(number(args["offset"], 0)), int64(number(args["length"], usualRead))
	length = max(1, min(length, maxRead))
	req := &sessionsv1.ReadArtifactRequest{ArtifactId: id, SessionId: by.SessionID, Offset: offset, Length: length + utf8.UTFMax}
	if find != "" {
		req.Length = 0 // all of it
	}
	resp, err := ts.artifacts.ReadArtifact(authn.With(ctx, by.Principal), req)
	switch {
	case err == nil:
	case fault.From(err).Code == codes.NotFound || fault.From(err).Code == codes.InvalidArgument:
		return "", fmt.Errorf("there is no artifact %q in this session", id)
	default:
		return "", awayError{err}
	}
	data := resp.GetData()
	if find != "" {
		at := strings.Index(string(data), find)
		if at < 0 {
			return fmt.Sprintf("%q does not stand in artifact %s at or after byte %d.", find, id, offset), nil
		}
		data, offset = data[at:], offset+int64(at)
	}
	return excerpt(resp.GetArtifact(), data, offset, length), nil
}

// excerpt formats a part of an artifact for the model: whole characters, and their position.
func excerpt(a *sessionsv1.Artifact, data []byte, offset, length int64) string {
	for skip := 0; len(data) > 0 && skip < utf8.UTFMax-1 && !utf8.RuneStart(data[0]); skip++ {
		data, offset = data[1:], offset+1
	}
	if int64(len(data)) > length {
		end := int(length)
		for end > 0 && !utf8.RuneStart(data[end]) {
			end--
		}
		data = data[:end]
	}
	where := fmt.Sprintf("[artifact %s, %s, bytes %d to %d of %d]", a.GetId(), a.GetMediaType(), offset, offset+int64(len(data)), a.GetSize())
	if len(data) == 0 {
		return where + "\nNothing is there."
	}
	if !utf8.Valid(data) {
		return where + "\nIt is not text and cannot be shown."
	}
	return where + "\n" + string(data)
}

// number reads a JSON number.
func number(value any, otherwise float64) float64 {
	if n, ok := value.(float64); ok {
		return n
	}
	if n, ok := value.(interface{ Float64() (float64, error) }); ok { // json.Number
		if f, err := n.Float64(); err == nil {
			return f
		}
	}
	return otherwise
}
