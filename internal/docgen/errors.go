package main

import (
	"errors"
	"strings"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

const errorsIntro = `An HTTP error is a problem document (RFC 9457) with the media type ` + "`application/problem+json`" + `:

` + "```json" + `
{
  "type": "urn:windlass:problem:not_found",
  "title": "Not Found",
  "status": 404,
  "detail": "turn \"trn_nope\" does not exist",
  "instance": "/v1/turns/trn_nope",
  "code": "not_found"
}
` + "```" + `

Programs should use ` + "`code`" + `: it is stable, the texts are not. ` + "`todo`" + `, if present, says what to do. ` + "`fields`" + ` lists each invalid
field with the reason. ` + "`trace_id`" + ` is set when tracing is on. The header ` + "`Retry-After`" + ` is set when the time to wait is known.

Over gRPC the same error is a status with a ` + "`google.rpc.ErrorInfo`" + ` detail with the domain ` + "`windlass.dev`" + `; its reason is the code in upper case.
Failed turns and tool calls that were not executed have a code from this list too. Unexpected errors have the code ` + "`internal`" + `; their
cause is only in the server's log.`

// writeErrors writes the page of reasons.
func writeErrors(w *writer, root string) error {
	notes, err := readComments(root, "windlass/fault/v1/reason.proto")
	if err != nil {
		return err
	}
	w.title("Errors", errorsIntro)
	w.line("\n| Code | Meaning |\n|---|---|")
	values := faultv1.Reason(0).Descriptor().Values()
	for i := range values.Len() {
		v := values.Get(i)
		if v.Number() == 0 {
			continue
		}
		note := notes["windlass.fault.v1.Reason."+string(v.Name())]
		if note == "" {
			return errors.New("no comment for " + string(v.Name()))
		}
		w.line("| %s | %s |", code(strings.ToLower(strings.TrimPrefix(string(v.Name()), "REASON_"))), cell(note))
	}
	return nil
}
