package inventory

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// maxWarnings limits the warnings of a source.
const maxWarnings = 100

// clean removes tools that the source's owner switched off, and invisible characters from what people and models read of the others:
// people could not see what models are told.
func clean(s store.Source, found *store.Inventory) {
	if more := len(found.Warnings) - maxWarnings; more > 0 {
		found.Warnings = append(found.Warnings[:maxWarnings-1:maxWarnings-1], fmt.Sprintf("and %d more", more+1))
	}
	found.Tools = slices.DeleteFunc(found.Tools, func(t store.Found) bool { return glob.Any(s.Spec.Exclude, t.OriginalName) })
	for i := range found.Tools {
		t := &found.Tools[i]
		title, hiddenTitle := visible(t.Title)
		description, hidden := visible(t.Description)
		if hidden += hiddenTitle; hidden > 0 && len(found.Warnings) < maxWarnings {
			found.Warnings = append(found.Warnings, fmt.Sprintf("%s: its description had %d invisible characters, which were removed",
				t.OriginalName, hidden))
		}
		t.Title, t.Description = title, description
	}
	for _, warning := range offers(found.Tools) {
		if len(found.Warnings) < maxWarnings {
			found.Warnings = append(found.Warnings, warning)
		}
	}
}

// visible removes characters that change what is read without being seen: controls, zero-width and bidirectional ones, tags and variation
// selectors of the supplementary range. It counts them. Line breaks, tabs, and what emoji and scripts need stay.
func visible(text string) (string, int) {
	removed := 0
	out := strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\u200d', r == '\u200c': // joiners are a part of emoji and of scripts
			return r
		case r == '\r', r == 0: // not every database can store the latter
			return -1
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), r >= 0xE0100 && r <= 0xE01EF, r == '\u2028', r == '\u2029', r == '\u115F',
			r == '\u1160', r == '\u3164', r == '\uFFA0':
			removed++
			return -1
		}
		return r
	}, text)
	return out, removed
}
