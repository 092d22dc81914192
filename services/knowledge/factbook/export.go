package factbook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// All returns all facts of a user, newest first.
func (b *Book) All(ctx context.Context, o store.Owner) ([]store.Fact, error) {
	m, err := b.rows.Memory(ctx, o)
	return m.Facts, err
}

// Markdown writes facts as a document, by entity. Without facts it is empty.
func Markdown(facts []store.Fact) string {
	if len(facts) == 0 {
		return ""
	}
	entities := map[string][]store.Fact{}
	for _, f := range facts {
		entities[entityOf(f.Entity)] = append(entities[entityOf(f.Entity)], f)
	}
	names := make([]string, 0, len(entities))
	for name := range entities {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("# Memory\n")
	for _, name := range names {
		fmt.Fprintf(&b, "\n## %s\n\n", oneLine(name))
		for _, f := range entities[name] {
			fmt.Fprintf(&b, "- %s (%s)\n", oneLine(f.Text), note(f))
		}
	}
	return b.String()
}

// note says of a fact what its text does not.
func note(f store.Fact) string {
	parts := []string{f.ID, f.State, "since " + f.ValidFrom.UTC().Format("2006-01-02")}
	if !f.ValidTo.IsZero() {
		parts = append(parts, "until "+f.ValidTo.UTC().Format("2006-01-02"))
	}
	if f.AgentID != "" {
		parts = append(parts, "agent "+f.AgentID)
	}
	if f.TurnID != "" {
		parts = append(parts, "from "+f.TurnID)
	}
	return strings.Join(parts, ", ")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
