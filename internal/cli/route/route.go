// Package route has the commands for routes, which choose the models of turns.
package route

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

// Noun returns "windlass route".
func Noun() command.Noun {
	return command.Noun{
		Name: "route", Plural: "routes", Short: "Routes: which models turns call",
		List: &inferencev1.ListRoutesRequest{}, Get: &inferencev1.GetRouteRequest{}, Remove: &inferencev1.DeleteRouteRequest{},
		Manifest: true, More: commands,
		Header: []string{"NAME", "ORIGIN", "PRIORITY", "DISABLED", "TARGETS", "WHEN"},
		Read: command.Typed((*inferencev1.Route).GetName, func(m *inferencev1.Route, _ time.Time) []string {
			return []string{
				m.GetName(), enum.Name(m.GetOrigin()), fmt.Sprint(m.GetPriority()), output.YesNo(m.GetDisabled()),
				output.Cell(strings.Join(targets(m), ",")), output.Cell(m.GetWhen()),
			}
		}),
	}
}

// targets returns the targets as --target takes them.
func targets(m *inferencev1.Route) (out []string) {
	for _, t := range m.GetTargets() {
		name := t.GetModel()
		if t.GetWeight() != 0 {
			name += fmt.Sprintf("=%d", t.GetWeight())
		}
		out = append(out, name)
	}
	return out
}

func commands(r *command.Runner) []*cobra.Command {
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a route", Args: cobra.ExactArgs(1), RunE: r.Run(create),
		Long: "Create a route of your tenant: the models of the turns that it matches, in place of those of their agents.\n" +
			"The first route that matches a turn applies: those of the configuration come first, then those of the tenant with the highest\n" +
			"priority. A change applies to the next turn.",
		Example: "  windlass route create vision --when '\"image\" in modalities' --target gemini/gemini-2.5-flash\n" +
			"  windlass route create share --target anthropic/claude-sonnet-4-5=3 --target openai/gpt-5.4-mini=1",
	}
	routeFlags(create)
	update := &cobra.Command{
		Use: "update NAME", Short: "Change a route", Args: cobra.ExactArgs(1), RunE: r.Run(update),
		Long:    "Change a route. What a flag gives replaces what the route had; without a flag it stays.",
		Example: "  windlass route update vision --target openai/gpt-5.4-mini\n  windlass route update vision --disabled",
	}
	routeFlags(update)
	return []*cobra.Command{create, update}
}

func routeFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("when", "", "condition in CEL, such as 'agent == \"support\" && size > 100000'; empty = each turn")
	f.StringArray("target", nil, "model to call, as PROVIDER/MODEL, or PROVIDER/MODEL=WEIGHT for a share of the sessions; may be repeated")
	f.Int32("priority", 0, "routes of the tenant with a higher priority are evaluated first, -1000 to 1000")
	f.Bool("switch-on-filter", false, "request an answer that a content filter ended from the next target")
	f.Bool("disabled", false, "switch the route off; --disabled=false switches it on")
	f.String("description", "", "what the route is for")
}

// change sets what flags set, and returns the names of the fields.
func change(c *command.Call, m *inferencev1.Route) (*fieldmaskpb.FieldMask, error) {
	changed, err := c.Changed(m, "when", "switch-on-filter=switch_on_filter", "description", "disabled", "priority")
	if err != nil || !c.Cmd.Flag("target").Changed {
		return changed, err
	}
	given, _ := c.Cmd.Flags().GetStringArray("target") // the flag exists
	all := make([]map[string]any, len(given))
	for i, text := range given {
		all[i] = target(text)
	}
	changed.Paths = append(changed.Paths, "targets")
	return changed, client.Set(m, "targets", all)
}

// target parses "provider/model" or "provider/model=weight".
func target(text string) map[string]any {
	if at := strings.LastIndex(text, "="); at > 0 {
		if weight, err := strconv.Atoi(text[at+1:]); err == nil {
			return map[string]any{"model": text[:at], "weight": weight}
		}
	}
	return map[string]any{"model": text}
}

func create(c *command.Call) error {
	m := &inferencev1.Route{Name: c.Args[0]}
	if _, err := change(c, m); err != nil {
		return err
	}
	return send(c, &inferencev1.CreateRouteRequest{Route: m}, "created")
}

func update(c *command.Call) error {
	m := &inferencev1.Route{Name: c.Args[0]}
	changed, err := change(c, m)
	if err != nil {
		return err
	}
	if len(changed.GetPaths()) == 0 {
		return app.Usage("say what to change, for example --target openai/gpt-5.4-mini")
	}
	return send(c, &inferencev1.UpdateRouteRequest{Route: m, UpdateMask: changed}, "updated")
}

func send(c *command.Call, req proto.Message, done string) error {
	var m inferencev1.Route
	raw, err := c.Do(req, &m)
	if err != nil {
		return err
	}
	return c.Printf(m.GetName(), raw, "route %s %s, revision %d; it applies to the next turn", output.Line(m.GetName()), done, m.GetRevision())
}
