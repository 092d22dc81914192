// Package trail stores the audit trail: for each tenant a chain of records, each with a hash over itself and the record before.
//
// A record is added in the transaction of its fact, without a place in the chain, so that writers do not wait for each other. Extend then
// gives what has been committed its places, under a lock. Decisions are not written twice by their caller: Extend copies them.
package trail

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/ids"
)

// Outcomes of what was tried.
const (
	// Allowed and Refused are decisions.
	Allowed = "allowed"
	Refused = "refused"
	// Done and Failed are actions.
	Done   = "done"
	Failed = "failed"
)

// TimeFormat is how times are written in canonical records: RFC 3339 in UTC, with microseconds.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

// Links connect a record to the calls that it is about. They are erased with a session; LinksHash stays.
type Links struct {
	TurnID, SessionID, CallID, RequestID string
}

// Record is one audited fact.
type Record struct {
	// Tenant and ID identify it. A second record with the ID of another one is not stored.
	Tenant, ID string
	// Time is when it was recorded, but not before the time of the record before it.
	Time time.Time
	// Subject is for whom it was done: a person or a service, with its issuer. Actor is the role of the mesh that did it.
	Subject, Actor string
	// Action is what was done, for example "tool.call", Resource with what.
	Action, Resource string
	// Outcome is one of the outcomes, Reason a text for people without secrets and arguments.
	Outcome, Reason string
	// Links may be erased.
	Links Links
	// LinksHash is the SHA-256 of the id and the links, hex; empty if there are no links.
	LinksHash string
	// Seq is its place in the tenant's chain, from 1. Hash is the SHA-256 over the hash before and the canonical record, hex.
	Seq  int64
	Hash string
}

// New returns a record of the tenant with a new id.
func New(tenant string, at time.Time, subject, actor, action, resource, outcome, reason string, links Links) Record {
	return Record{
		Tenant: tenant, ID: ids.New(ids.Audit), Time: at, Subject: subject, Actor: actor, Action: action, Resource: resource,
		Outcome: outcome, Reason: reason, Links: links,
	}
}

// Genesis is what stands for the hash before that of the first record.
const Genesis = "0000000000000000000000000000000000000000000000000000000000000000"

// Canonical returns the record as it is hashed: a JSON object in the form of RFC 8785, whose values are all strings.
func (r Record) Canonical() []byte {
	return canon.Object{
		"action": r.Action, "actor": r.Actor, "id": r.ID, "links_hash": r.LinksHash, "outcome": r.Outcome, "reason": r.Reason,
		"resource": r.Resource, "seq": strconv.FormatInt(r.Seq, 10), "subject": r.Subject, "tenant": r.Tenant,
		"time": r.Time.UTC().Format(TimeFormat),
	}.JSON()
}

// hashAfter returns the hash of the record after one with the hash previous.
func (r Record) hashAfter(previous string) string {
	h := sha256.New()
	h.Write([]byte(previous))
	h.Write(r.Canonical())
	return hex.EncodeToString(h.Sum(nil))
}

// hash returns the hash of the links. The id has 68 random bits, so that erased links cannot be found by trying.
func (l Links) hash(id string) string {
	if l == (Links{}) {
		return ""
	}
	sum := sha256.Sum256(canon.Object{
		"id": id, "turn_id": l.TurnID, "session_id": l.SessionID, "call_id": l.CallID, "request_id": l.RequestID,
	}.JSON())
	return hex.EncodeToString(sum[:])
}
