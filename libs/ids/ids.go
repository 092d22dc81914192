// Package ids creates and validates the prefixed identifiers of all stored resources.
//
// An id is its kind's prefix, an underscore, and a ULID in lower case: 26 characters of base32, 48 bits of Unix milliseconds, 12 bits that
// divide the millisecond by 4096 (as method 3 of RFC 9562, section 6.2, does for UUIDs), and 68 random bits. Ids of one kind therefore
// sort by creation time, to a quarter of a microsecond.
package ids

import (
	"crypto/rand"
	"time"

	"github.com/oklog/ulid/v2"
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
	// ToolCall is the prefix of a tool call's id, as models see it.
	ToolCall = "call"
	// Decision is the prefix of a recorded policy decision's id.
	Decision = "dec"
	// Grant is the prefix of a grant's id.
	Grant = "gnt"
	// Credential is the prefix of a vault entry's id.
	Credential = "crd"
	// Execution is the prefix of an effect ledger row's id.
	Execution = "exe"
	// Artifact is the prefix of an artifact's id.
	Artifact = "art"
	// Fact is the prefix of the id of a fact about a user.
	Fact = "fct"
	// Document is the prefix of a document's id.
	Document = "doc"
	// Version is the prefix of the id of a document's version.
	Version = "ver"
	// BankSource is the prefix of the id of a source of a bank's documents, and Sync that of one reading of it.
	BankSource, Sync = "bsr", "syn"
	// File is the prefix of an uploaded file's id, and Upload that of a file that arrives in parts.
	File, Upload = "fil", "upl"
	// Filler is the prefix of the processes that make vectors of a bank.
	Filler = "knw"
	// Approval is the prefix of an approval's id.
	Approval = "apr"
	// Lease is the prefix of a lease holder's id.
	Lease = "lse"
	// Worker is the prefix of a worker process's id, the owner of leases.
	Worker = "wrk"
	// Budget is the prefix of a budget's id.
	Budget = "bgt"
	// Schedule is the prefix of a generated schedule id; callers may choose their own.
	Schedule = "sch"
	// Webhook is the prefix of a webhook's id.
	Webhook = "whk"
	// Share is the prefix of the id of a share of a session.
	Share = "shr"
	// ConnectionAttempt is the prefix of the id of an attempt to connect a user to a source.
	ConnectionAttempt = "cat"
	// Delivery is the prefix of a webhook delivery's id, which is sent along with the delivery.
	Delivery = "whd"
	// Audit is the prefix of an audit record's id.
	Audit = "aud"
)

// maxTime is the last time that an id holds, milliseconds since 1970.
const maxTime = 1<<48 - 1

// New returns a new id of the given kind. It is unique without coordination. New is safe for concurrent use.
func New(prefix string) string { return At(prefix, time.Now()) }

// At returns a new id that sorts as if it had been created at the given time, to 1/4096 of a millisecond. Times outside 1970..10889 are
// not representable and wrap.
func At(prefix string, t time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(uint64(t.UnixMilli()) & maxTime) // fails above maxTime only
	_, _ = rand.Read(id[7:])                        // documented never to fail
	part := t.Nanosecond() % int(time.Millisecond) * 4096 / int(time.Millisecond)
	id[6], id[7] = byte(part>>4), byte(part<<4)|id[7]>>4
	out := append(make([]byte, 0, len(prefix)+1+ulid.EncodedSize), prefix...)
	out = append(out, '_')
	body := out[len(out):cap(out)]
	_ = id.MarshalTextTo(body) // fails for another size only
	for i, c := range body {
		if c >= 'A' {
			body[i] = c + 'a' - 'A'
		}
	}
	return string(out[:cap(out)])
}
