package rest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// readBody reads the body, which may be compressed, and puts it back as it was before compression.
func (a *API) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := checkMedia(r.Header); err != nil {
		return nil, err
	}
	if r.ContentLength > a.deps.MaxBody {
		return nil, a.tooLarge()
	}
	if r.ContentLength != 0 {
		rc := http.NewResponseController(w)
		// Writers without deadlines (in tests) read without one.
		if rc.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil {
			defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
		}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.deps.MaxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return nil, a.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, malformed("the body did not arrive within %s", bodyTimeout)
	case err != nil:
		return nil, malformed("the body ended early").Cause(err)
	}
	if data, err = a.decompress(r.Header, data); err != nil {
		return nil, err
	}
	r.Body = &body{Reader: bytes.NewReader(data), data: data}
	return data, nil
}

func checkMedia(h http.Header) error {
	ct := h.Get("Content-Type")
	if ct == "" {
		return nil
	}
	media, _, err := mime.ParseMediaType(ct)
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_UNSUPPORTED_MEDIA_TYPE, "the body's type %q is not supported", ct).
			Hint("Send JSON with the header Content-Type: application/json.")
	}
	return nil
}

// decompress returns the content of a body. What a small body expands to is limited as well.
func (a *API) decompress(h http.Header, data []byte) ([]byte, error) {
	switch coding := strings.ToLower(h.Get("Content-Encoding")); coding {
	case "", "identity":
		return data, nil
	case "gzip":
	default:
		return nil, fault.New(codes.InvalidArgument, faultv1.Reason_REASON_UNSUPPORTED_MEDIA_TYPE,
			"the body's encoding %q is not supported", coding).
			Hint("Send the body as it is, or with Content-Encoding: gzip.")
	}
	in, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, malformed("the body is not gzip").Cause(err)
	}
	out, err := io.ReadAll(io.LimitReader(in, a.deps.MaxBody+1))
	switch {
	case err != nil:
		return nil, malformed("the compressed body is damaged").Cause(err)
	case int64(len(out)) > a.deps.MaxBody:
		return nil, a.tooLarge()
	}
	h.Del("Content-Encoding")
	return out, nil
}

func (a *API) tooLarge() error {
	return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "the body is larger than %d bytes", a.deps.MaxBody).
		Hint("Send less, or raise gateway.max_body.")
}

func malformed(format string, args ...any) *fault.Error {
	return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_MALFORMED_BODY, format, args...)
}
