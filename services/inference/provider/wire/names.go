// Package wire makes the names and ids of a conversation valid for a provider. Models, and providers that wrote earlier parts of a
// conversation, use names that another API refuses, and with them the whole request.
package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// NameRule is what a provider accepts as the name of a tool: letters, digits, underscores and dashes.
type NameRule struct {
	// Max is the maximum length.
	Max int
	// Letter requires a letter or an underscore as the first character.
	Letter bool
}

// Names are the names of tools in one request. They are reversible: Own returns what Wire was given.
type Names struct {
	rule NameRule
	made map[string]string // names in the request
	own  map[string]string // and the other way round
}

// NewNames returns the names of a request.
func NewNames(rule NameRule) *Names {
	return &Names{rule: rule, made: map[string]string{}, own: map[string]string{}}
}

// Wire returns the name for the request: the name itself if the provider accepts it, else one that is derived from it, always the same. A
// name that was derived from another one is not given again: it would lead to the wrong tool.
func (n *Names) Wire(name string) string {
	if made, ok := n.made[name]; ok {
		return made
	}
	made := name
	for salt := ""; !n.rule.accepts(made) || n.taken(made); salt += " " {
		made = n.rule.derive(name, salt)
	}
	n.made[name], n.own[made] = made, name
	return made
}

func (n *Names) taken(made string) bool { _, ok := n.own[made]; return ok }

// Own returns the name that Wire was given for a name in the answer. A name that is not of this request is returned as it is.
func (n *Names) Own(name string) string {
	if own, ok := n.own[name]; ok {
		return own
	}
	return name
}

func (r NameRule) accepts(name string) bool {
	if name == "" || len(name) > r.Max || r.Letter && !starts(name[0]) {
		return false
	}
	return strings.IndexFunc(name, func(c rune) bool { return !valid(c) }) < 0
}

// hashed is the number of bytes of the hash at the end of a derived name: two names do not become the same.
const hashed = 4

// derive keeps what is valid of a name, so that a model recognizes it in its conversation.
func (r NameRule) derive(name, salt string) string {
	sum := sha256.Sum256([]byte(name + salt))
	end := "_" + hex.EncodeToString(sum[:hashed])
	var b strings.Builder
	for _, c := range name {
		switch {
		case !valid(c):
			c = '_'
		case b.Len() == 0 && !starts(byte(c)):
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	kept := b.String()
	return kept[:min(len(kept), r.Max-len(end))] + end
}

func valid(c rune) bool {
	return c < utf8.RuneSelf && (starts(byte(c)) || c >= '0' && c <= '9' || c == '-')
}

func starts(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
