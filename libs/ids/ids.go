// Package ids creates and validates the prefixed identifiers of all stored resources.
//
// An id is its kind's prefix, an underscore, and 26 lower-case base32 characters: 48 bits of Unix milliseconds followed by 80 random bits.
// Ids of one kind therefore sort by creation time, to the millisecond.
package ids

import (
	"crypto/rand"
	"strings"
	"time"
)

// Prefixes of the kinds of ids.
const (
	// Session is the prefix of a session's id.
	Session = "ses"
	// Turn is the prefix of a turn's id, which is also its workflow id.
	Turn = "trn"
	// Step is the prefix of a step's id.
	Step = "stp"
	// Message is the prefix of a message's id.
	Message = "msg"
	// Event is the prefix of a domain event's id; turn events have a sequence number instead.
	Event = "evt"
	// Source is the prefix of a tool source's id.
	Source = "src"
	// Tool is the prefix of a tool's id; people and models use its name.
	Tool = "tol"
	// ToolGroup is the prefix of a tool group's id.
	ToolGroup = "grp"
	// ToolCall is the prefix of a tool call's id, as models see it.
	ToolCall = "call"
	// Policy is the prefix of an access policy's id.
	Policy = "pol"
	// Decision is the prefix of a recorded policy decision's id.
	Decision = "dec"
	// Grant is the prefix of a grant's id.
	Grant = "gnt"
	// Credential is the prefix of a vault entry's id.
	Credential = "crd"
	// Shield is the prefix of a shield's id.
	Shield = "shd"
	// Execution is the prefix of an effect ledger row's id.
	Execution = "exe"
	// Artifact is the prefix of an artifact's id.
	Artifact = "art"
	// Approval is the prefix of an approval's id.
	Approval = "apr"
	// Agent is the prefix of a generated agent id; callers may choose their own.
	Agent = "agt"
	// Blueprint is the prefix of a blueprint revision's id.
	Blueprint = "blu"
	// Lease is the prefix of a lease holder's id.
	Lease = "lse"
	// Worker is the prefix of a worker process's id, the owner of leases.
	Worker = "wrk"
	// Budget is the prefix of a budget's id.
	Budget = "bgt"
	// Schedule is the prefix of a generated schedule id; callers may choose their own.
	Schedule = "sch"
	// Usage is the prefix of a usage record's id.
	Usage = "usg"
	// Webhook is the prefix of a webhook's id.
	Webhook = "whk"
	// Delivery is the prefix of a webhook delivery's id, which is sent along with the delivery.
	Delivery = "whd"
)

// alphabet is Crockford's base32 in lower case, without i, l, o and u. It is in ASCII order, so that text order is numeric order.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// bodyLen is the number of characters after the underscore: 128 bits at 5 bits each, rounded up.
const bodyLen = 26

// New returns a new id of the given kind. It is unique without coordination. New is safe for concurrent use.
func New(prefix string) string { return At(prefix, time.Now()) }

// At returns a new id that sorts as if it had been created at the given time, to the millisecond. Times outside 1970..10889 are not
// representable and wrap.
func At(prefix string, t time.Time) string {
	var raw [16]byte
	ms := uint64(t.UnixMilli())
	for i := range 6 {
		raw[i] = byte(ms >> (40 - 8*i))
	}
	_, _ = rand.Read(raw[6:]) // documented never to fail
	out := make([]byte, 0, len(prefix)+1+bodyLen)
	out = append(out, prefix...)
	out = append(out, '_')
	return string(appendBase32(out, raw))
}

// appendBase32 writes 128 bits as 26 characters, the first of which carries only the top 3 bits.
func appendBase32(out []byte, raw [16]byte) []byte {
	bit := func(i int) byte { // bits are numbered from the most significant; two zero bits pad the front
		if i -= 2; i < 0 {
			return 0
		}
		return raw[i/8] >> (7 - i%8) & 1
	}
	for c := range bodyLen {
		var v byte
		for b := range 5 {
			v = v<<1 | bit(c*5+b)
		}
		out = append(out, alphabet[v])
	}
	return out
}

// Valid reports whether id has the form that New returns. It does not check that the resource exists.
func Valid(prefix, id string) bool {
	body, ok := strings.CutPrefix(id, prefix+"_")
	if !ok || len(body) != bodyLen || body[0] > '7' {
		return false
	}
	for i := range len(body) {
		if strings.IndexByte(alphabet, body[i]) < 0 {
			return false
		}
	}
	return true
}

// Time returns when the id was created, to the millisecond; false if the id does not have the form that New returns.
func Time(id string) (time.Time, bool) {
	prefix, body, ok := strings.Cut(id, "_")
	if !ok || !Valid(prefix, id) {
		return time.Time{}, false
	}
	var ms uint64
	for i := range 10 { // 50 bits: two of padding, 48 of time
		ms = ms<<5 | uint64(strings.IndexByte(alphabet, body[i]))
	}
	return time.UnixMilli(int64(ms)), true
}
