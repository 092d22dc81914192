package provider

// batchSize is the maximum number of text bytes forwarded together.
const batchSize = 4 << 10

// Batch joins pieces of text that arrive together: forwarding a piece costs far more than reading it.
type Batch struct {
	emit      func(Delta) error
	text      []byte
	reasoning bool // what text is
}

// NewBatch returns a batch that forwards to emit.
func NewBatch(emit func(Delta) error) *Batch { return &Batch{emit: emit} }

// Emit takes a piece. Text waits until Flush; other pieces are forwarded at once.
func (b *Batch) Emit(d Delta) error {
	switch {
	case d.Call == nil && d.Text == "" && d.Reasoning == "" && len(b.text) > 0:
		return nil // a keep-alive, as the text will be
	case d.Call != nil || d.Text != "" && d.Reasoning != "" || d.Text == "" && d.Reasoning == "":
		if err := b.Flush(); err != nil {
			return err
		}
		return b.emit(d)
	}
	if reasoning := d.Reasoning != ""; reasoning != b.reasoning || len(b.text) >= batchSize {
		if err := b.Flush(); err != nil {
			return err
		}
		b.reasoning = reasoning
	}
	b.text = append(append(b.text, d.Text...), d.Reasoning...)
	return nil
}

// Flush forwards the waiting text.
func (b *Batch) Flush() error {
	if len(b.text) == 0 {
		return nil
	}
	d := Delta{Text: string(b.text)}
	if b.reasoning {
		d = Delta{Reasoning: string(b.text)}
	}
	b.text = b.text[:0]
	return b.emit(d)
}
