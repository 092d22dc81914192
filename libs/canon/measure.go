package canon

// Measure returns the number of values in a JSON text, counted by brackets and commas outside strings, and its nesting depth. It takes one
// pass and no memory, so that a text can be rejected before it is parsed. It never undercounts; it does not check that the text is valid
// JSON.
func Measure(text []byte) (values, depth int) {
	values = 1
	now, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			values++
		case c == '{' || c == '[':
			values++
			now++
			depth = max(depth, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return values, depth
}
