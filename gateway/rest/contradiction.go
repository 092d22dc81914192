package rest

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
)

// checkPath rejects a body that names another resource than the path. A resource that the path gives by name may have its ID in the body.
func checkPath(data []byte, route Route, vars map[string]string) error {
	if len(vars) == 0 || len(data) == 0 || !mentions(data, route, vars) {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil //nolint:nilerr // the decoder explains what is wrong
	}
	md := route.bodyMessage()
	for name, value := range vars {
		path, inBody := strings.CutPrefix(name, route.Body+".")
		if !inBody && route.Body != "*" {
			continue
		}
		fd := md.Fields().ByTextName(path)
		if fd == nil {
			continue
		}
		for _, spelling := range []string{fd.TextName(), fd.JSONName()} {
			given := text(fields[spelling])
			if given != "" && given != value && (!inBody || text(fields["name"]) != value) {
				return fault.Invalid(spelling, "is %q in the body and %q in the path", given, value).
					Hint("Leave it out of the body: the path says which resource is meant.")
			}
		}
	}
	return nil
}

// mentions reports whether a body may have a field that the path gives; most have none, and are not parsed for it. A name can be written
// with escapes.
func mentions(data []byte, route Route, vars map[string]string) bool {
	if bytes.IndexByte(data, '\\') >= 0 {
		return true
	}
	for name := range vars {
		fd := route.bodyMessage().Fields().ByTextName(strings.TrimPrefix(name, route.Body+"."))
		if fd != nil && (quoted(data, fd.TextName()) || quoted(data, fd.JSONName())) {
			return true
		}
	}
	return false
}

func quoted(data []byte, name string) bool { return bytes.Contains(data, []byte(`"`+name+`"`)) }

// text returns a JSON string's value, "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
