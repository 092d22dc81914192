package scripted

import (
	"regexp"
	"strings"
)

var (
	quoted   = regexp.MustCompile(`"([^"]+)"|“([^”]+)”|\x60([^\x60]+)\x60|(?:^|\s)'([^']+)'`)
	webLink  = regexp.MustCompile(`https?://[^\s"'<>]+`)
	idLike   = regexp.MustCompile(`\b(?:[A-Za-z]+[_-])*[A-Za-z]*\d[A-Za-z0-9_-]*\b`)
	tailMark = regexp.MustCompile(`(?s):\s+(\S.*)$`)
	forWhat  = regexp.MustCompile(`(?is)\b(?:for|about|named|called|mentioning)\s+(\S.*)$`)
	opening  = regexp.MustCompile(`(?i)^(?:please\s+)?(?:remember|save|store|write|add|create|make|note|summari[sz]e|search|find|look ` +
		`up)\b\s*(?:down\b\s*)?` +
		`(?:(?:that|to|a|an|the|my|new|note|notes)\b\s*)*`)
)

// finder finds values for arguments in one message. Quoted texts and numbers are used in order.
type finder struct {
	message    string
	quotes     []string
	numbers    []string
	expression string
}

func newFinder(message string) *finder {
	f := &finder{message: message, expression: findExpression(message)}
	for _, m := range quoted.FindAllStringSubmatch(message, -1) {
		f.quotes = append(f.quotes, strings.Join(m[1:], ""))
	}
	f.numbers = numeral.FindAllString(strings.Replace(message, f.expression, " ", 1), -1)
	return f
}

// value returns the value of a required argument, nil if there is none.
func (f *finder) value(name string, p property) any {
	if text := f.labelled(name); text != "" {
		if v := convert(text, p); v != nil {
			return v
		}
	}
	switch {
	case len(p.Enum) > 0:
		return f.choice(p)
	case p.Type == "integer" || p.Type == "number":
		for i, n := range f.numbers {
			if v := convert(n, p); v != nil {
				f.numbers = f.numbers[i+1:]
				return v
			}
		}
		return nil
	case p.Type == "boolean":
		return strings.Contains(strings.ToLower(f.message), strings.ToLower(name))
	case p.Type == "object" || p.Type == "null":
		return nil
	}
	text := f.text(name, p)
	if text == "" {
		return nil
	}
	return convert(text, p)
}

// choice returns the allowed word that occurs in the message.
func (f *finder) choice(p property) any {
	words := tokens(f.message)
	for _, allowed := range p.Enum {
		if word, ok := allowed.(string); ok && words[stem(strings.ToLower(word))] {
			return word
		}
	}
	return nil
}

// labelled finds "name: value" or "name=value"; the value is quoted or ends at a comma, a semicolon or the line's end.
func (f *finder) labelled(name string) string {
	label, err := regexp.Compile(`(?i)(?:^|[\s,;(])` + regexp.QuoteMeta(name) + `\s*[:=]\s*(?:"([^"]*)"|([^,;\n]+))`)
	if err != nil {
		return ""
	}
	m := label.FindStringSubmatch(f.message)
	if m == nil {
		return ""
	}
	return strings.TrimSpace(m[1] + m[2])
}

// text returns the text for an argument, judging by its name.
func (f *finder) text(name string, p property) string {
	name = strings.ToLower(name)
	switch {
	case name == "expression" || name == "formula" || strings.Contains(strings.ToLower(p.Description), "arithmetic"):
		return f.expression
	case name == "url" || name == "uri" || name == "link" || p.Format == "uri":
		return webLink.FindString(f.message)
	case name == "id" || strings.HasSuffix(name, "_id"):
		return idLike.FindString(f.message)
	case name == "from" || name == "to" || name == "unit":
		return f.unit(name)
	case name == "title" || name == "name" || name == "subject":
		return title(f.quote(false, f.tail()))
	case name == "query" || name == "q" || name == "search" || name == "topic" || name == "keyword":
		return strings.TrimRight(f.quote(true, f.about()), "?!. ")
	default:
		return f.quote(true, f.tail())
	}
}

// quote returns the next quoted text, or otherwise. A title shares the quote with the text if there is only one.
func (f *finder) quote(take bool, otherwise string) string {
	if len(f.quotes) == 0 {
		return otherwise
	}
	text := f.quotes[0]
	if len(f.quotes) > 1 {
		f.quotes = f.quotes[1:]
	} else if take {
		f.quotes = nil
	}
	return text
}

// tail returns the subject of the message: what follows a colon, else what follows the opening verb.
func (f *finder) tail() string {
	if m := tailMark.FindStringSubmatch(f.message); m != nil {
		return strings.TrimSpace(m[1])
	}
	if at := opening.FindStringIndex(f.message); at != nil {
		return strings.TrimSpace(f.message[at[1]:])
	}
	return ""
}

// about returns the text to search for.
func (f *finder) about() string {
	if m := tailMark.FindStringSubmatch(f.message); m != nil {
		return strings.TrimSpace(m[1])
	}
	if m := forWhat.FindStringSubmatch(f.message); m != nil {
		return strings.TrimSpace(m[1])
	}
	return f.tail()
}

var (
	fromUnit = regexp.MustCompile(`-?\d+(?:\.\d+)?\s*°?\s*([A-Za-z][A-Za-z0-9/]*)`)
	toUnit   = regexp.MustCompile(`(?i)\b(?:to|in|into)\s+°?([A-Za-z][A-Za-z0-9/]*)`)
)

// unit returns the unit after a number, or the target unit.
func (f *finder) unit(name string) string {
	wanted := fromUnit
	if name == "to" {
		wanted = toUnit
	}
	if m := wanted.FindStringSubmatch(f.message); m != nil {
		return m[1]
	}
	return ""
}

// title returns the first words of a text.
func title(text string) string {
	const most = 8
	line, _, _ := strings.Cut(text, "\n")
	if parts := strings.Fields(line); len(parts) > most {
		return strings.Join(parts[:most], " ") + "…"
	}
	return strings.TrimRight(line, " .!")
}
