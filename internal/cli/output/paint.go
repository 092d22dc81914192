package output

import "strings"

// colours are those of states, as the Temporal UI and kubectl's users know them: SGR codes.
var colours = map[string]string{
	"completed": "32", "ready": "32", "approved": "32", "answered": "32", "done": "32", "yes": "32",
	"running": "36", "queued": "36", "pending": "33", "waiting": "33", "degraded": "33", "unresolved": "33", "paused": "33",
	"failed": "31", "unreachable": "31", "invalid": "31", "denied": "31", "error": "31", "no": "31", "exhausted": "31",
	"cancelled": "90", "disabled": "90", "expired": "90", "closed": "90",
}

// painted are the columns whose cells are states.
var painted = map[string]bool{"STATUS": true, "STATE": true, "ALLOWED": true, "AVAILABLE": true}

// Paint colours a cell of a table if it is a state.
func Paint(column, cell string) string {
	word, _, _ := strings.Cut(strings.TrimRight(cell, " "), ",")
	code := colours[word]
	if !painted[column] || code == "" {
		return cell
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m" + cell[len(word):]
}
