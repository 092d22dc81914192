package canon

// Measure counts the values of a JSON text, by the brackets and commas outside of strings, and how deep it is nested. It costs one pass and no memory, so that
// a text can be refused before it is parsed. It never counts less than there is; whether the text is JSON is for a parser to find.
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
