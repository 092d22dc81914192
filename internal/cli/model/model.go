// Package model has the commands for models.
package model

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/inference/price"
)

// Noun returns "windlass model".
func Noun() command.Noun {
	n := command.Noun{
		Name: "model", Plural: "models", Short: "Models that can be asked", List: &inferencev1.ListModelsRequest{},
		Header: []string{"NAME", "DEFAULT", "TOOLS", "CONTEXT", "INPUT"},
		Read: command.Typed((*inferencev1.Model).GetName, func(m *inferencev1.Model, _ time.Time) []string {
			window := ""
			if m.GetContextWindow() > 0 {
				window = fmt.Sprint(m.GetContextWindow())
			}
			return []string{
				m.GetName(), output.YesNo(m.GetDefault()), output.YesNo(m.GetSupportsTools()), window,
				strings.Join(m.GetCapabilities().GetInput(), " "),
			}
		}),
	}
	n.More = func(r *command.Runner) []*cobra.Command {
		return append(commands(r), &cobra.Command{
			Use: "get MODEL", Short: "Show one model", Args: cobra.ExactArgs(1),
			RunE: r.Run(func(c *command.Call) error {
				return n.Send(c, &inferencev1.ResolveModelRequest{Model: c.Args[0]})
			}),
		})
	}
	return n
}

func commands(r *command.Runner) []*cobra.Command {
	prices := &cobra.Command{Use: "prices", Short: "Prices of models"}
	prices.AddCommand(importCommand())
	explaining := &cobra.Command{
		Use: "explain AGENT", Short: "Say which models a turn with an agent calls, and why", Args: cobra.ExactArgs(1), RunE: r.Run(explain),
		Long: "Say which models a turn of yours with an agent would call, in order: the next one when the one before fails.\n" +
			"Models that a policy denies to you, and those that no provider has, follow with the reason.",
		Example: "  windlass model explain support\n  windlass model explain support --modality image --size 60000",
	}
	explaining.Flags().String("session", "", "session of the turn")
	explaining.Flags().StringArray("modality", nil, "modality of the input: text, image, audio, video or file; may be repeated")
	explaining.Flags().Int64("size", 0, "estimated tokens of the conversation")
	return []*cobra.Command{prices, explaining, healthCommand(r), tryCommand(r)}
}

func explain(c *command.Call) error {
	modalities, _ := c.Cmd.Flags().GetStringArray("modality") // the flags exist
	size, _ := c.Cmd.Flags().GetInt64("size")
	var e sessionsv1.ExplainModelsResponse
	raw, err := c.Do(&sessionsv1.ExplainModelsRequest{
		AgentId: c.Args[0], SessionId: c.Flag("session"), Modalities: modalities, Size: size,
	}, &e)
	if err != nil {
		return err
	}
	return c.Print("", raw, func(w io.Writer) error {
		var rows [][]string
		for i, t := range e.GetTargets() {
			rows = append(rows, []string{fmt.Sprint(i + 1), t.GetModel(), output.Cell(t.GetReason())})
		}
		for _, t := range e.GetSkipped() {
			rows = append(rows, []string{"-", t.GetModel(), output.Cell(t.GetReason())})
		}
		return output.Rows(w, []string{"ORDER", "MODEL", "REASON"}, rows)
	})
}

// importCommand is "windlass model prices import". It reads a file and calls no server.
func importCommand() *cobra.Command {
	var providers []string
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Convert LiteLLM's prices to a file for inference.price_file", Args: cobra.ExactArgs(1),
		Long: "Convert prices of LiteLLM's file model_prices_and_context_window.json to the form of inference.price_file, on standard output. " +
			"Nothing is fetched: download the file yourself, and look at what you use.",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			names := map[string]string{}
			for _, p := range providers {
				ours, theirs, mapped := strings.Cut(p, "=")
				if !mapped {
					theirs = ours
				}
				names[theirs] = ours
			}
			list, err := price.FromLiteLLM(file, names)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			_, err = cmd.OutOrStdout().Write(list.YAML())
			return err
		},
	}
	cmd.Flags().StringSliceVar(&providers, "provider", nil,
		"only models of this provider; NAME=THEIRS for one with another name in the file, such as house=openai")
	return cmd
}
