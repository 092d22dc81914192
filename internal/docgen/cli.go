package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/serve"
)

const cliIntro = "`windlass` is the program for users: it runs all of Windlass on one machine, and is a client of any Windlass server. " +
	"`windlassd` runs\n" +
	"roles of a mesh. `windlass completion SHELL` prints a completion script for bash, zsh, fish or PowerShell.\n\n" +
	"Exit codes:\n\n| Code | Meaning |\n|---|---|\n| 0 | ok |\n| 1 | error |\n| 2 | wrong usage |\n| 3 | not found |\n| 4 | denied |\n| 5 " +
	"| the turn failed |\n| 6 | the turn waits for a person, and nobody could be asked |"

// writeCLI writes the page of commands.
func writeCLI(w *writer, _ string) error {
	w.title("Commands", cliIntro)
	a := &app.App{Version: "docs"}
	for _, root := range []*cobra.Command{cli.New(a, serve.Commands(a)...), serve.Daemon(a)} {
		command(w, root)
		if global := root.PersistentFlags(); global.HasFlags() {
			w.line("\nFlags of all commands:\n\n```text\n%s\n```", strings.TrimRight(global.FlagUsages(), "\n"))
		}
		walk(root, func(c *cobra.Command) { command(w, c) })
	}
	return nil
}

// walk visits all subcommands, parents first, except aliases of others.
func walk(c *cobra.Command, visit func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() || sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		visit(sub)
		if sub.Name() == "get" || sub.Name() == "list" {
			continue // "windlass get agents" is "windlass agent get"
		}
		walk(sub, visit)
	}
}

func command(w *writer, c *cobra.Command) {
	level := "##"
	if c.HasParent() {
		level = "###"
	}
	text := c.Long
	if text == "" {
		text = sentence(c.Short)
	}
	w.line("\n%s %s\n", level, c.CommandPath())
	w.line("%s", paragraphs(text))
	if use := c.UseLine(); c.Runnable() && (!c.HasSubCommands() || strings.Contains(c.Use, " ")) {
		w.line("\n```text\n%s\n```", use)
	}
	if flags := c.NonInheritedFlags(); flags.HasAvailableFlags() && c.HasParent() {
		w.line("\n```text\n%s\n```", strings.TrimRight(flags.FlagUsages(), "\n"))
	}
	if c.Example != "" {
		w.line("\nExamples:\n\n```text\n%s\n```", strings.TrimRight(c.Example, "\n"))
	}
}

// paragraphs keeps lists that are aligned with spaces as they are.
func paragraphs(text string) string {
	var out []string
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.Contains(part, "\n  ") {
			part = "```text\n" + part + "\n```"
		}
		out = append(out, part)
	}
	return strings.Join(out, "\n\n")
}
