package store

// Statement returns the statement of a list and its arguments.
func (f TurnFilter) Statement() (string, []any) { return f.selection().Text, f.selection().Args }

// Statement returns the statement of a list and its arguments.
func (f SessionFilter) Statement() (string, []any) { return f.selection().Text, f.selection().Args }
