package codec

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/canon"
)

// rewrite replaces the enum values in data, which is valid JSON of an md, by the result of name, or null for "", and the numbers in values
// of any type by the result of number. Everything else stays byte for byte.
func rewrite(
	data []byte, md protoreflect.MessageDescriptor, name func(protoreflect.EnumDescriptor, string) string, number func(string) string,
) []byte {
	if !mayHoldEnum(md) && (number == nil || !canon.MayHold(md)) {
		return data
	}
	w := rewriter{in: data, name: name, number: number}
	w.message(md)
	return append(w.out, w.in[w.copied:]...)
}

// rewriter walks JSON along a message's descriptor.
type rewriter struct {
	in     []byte
	pos    int
	copied int // in[:copied] is in out
	out    []byte
	name   func(protoreflect.EnumDescriptor, string) string
	number func(string) string // nil leaves numbers as they are
	any    bool                // in a value of any type
}

func (w *rewriter) message(md protoreflect.MessageDescriptor) {
	if md.ParentFile().Package() == "google.protobuf" {
		w.any = w.number != nil && canon.MayHold(md)
		w.skip()
		w.any = false
		return
	}
	w.members(func(key string) { w.field(field(md, key)) })
}

func (w *rewriter) field(fd protoreflect.FieldDescriptor) {
	switch {
	case fd == nil:
		w.skip()
	case fd.IsMap():
		w.members(func(string) { w.single(fd.MapValue(), false) })
	case fd.IsList():
		w.elements(func() { w.single(fd, false) })
	default:
		w.single(fd, true)
	}
}

// single rewrites one value. Only the value of a field may become null.
func (w *rewriter) single(fd protoreflect.FieldDescriptor, nullable bool) {
	switch {
	case fd.Enum() != nil:
		w.enum(fd.Enum(), nullable)
	case fd.Message() != nil:
		w.message(fd.Message())
	default:
		w.skip()
	}
}

func (w *rewriter) enum(ed protoreflect.EnumDescriptor, nullable bool) {
	if w.peek() != '"' {
		w.skip()
		return
	}
	start := w.pos
	old := w.text()
	changed := w.name(ed, old)
	if changed == old || changed == "" && !nullable {
		return
	}
	quoted := []byte("null") // of "", no value
	if changed != "" {
		var err error
		if quoted, err = json.Marshal(changed); err != nil {
			return // a string always encodes
		}
	}
	w.out = append(append(w.out, w.in[w.copied:start]...), quoted...)
	w.copied = w.pos
}

// members calls value for each member of an object, positioned at its value.
func (w *rewriter) members(value func(key string)) {
	if w.peek() != '{' {
		w.skip()
		return
	}
	w.pos++
	for w.peek() == '"' {
		key := w.text()
		w.peek()
		w.pos++ // the colon
		value(key)
		if w.peek() == ',' {
			w.pos++
		}
	}
	w.pos++ // the brace
}

// elements calls value for each element of a list, positioned at it.
func (w *rewriter) elements(value func()) {
	if w.peek() != '[' {
		w.skip()
		return
	}
	w.pos++
	for w.peek() != ']' {
		value()
		if w.peek() == ',' {
			w.pos++
		}
	}
	w.pos++
}

// peek skips white space and returns the next byte, or ']' at the end so that no loop continues there.
func (w *rewriter) peek() byte {
	for ; w.pos < len(w.in); w.pos++ {
		switch c := w.in[w.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return ']'
}

// text reads a string.
func (w *rewriter) text() string {
	raw, escaped := w.quoted()
	if escaped {
		var s string
		if err := json.Unmarshal(raw, &s); err == nil {
			return s
		}
	}
	return string(raw[1 : len(raw)-1])
}

// quoted skips a string and returns it with its quotes, and whether it has an escape.
func (w *rewriter) quoted() (raw []byte, escaped bool) {
	start := w.pos
	for w.pos++; w.pos < len(w.in) && w.in[w.pos] != '"'; w.pos++ {
		if w.in[w.pos] == '\\' {
			escaped = true
			w.pos++
		}
	}
	w.pos++
	return w.in[start:w.pos], escaped
}

// skip skips one value of any kind.
func (w *rewriter) skip() {
	depth := 0
	for {
		switch w.peek() {
		case '"':
			w.quoted()
		case '{', '[':
			depth++
			w.pos++
		case '}', ']':
			depth--
			w.pos++
		case ',', ':':
			w.pos++
			continue
		default:
			w.word()
		}
		if depth <= 0 {
			return
		}
	}
}

// word skips true, false or null, or a number, which it rewrites in a value of any type.
func (w *rewriter) word() {
	start := w.pos
	for w.pos < len(w.in) && !bytes.ContainsRune([]byte(",:}] \t\n\r"), rune(w.in[w.pos])) {
		w.pos++
	}
	if !w.any || start == w.pos || w.in[start] > '9' {
		return
	}
	old := string(w.in[start:w.pos])
	if changed := w.number(old); changed != old {
		w.out = append(append(w.out, w.in[w.copied:start]...), changed...)
		w.copied = w.pos
	}
}
