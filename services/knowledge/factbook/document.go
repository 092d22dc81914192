package factbook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// MaxDocument is the maximum size of a document in bytes.
	MaxDocument = 4 << 20
	// title is the first heading of a document. Its etag follows as a comment.
	title = "# Memory"
	// equals stands between an attribute and its value.
	equals = " = "
	// etagDigits is the length of an etag.
	etagDigits = 32
)

// comment is what stands behind a fact or the title.
var comment = regexp.MustCompile(`\s*<!-- ([0-9A-Za-z_]+)(?: [^>]*)?-->\s*$`)

// Document is facts of a user as a text that can be edited: headings are entities, and each line is a fact.
type Document struct {
	// Markdown is the text; its title has the etag.
	Markdown string
	// Etag changes whenever the document does.
	Etag string
}

// shows reports whether the document for an agent has a fact: for no agent those of all agents.
func shows(f store.Fact, agent string) bool {
	return agent == "" || f.AgentID == "" || f.AgentID == agent
}

// current returns the active facts that the document for an agent has.
func current(facts []store.Fact, agent string) (out []store.Fact) {
	for _, f := range facts {
		if f.State == store.FactActive && shows(f, agent) {
			out = append(out, f)
		}
	}
	return out
}

// render writes facts, oldest first below each entity.
func render(facts []store.Fact) Document {
	groups := map[string][]store.Fact{}
	names := []string{user}
	for _, f := range slices.Backward(facts) {
		name := headingOf(f)
		if groups[name] == nil && name != user {
			names = append(names, name)
		}
		groups[name] = append(groups[name], f)
	}
	slices.Sort(names[1:])
	var b strings.Builder
	for _, name := range names {
		if len(groups[name]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", name)
		for _, f := range groups[name] {
			about := f.ID + " "
			if f.AgentID != "" {
				about += "agent " + f.AgentID + " "
			}
			fmt.Fprintf(&b, "- %s <!-- %s-->\n", lineOf(f), about)
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	etag := hex.EncodeToString(sum[:])[:etagDigits]
	return Document{Markdown: title + " <!-- " + etag + " -->\n" + b.String(), Etag: etag}
}

func headingOf(f store.Fact) string { return oneLine(entityOf(f.Entity)) }

// lineOf returns a fact as it stands in a document.
func lineOf(f store.Fact) string {
	if f.Attribute != "" && f.Text == sentence(f) {
		return oneLine(f.Attribute) + equals + oneLine(f.Value)
	}
	return oneLine(f.Text)
}

// entry is a line of a document that is a fact.
type entry struct {
	line             int
	id, entity, text string
}

// parsed is a document that was read.
type parsed struct {
	etag    string
	entries []entry
}

// parse reads a document; a fault that names the line if one is neither a heading nor a fact.
func parse(markdown string) (p parsed, err error) {
	wrong := func(line int, format string, args ...any) error {
		return fault.Invalid("markdown", "line %d %s", line, fmt.Sprintf(format, args...))
	}
	if len(markdown) > MaxDocument {
		return p, fault.Invalid("markdown", "has more than %d bytes", MaxDocument)
	}
	entity, seen := user, map[string]int{}
	for i, line := range strings.Split(markdown, "\n") {
		line = strings.TrimSpace(line)
		rest, found := strings.CutPrefix(line, "- ")
		if !found {
			rest, found = strings.CutPrefix(line, "* ")
		}
		switch {
		case line == "":
		case strings.HasPrefix(line, "## "):
			entity = oneLine(line[3:])
		case strings.HasPrefix(line, title) && comment.ReplaceAllString(line, "") == title:
			if m := comment.FindStringSubmatch(line); m != nil {
				p.etag = m[1]
			}
		case !found:
			return p, wrong(i+1, "is neither a heading (## ENTITY) nor a fact (- TEXT)")
		default:
			e := entry{line: i + 1, entity: entity, text: oneLine(comment.ReplaceAllString(rest, ""))}
			if m := comment.FindStringSubmatch(rest); m != nil {
				e.id = m[1]
			}
			if before := seen[e.id]; e.id != "" && before > 0 {
				return p, wrong(i+1, "has the fact %s of line %d again", e.id, before)
			}
			if e.text == "" {
				return p, wrong(i+1, "has no text: delete the whole line to have a fact forgotten")
			}
			seen[e.id] = e.line
			p.entries = append(p.entries, e)
		}
	}
	return p, nil
}
