package main

import (
	"errors"
	"strings"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

const errorsIntro = `An error over HTTP is a problem as in RFC 9457, with the media type ` + "`application/problem+json`" + `:

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

Programs should look at ` + "`code`" + `: it is stable, the texts are not. ` + "`todo`" + ` says what to do, where we know it; ` + "`fields`" + ` names each wrong
field with what is wrong; ` + "`trace_id`" + ` is there when tracing is on. ` + "`Retry-After`" + ` comes as a header where a time is known.

Over gRPC the same error is a status with a ` + "`google.rpc.ErrorInfo`" + ` detail of the domain ` + "`windlass.dev`" + `; its reason is the code in upper case.
A failed turn and a tool call that did not run carry a code of this list too. An error we did not foresee is ` + "`internal`" + `; its cause is
in the server's log only.`

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
