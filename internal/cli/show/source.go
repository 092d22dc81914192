package show

import (
	"fmt"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Sources returns a line for each passage that content cites: its number, the document, and where the passage stands in it.
func Sources(parts []*turnv1.ContentPart) []string {
	var lines []string
	last := int32(0)
	for _, p := range parts {
		for _, c := range p.GetCitations() {
			if c.GetNumber() > last { // the first of its marks
				last = c.GetNumber()
				lines = append(lines, sourceLine(c))
			}
		}
	}
	return lines
}

func sourceLine(c *turnv1.Citation) string {
	line := fmt.Sprintf("[%d] %s", c.GetNumber(), c.GetDocumentName())
	if c.GetPage() > 0 {
		line += fmt.Sprintf(", page %d", c.GetPage())
	}
	if len(c.GetHeading()) > 0 {
		line += ", " + strings.Join(c.GetHeading(), " > ")
	}
	return fmt.Sprintf("%s (%s/%s, bytes %d to %d)", line, c.GetBankId(), c.GetDocumentId(), c.GetStart(), c.GetEnd())
}
