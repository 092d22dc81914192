// Package providerdata carries the credentials that a client sends with one request to the tools and models which that request calls.
// Between processes they travel sealed; only what calls a tool or a model opens them.
package providerdata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

const (
	// Header is the HTTP header of a request; Alias is another name of it.
	Header = "X-Windlass-Provider-Data"
	Alias  = "X-LlamaStack-Provider-Data"

	// MaxBytes bounds the header's value.
	MaxBytes = 16 << 10
	maxKeys  = 64
	maxDepth = 8
	// minHidden is the length of the shortest value that Values returns: removing a shorter one would garble every text.
	minHidden = 8
)

var validKey = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// ValidKey reports whether a text can be a key of provider data.
func ValidKey(key string) bool { return validKey.MatchString(key) }

// Data is the provider data of a request: strings and JSON objects by key. Printing, logging or encoding it does not show it.
type Data struct{ values *map[string]json.RawMessage }

// Parse reads the value of the header. The error names the header and never quotes its value.
func Parse(text string) (Data, error) {
	bad := func(format string, args ...any) (Data, error) { return Data{}, fault.Invalid(Header, format, args...) }
	if len(text) > MaxBytes {
		return bad("must not have more than %d bytes", MaxBytes)
	}
	if err := bounded([]byte(text)); err != nil {
		return bad("%s", err)
	}
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(text), &values); err != nil || values == nil {
		return bad("must be a JSON object, as in {\"api_key\": \"…\"}")
	}
	if len(values) > maxKeys {
		return bad("must not have more than %d keys", maxKeys)
	}
	for key, value := range values {
		switch {
		case !ValidKey(key):
			return bad("its keys consist of letters, digits, \"_\", \".\" and \"-\", at most 128")
		case value[0] != '"' && value[0] != '{':
			return bad("the value of %q must be a string or an object", key)
		}
	}
	return Data{&values}, nil
}

// bounded checks that a text is one JSON value, not too deep, in which no object names a key twice.
func bounded(text []byte) error {
	notJSON := errors.New("must be a JSON object")
	d := json.NewDecoder(bytes.NewReader(text))
	var open []map[string]bool // the keys of each object that is open; nil for an array
	key := false               // the next string is a key
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && len(open) == 0 {
			return nil
		}
		if err != nil {
			return notJSON
		}
		if name, ok := token.(string); ok && key {
			if top := open[len(open)-1]; top[name] {
				return errors.New("must not have a key twice")
			} else {
				top[name] = true
			}
			key = false
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, map[string]bool{})
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > maxDepth {
			return fmt.Errorf("must not be nested more than %d times", maxDepth)
		}
		key = len(open) > 0 && open[len(open)-1] != nil
	}
}

// headers are those of an HTTP request or, in lower case, the metadata of a call over gRPC.
type headers interface {
	values(name string) []string
	remove(name string)
}

type httpHeaders http.Header

func (h httpHeaders) values(name string) []string { return http.Header(h).Values(name) }
func (h httpHeaders) remove(name string)          { http.Header(h).Del(name) }

type callHeaders metadata.MD

func (h callHeaders) values(name string) []string { return metadata.MD(h).Get(name) }
func (h callHeaders) remove(name string)          { metadata.MD(h).Delete(name) }

// take returns the data in the headers of a request; false if there is none. The headers are removed.
func take(h headers) (d Data, ok bool, err error) {
	values := slices.Concat(h.values(Header), h.values(Alias))
	h.remove(Header)
	h.remove(Alias)
	switch len(values) {
	case 0:
		return Data{}, false, nil
	case 1:
		d, err = Parse(values[0])
		return d, true, err
	}
	return Data{}, false, fault.Invalid(Header, "must be there only once, also counting %s", Alias)
}

// Has reports whether there is a value for the key.
func (d Data) Has(key string) bool {
	_, ok := d.all()[key]
	return ok
}

func (d Data) all() map[string]json.RawMessage {
	if d.values == nil {
		return nil
	}
	return *d.values
}

// Raw returns the value of a key as JSON; nil if there is none.
func (d Data) Raw(key string) json.RawMessage { return d.all()[key] }

// Text returns the value of a key; false if there is none, or it is no string.
func (d Data) Text(key string) (secret.Value, bool) {
	var text string
	if raw := d.all()[key]; len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return secret.Value{}, false
	}
	return secret.New(text), true
}

// Pick returns data with the given names, each with the value of a key; names of keys without value are left out.
func (d Data) Pick(keys map[string]string) Data {
	part := map[string]json.RawMessage{}
	for name, key := range keys {
		if value, ok := d.all()[key]; ok {
			part[name] = value
		}
	}
	return Data{&part}
}

// Keys returns the keys in order.
func (d Data) Keys() []string { return slices.Sorted(maps.Keys(d.all())) }

// Values returns the texts that must not be in what tools and models say: all strings of 8 bytes or more.
func (d Data) Values() []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(d.all())) {
		var v any
		if json.Unmarshal(d.all()[key], &v) == nil {
			out = leaves(out, v)
		}
	}
	return out
}

func leaves(out []string, v any) []string {
	switch v := v.(type) {
	case string:
		if len(v) >= minHidden {
			out = append(out, v)
		}
	case []any:
		for _, item := range v {
			out = leaves(out, item)
		}
	case map[string]any:
		for _, member := range v {
			out = leaves(out, member)
		}
	}
	return out
}

// Missing is the fault of a call that needs a key which its request does not have; what names the tool's source or the provider.
func Missing(what, key string) *fault.Error {
	return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION,
		"%s needs the key %q in the header %s of the request", what, key, Header).
		Hint("Send the header as a JSON object: %s: {%q: \"…\"}", Header, key)
}

// String returns secret.Redacted.
func (Data) String() string { return secret.Redacted }

// GoString returns secret.Redacted.
func (Data) GoString() string { return secret.Redacted }

// Format writes secret.Redacted.
func (Data) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, secret.Redacted) }

// MarshalJSON returns secret.Redacted as a JSON string.
func (Data) MarshalJSON() ([]byte, error) { return []byte(`"` + secret.Redacted + `"`), nil }

// LogValue returns secret.Redacted.
func (Data) LogValue() slog.Value { return slog.StringValue(secret.Redacted) }
