package provider

// Ending finds the end of an answer by the reason for which it stopped. Some servers send a reason with each piece: there, only the end of
// the stream is the end of the answer. The zero value is ready.
type Ending struct {
	reason string
	open   bool // a piece came without a reason
	early  bool // a piece came after a reason
}

// Event takes an event of the stream: whether it has content, and the reason in it, "" for none.
func (e *Ending) Event(content bool, reason string) {
	e.early = e.early || content && e.reason != ""
	e.open = e.open || content && reason == ""
	if reason != "" {
		e.reason = reason
	}
}

// Reason returns the newest reason, "" for none: the stream must not end there.
func (e *Ending) Reason() string { return e.reason }

// Certain reports whether the answer is complete, whatever happens to the rest of the stream.
func (e *Ending) Certain() bool { return e.reason != "" && e.open && !e.early }
