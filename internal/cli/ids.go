package cli

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
func kindOf(cmd *cobra.Command, name string) string {
	switch name {
	case "SESSION", "TURN", "APPROVAL":
		return strings.ToLower(name)
	case "ID":
		for _, n := range nouns() {
			if p := cmd.Parent(); n.name == cmd.Name() || n.plural == cmd.Name() || p != nil && n.name == p.Name() {
				return n.name
			}
		}
	}
	return ""
}

// expand replaces shortened ids in arguments and flags by whole ones.
func (c *call) expand() error {
	var err error
	for i, a := range usage.Arguments(c.cmd) {
		kind := kindOf(c.cmd, a.Name)
		for j := i; kind != "" && j < len(c.args) && (j == i || a.Many); j++ {
			if c.args[j], err = c.whole(kind, c.args[j]); err != nil {
				return err
			}
		}
	}
	for _, kind := range []string{"session", "turn"} {
		f := c.cmd.Flags().Lookup(kind)
		if f == nil || f.Value.String() == "" {
			continue
		}
		id, err := c.whole(kind, f.Value.String())
		if err != nil {
			return err
		}
		if err := f.Value.Set(id); err != nil {
			return err
		}
	}
	return nil
}

// whole returns the id that a text stands for: "@last", or a beginning that only one resource has. Other texts are returned as they are.
func (c *call) whole(kind, text string) (string, error) {
	prefix := prefixes[kind]
	switch {
	case prefix == "":
		return text, nil
	case text == lastWord:
		if id := c.state.Last(kind); id != "" {
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
func (c *call) newest(kind string) []string {
	var out []string
	for _, n := range nouns() {
		if n.name != kind {
			continue
		}
		items, _, err := c.client.List(c.ctx, n.path, n.plural, nil, maxCandidates)
		if err != nil {
			return nil
		}
		for _, raw := range items {
			if id, _, err := n.read(raw, c.now); err == nil {
				out = append(out, id)
			}
		}
	}
	return out
}
