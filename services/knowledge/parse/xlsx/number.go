package xlsx

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/services/knowledge/parse/office"
)

// maxStyles limits the styles of cells.
const maxStyles = 100_000

// readStyles finds the styles whose numbers are times.
func (w *workbook) readStyles(a *office.Archive, part string) error {
	in, err := a.Part(part)
	if in == nil || err != nil {
		return err
	}
	custom := map[string]bool{}
	return in.Elements(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			if len(custom) < maxStyles {
				custom[office.Attribute(e, "numFmtId")] = isTime(office.Attribute(e, "formatCode"))
			}
		case "cellXfs":
			return in.Each(func(e xml.StartElement) error {
				if id := office.Attribute(e, "numFmtId"); e.Name.Local == "xf" && len(w.dates) < maxStyles {
					w.dates = append(w.dates, custom[id] || isBuiltinTime(id))
				}
				return nil
			})
		}
		return nil
	})
}

// isBuiltinTime reports whether a format that Excel defines is one of times.
func isBuiltinTime(id string) bool {
	n, err := strconv.Atoi(id)
	return err == nil && (n >= 14 && n <= 22 || n >= 45 && n <= 47)
}

// isTime reports whether a format is one of times: its letters outside of quotes and brackets are those of dates or hours.
func isTime(format string) bool {
	quoted, bracket := false, false
	for i := 0; i < len(format); i++ {
		switch c := format[i]; {
		case c == '\\' || c == '_' || c == '*':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			bracket = true
		case c == ']':
			bracket = false
		case !bracket && strings.IndexByte("ydhsYDHS", c) >= 0:
			return true
		}
	}
	return false
}

// lastDay is the last day of the year 9999.
const lastDay = 2958466

// number returns a number as it is stored, or the time that it stands for: a date, an hour, or both.
func (w *workbook) number(value, style string) string {
	n, err := strconv.Atoi(style)
	if err != nil || n < 0 || n >= len(w.dates) || !w.dates[n] {
		return value
	}
	days, err := strconv.ParseFloat(value, 64)
	if err != nil || days < 0 || days >= lastDay {
		return value
	}
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC) // which has day 60 as the 28th of February 1900, as Excel has the 29th
	if w.from == 1904 {
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	} else if days < 60 {
		days++
	}
	whole, part := math.Modf(days)
	at := epoch.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round(part*24*60*60)) * time.Second)
	clock := at.Format("15:04:05")
	switch {
	case part == 0:
		return at.Format("2006-01-02")
	case whole <= 1 && w.from == 0 || whole == 0:
		return clock
	}
	return at.Format("2006-01-02 ") + clock
}
