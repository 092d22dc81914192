package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"regexp"
	"strconv"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// AnyID is the form of call ids that most providers accept. Some limit the length to 40, others to 64.
var AnyID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// ShortID is the form that the strictest providers demand.
var ShortID = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)

// IDs are the ids of calls in one request: each is valid, and belongs to one call only. Conversations repeat ids: some providers count
// from 0 in each answer.
type IDs struct {
	form *regexp.Regexp
	used map[string]bool
	now  map[string]string // of the newest call with an id
	// tried is how many ids were derived from one: those of repetitions come after them.
	tried map[string]int
}

// NewIDs returns the ids of a request whose provider accepts those of a form.
func NewIDs(form *regexp.Regexp) *IDs {
	return &IDs{form: form, used: map[string]bool{}, now: map[string]string{}, tried: map[string]int{}}
}

// Call returns the id of a call in the request. Calls come in the order of the conversation, each before its result.
func (d *IDs) Call(c *turnv1.ToolCall) string {
	given := c.GetCallId()
	id := given
	for !d.form.MatchString(id) || d.used[id] {
		id = shortID(given, d.tried[given])
		d.tried[given]++
	}
	d.used[id], d.now[given] = true, id
	return id
}

// Result returns the id of the call that a result belongs to.
func (d *IDs) Result(r *turnv1.ToolResult) string {
	if id, ok := d.now[r.GetCallId()]; ok {
		return id
	}
	return d.Call(&turnv1.ToolCall{CallId: r.GetCallId()})
}

// shortID returns the n-th id that is derived from another one: nine letters and digits, which every provider accepts.
func shortID(id string, n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256(strconv.AppendInt(append([]byte(id), 0), int64(n), 10))
	left := binary.BigEndian.Uint64(sum[:])
	var out [9]byte
	for i := range out {
		out[i] = digits[left%uint64(len(digits))]
		left /= uint64(len(digits))
	}
	return string(out[:])
}
