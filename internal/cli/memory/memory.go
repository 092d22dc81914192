// Package memory has the commands for what agents remember about their user.
package memory

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/enum"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
)

// Command returns "windlass memory".
func Command(r *command.Runner) *cobra.Command {
	list := &cobra.Command{
		Use: "list [WORD…]", Short: "List what is remembered about you, and what is proposed", Args: cobra.ArbitraryArgs, RunE: r.Run(list),
	}
	list.Flags().String("state", "", "only facts in this state: active, proposed, superseded or rejected")
	add := &cobra.Command{
		Use: "add TEXT…", Short: "Have a fact remembered", Args: cobra.MinimumNArgs(1), RunE: r.Run(add),
		Long: "Have a fact remembered. ATTRIBUTE = VALUE replaces an earlier value of the attribute; any other text is a note.",
		Example: "  windlass memory add home town = Bonn\n  windlass memory add --entity brother home town = Oslo\n" +
			"  windlass memory add I prefer short answers",
	}
	add.Flags().String("entity", "", "what the fact is about; none = you")
	add.Flags().String("agent", "", "the only agent that may use it; none = all")
	accept := &cobra.Command{Use: "accept ID", Short: "Accept a proposed fact", Args: cobra.ExactArgs(1), RunE: r.Run(accept)}
	reject := &cobra.Command{Use: "reject ID", Short: "Reject a proposed fact", Args: cobra.ExactArgs(1), RunE: r.Run(reject)}
	forget := &cobra.Command{
		Use: "forget ID|--all", Short: "Have a fact forgotten, so that no model has it remembered again", Args: cobra.MaximumNArgs(1),
		RunE: r.Run(forget),
	}
	forget.Flags().Bool("all", false, "forget all facts")
	export := &cobra.Command{
		Use: "export", Short: "Write all facts, those that are superseded included, as Markdown; -o json for data", Args: cobra.NoArgs,
		RunE: r.Run(export),
	}
	on := &cobra.Command{
		Use: "on", Short: "Switch memory on", Args: cobra.NoArgs,
		RunE: r.Run(func(c *command.Call) error { return turn(c, false) }),
	}
	off := &cobra.Command{
		Use: "off", Short: "Switch memory off: nothing is remembered or used; what there is stays", Args: cobra.NoArgs,
		RunE: r.Run(func(c *command.Call) error { return turn(c, true) }),
	}
	return usage.Group("memory", "Memory: what agents remember about you", nil,
		append([]*cobra.Command{list, add, accept, reject, forget, export, on, off}, documentCommands(r)...)...)
}

func list(c *command.Call) error {
	req := &knowledgev1.ListFactsRequest{Q: strings.Join(c.Args, " ")}
	if state := c.Flag("state"); state != "" {
		n, ok := knowledgev1.FactState_value["FACT_STATE_"+strings.ToUpper(state)]
		if !ok {
			return fmt.Errorf("there is no state %q: use active, proposed, superseded or rejected", output.Line(state))
		}
		req.State = knowledgev1.FactState(n)
	}
	header := []string{"ID", "STATE", "ABOUT", "FACT", "AGE"}
	return command.PrintListing(c, req, 0, header, func(f *knowledgev1.Fact) (string, []string) {
		return f.GetId(), []string{
			f.GetId(), enum.Name(f.GetState()), output.Cell(f.GetEntity()), output.Cell(f.GetText()), c.Ago(f.GetCreateTime().AsTime()),
		}
	})
}

func add(c *command.Call) error {
	fact := &knowledgev1.Fact{Entity: c.Flag("entity"), AgentId: c.Flag("agent")}
	text := strings.Join(c.Args, " ")
	if attribute, value, found := strings.Cut(text, "="); found {
		fact.Attribute, fact.Value = strings.TrimSpace(attribute), strings.TrimSpace(value)
	} else {
		fact.Text = text
	}
	return changed(c, &knowledgev1.CreateFactRequest{Fact: fact}, "remembered")
}

func accept(c *command.Call) error {
	fact := &knowledgev1.Fact{Id: c.Args[0], State: knowledgev1.FactState_FACT_STATE_ACTIVE}
	return changed(c, &knowledgev1.UpdateFactRequest{Fact: fact}, "accepted")
}

func reject(c *command.Call) error {
	fact := &knowledgev1.Fact{Id: c.Args[0], State: knowledgev1.FactState_FACT_STATE_REJECTED}
	return changed(c, &knowledgev1.UpdateFactRequest{Fact: fact}, "rejected")
}

func forget(c *command.Call) error {
	all := c.Bool("all")
	switch {
	case all == (len(c.Args) == 1):
		return errors.New("name a fact, or set --all")
	case !all:
		return c.Done(&knowledgev1.DeleteFactRequest{FactId: c.Args[0]}, c.Args[0], "fact %s forgotten", output.Line(c.Args[0]))
	}
	var done knowledgev1.ForgetAllResponse
	raw, err := c.Do(&knowledgev1.ForgetAllRequest{}, &done)
	if err != nil {
		return err
	}
	return c.Printf("", raw, "facts that were forgotten: %d", done.GetForgotten())
}

func export(c *command.Call) error {
	var all knowledgev1.ExportMemoryResponse
	raw, err := c.Do(&knowledgev1.ExportMemoryRequest{}, &all)
	if err != nil {
		return err
	}
	return c.Printf("", raw, "%s", strings.TrimRight(output.Text(all.GetMarkdown()), "\n"))
}

// turn switches memory off or on.
func turn(c *command.Call, off bool) error {
	var after knowledgev1.MemorySettings
	raw, err := c.Do(&knowledgev1.UpdateMemorySettingsRequest{Settings: &knowledgev1.MemorySettings{Off: off}}, &after)
	if err != nil {
		return err
	}
	state := "on"
	if after.GetOff() {
		state = "off"
	}
	return c.Printf(state, raw, "memory is %s", state)
}

// changed makes a call that returns a fact, and says what became of it.
func changed(c *command.Call, req proto.Message, what string) error {
	var f knowledgev1.Fact
	raw, err := c.Do(req, &f)
	if err != nil {
		return err
	}
	return c.Printf(f.GetId(), raw, "%s %s: %s", f.GetId(), what, output.Line(f.GetText()))
}
