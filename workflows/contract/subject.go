package contract

const (
	// AllEagerRuns matches EagerRunSubject of every tenant.
	AllEagerRuns = "windlass.*.eagerrun.begin"
	// EagerRunQueue is the queue group in which workers receive the turns that may begin.
	EagerRunQueue = "windlass-workers"
	// AllWakes matches WakeSubject of every tenant.
	AllWakes = "windlass.*.eagerrun.wake"
	// DeltaStream is the name of the bus's kept stream that holds the deltas of open messages.
	DeltaStream = "WINDLASS_DELTAS"
	// AllDeltas matches the delta subject of every session: what DeltaStream keeps.
	AllDeltas = "windlass.*.session.*.delta"
	// AllPolicyChanges matches PolicySubject of every tenant.
	AllPolicyChanges = "windlass.*.policy.changed"
	// AllDomainEvents matches DomainEventSubject of every tenant and role.
	AllDomainEvents = "windlass.*.events.*"
)

// EagerRunSubject is where a turn that may begin is announced to the workers: one of EagerRunQueue runs it ahead of its workflow.
// Payload: an EagerRun in JSON.
func EagerRunSubject(tenant string) string { return "windlass." + token(tenant) + ".eagerrun.begin" }

// WakeSubject is where a turn whose worker seems lost is announced to all workers. Payload: an EagerRun in JSON.
func WakeSubject(tenant string) string { return "windlass." + token(tenant) + ".eagerrun.wake" }

// EventSubject is where durable events of a session are published once they are committed. Payload: windlass.turn.v1.Events in
// the binary encoding of protobuf; see PackEvents.
func EventSubject(tenant, session string) string {
	return sessionSubject(tenant, session) + ".event"
}

// DeltaSubject is where transient events of a session are published. Payload: windlass.turn.v1.Event in the binary encoding of
// protobuf; an event with delta > 0 is numbered.
func DeltaSubject(tenant, session string) string {
	return sessionSubject(tenant, session) + ".delta"
}

// CancelSubject names a turn of a session that is to be cancelled. Payload: the turn's id. It is a hint: the receiver asks
// the sessions service whether the journal has the cancel.
func CancelSubject(tenant, session string) string {
	return "windlass." + token(tenant) + ".cancel." + token(session)
}

// DomainEventSubject is where a role publishes the domain events of a tenant once they have numbers. Payload: a CloudEvent in the JSON
// format of structured mode.
func DomainEventSubject(tenant, role string) string {
	return "windlass." + token(tenant) + ".events." + token(role)
}

// PolicySubject is where a change of a tenant's access policies is announced after its commit, to those that cache permissions. Payload:
// the tenant. It is a hint: caches also expire.
func PolicySubject(tenant string) string { return "windlass." + token(tenant) + ".policy.changed" }

// SessionSubjects matches the event and the delta subject of a session.
func SessionSubjects(tenant, session string) string {
	return sessionSubject(tenant, session) + ".*"
}

func sessionSubject(tenant, session string) string {
	return "windlass." + token(tenant) + ".session." + token(session)
}

// token makes one subject token of a name: what has a meaning in subjects is written as %XX, so that no tenant can be
// named into the subjects of another.
func token(name string) string {
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, len(name))
	for i := range len(name) {
		switch c := name[i]; {
		case c <= ' ' || c >= 0x7f || c == '.' || c == '*' || c == '>' || c == '%':
			out = append(out, '%', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return "%"
	}
	return string(out)
}
