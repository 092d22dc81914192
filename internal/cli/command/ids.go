package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/ids"
)

// lastWord stands for the resource of a kind that the command line made or showed last.
const lastWord = "@last"

// idLength is the length of an id after its prefix and "_": that of a ULID.
const idLength = 26

// maxCandidates limits how many of the newest resources a shortened id is compared with.
const maxCandidates = 1000

// prefixes are the kinds whose ids are generated, so that nobody types them in full.
var prefixes = map[string]string{
	"session": ids.Session, "turn": ids.Turn, "approval": ids.Approval, "decision": ids.Decision, "execution": ids.Execution,
	"budget": ids.Budget, "webhook": ids.Webhook, "schedule": ids.Schedule,
}

// kindOf returns what kind of resource an argument names, "" if it names none: ID is that of the command's noun, SESSION and TURN say so.
func kindOf(nouns []Noun, cmd *cobra.Command, name string) string {
	switch name {
	case "SESSION", "TURN", "APPROVAL":
		return strings.ToLower(name)
	case "ID":
		for _, n := range nouns {
			if p := cmd.Parent(); n.Name == cmd.Name() || n.Plural == cmd.Name() || p != nil && n.Name == p.Name() {
				return n.Name
			}
		}
	}
	return ""
}

// expand replaces shortened ids in arguments and flags by whole ones.
func (c *Call) expand() error {
	var err error
	for i, a := range usage.Arguments(c.Cmd) {
		kind := kindOf(c.nouns, c.Cmd, a.Name)
		for j := i; kind != "" && j < len(c.Args) && (j == i || a.Many); j++ {
			if c.Args[j], err = c.Whole(kind, c.Args[j]); err != nil {
				return err
			}
		}
	}
	for _, kind := range []string{"session", "turn"} {
		f := c.Cmd.Flags().Lookup(kind)
		if f == nil || f.Value.String() == "" {
			continue
		}
		id, err := c.Whole(kind, f.Value.String())
		if err != nil {
			return err
		}
		if err := f.Value.Set(id); err != nil {
			return err
		}
	}
	return nil
}

// Whole returns the id that a text stands for: "@last", or a beginning that only one resource has. Other texts are returned as they are.
func (c *Call) Whole(kind, text string) (string, error) {
	prefix := prefixes[kind]
	switch {
	case prefix == "":
		return text, nil
	case text == lastWord:
		if id := c.State.Last(kind); id != "" {
			return id, nil
		}
		return "", app.Usage("there is no last %s: none was made or shown from here. %s %s list shows what there is", kind, c.Self, kind)
	case !strings.HasPrefix(text, prefix+"_") || len(text) >= len(prefix)+1+idLength:
		return text, nil
	}
	var found []string
	for _, id := range c.newest(kind) {
		if id == text {
			return text, nil
		}
		if strings.HasPrefix(id, text) {
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", app.Usage("%d %ss begin with %s, among them %s", len(found), kind, text, strings.Join(found[:min(3, len(found))], ", "))
	}
	return text, nil // the server says that there is none
}

// newest returns the ids of the newest resources of a kind, none if they cannot be listed.
func (c *Call) newest(kind string) []string {
	var out []string
	for _, n := range c.nouns {
		if n.Name != kind {
			continue
		}
		items, _, err := c.Client.List(c.Ctx, n.List, nil, maxCandidates)
		if err != nil {
			return nil
		}
		for _, raw := range items {
			if id, _, err := n.Read(raw, c.Now); err == nil {
				out = append(out, id)
			}
		}
	}
	return out
}
