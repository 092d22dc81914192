// Package secret holds values that must never be printed: keys, tokens, passwords.
package secret

import (
	"crypto/subtle"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Redacted replaces every printed, logged or encoded secret.
const Redacted = "[redacted]"

// Value is a secret string. Printing, logging or encoding it in any way shows Redacted, even if it is empty, so that output does not reveal
// whether a secret is set. Compare with Equal, not with ==.
type Value struct {
	// A pointer, because fmt prints unexported fields of a struct without calling their methods: it then prints an address.
	p *string
}

var (
	_ fmt.Formatter            = Value{}
	_ fmt.Stringer             = Value{}
	_ fmt.GoStringer           = Value{}
	_ json.Marshaler           = Value{}
	_ encoding.TextMarshaler   = Value{}
	_ encoding.TextUnmarshaler = (*Value)(nil)
	_ slog.LogValuer           = Value{}
)

// New wraps a secret.
func New(s string) Value { return Value{p: &s} }

// Reveal returns the secret itself. Call it only where the secret is sent to its audience.
func (v Value) Reveal() string {
	if v.p == nil {
		return ""
	}
	return *v.p
}

// IsZero reports whether the secret is empty, that is, not set.
func (v Value) IsZero() bool { return v.Reveal() == "" }

// Equal compares two secrets in time that depends only on their lengths.
func (v Value) Equal(other Value) bool {
	return subtle.ConstantTimeCompare([]byte(v.Reveal()), []byte(other.Reveal())) == 1
}

// String returns Redacted.
func (Value) String() string { return Redacted }

// GoString returns Redacted.
func (Value) GoString() string { return Redacted }

// Format writes Redacted for every verb and flag.
func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) }

// MarshalJSON returns Redacted as a JSON string.
func (Value) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// MarshalText returns Redacted; YAML and XML encoders use it.
func (Value) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalYAML returns Redacted.
func (Value) MarshalYAML() (any, error) { return Redacted, nil }

// LogValue returns Redacted.
func (Value) LogValue() slog.Value { return slog.StringValue(Redacted) }

// UnmarshalText sets the secret; configuration loaders use it.
func (v *Value) UnmarshalText(text []byte) error {
	*v = New(string(text))
	return nil
}
