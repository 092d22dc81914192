package shield

import (
	"strings"
	"unicode/utf8"
)

// invisible finds characters that people do not see but models read, and those that change the direction of text. It allows what writing
// systems and emoji need: joiners between non-Latin letters, one variation selector, the tags of a flag.
func invisible(text string) []finding {
	var out []finding
	add := func(from, to int, category string) {
		if n := len(out); n > 0 && out[n-1].to == from && out[n-1].category == category {
			out[n-1].to = to
			return
		}
		out = append(out, finding{from: from, to: to, category: category, remove: true})
	}
	before := rune(0)
	for i := 0; i < len(text); {
		c, width := utf8.DecodeRuneInString(text[i:])
		end := i + width
		switch {
		case c == '\U0001F3F4': // a black flag: the tags after it select the region
			end += flagTags(text[end:])
		case c >= 0x202A && c <= 0x202E, c >= 0x2066 && c <= 0x2069:
			add(i, end, "bidi")
		case c >= 0xE0000 && c <= 0xE007F:
			add(i, end, "tag")
		case c == 0x200B, c >= 0x2060 && c <= 0x2064, c == 0xFEFF, c == 0x00AD, c == 0x180E:
			add(i, end, "zero_width")
		case (c == 0x200C || c == 0x200D) && before < 0x80:
			add(i, end, "zero_width")
		case selector(c) && selector(before):
			add(i, end, "selector")
		}
		before, i = c, end
	}
	return out
}

func selector(c rune) bool { return c >= 0xFE00 && c <= 0xFE0F || c >= 0xE0100 && c <= 0xE01EF }

// flagTags returns the length of a flag's tags: two to six, and a terminator.
func flagTags(text string) int {
	const end = "\U000E007F"
	tags, _, found := strings.Cut(text, end)
	if n := utf8.RuneCountInString(tags); !found || n < 2 || n > 6 {
		return 0
	}
	for _, c := range tags {
		if c < 0xE0020 || c > 0xE007E {
			return 0
		}
	}
	return len(tags) + len(end)
}
