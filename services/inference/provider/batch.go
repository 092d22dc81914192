package provider

// batchSize is how many bytes of text are passed on together at most.
const batchSize = 4 << 10

// Batch joins pieces of text that come at the same time: each piece that is passed on costs far more than to read it.
type Batch struct {
	emit      func(Delta) error
	text      []byte
	reasoning bool // what text is
}

// NewBatch makes a batch that passes on to emit.
func NewBatch(emit func(Delta) error) *Batch { return &Batch{emit: emit} }

// Emit takes a piece. Text waits until Flush, what is no text does not.
func (b *Batch) Emit(d Delta) error {
	switch {
	case d.Call == nil && d.Text == "" && d.Reasoning == "" && len(b.text) > 0:
		return nil // a sign of life, as the text will be
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

// Flush passes on what waits.
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
