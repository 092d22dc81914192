package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/version"
	"github.com/windlass-dev/windlass/libs/config"
)

// reference returns the command that lists all configuration keys.
func reference(a *app.App) *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "List everything that can be configured",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if markdown {
				return writeMarkdown(a.Out, assembly.Keys())
			}
			return writeKeys(a.Out, assembly.Keys())
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a Markdown table")
	return cmd
}

func writeKeys(w io.Writer, keys []config.Key) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	rows := []string{"KEY\tTYPE\tDEFAULT\tMEANING"}
	for _, k := range keys {
		rows = append(rows, strings.Join([]string{k.Path, k.Type, k.Default, k.Doc}, "\t"))
	}
	for _, row := range rows {
		if _, err := fmt.Fprintln(t, row); err != nil {
			return err
		}
	}
	return t.Flush()
}

func writeMarkdown(w io.Writer, keys []config.Key) error {
	var b strings.Builder
	b.WriteString("| Key | Environment variable | Type | Default | Meaning |\n|---|---|---|---|---|\n")
	for _, k := range keys {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(k.Path), code(k.Env), k.Type, code(k.Default), cell(k.Doc))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}

// cell keeps text inside its column.
func cell(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "\n", " ") }

func daemonVersion(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this binary as JSON", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return json.NewEncoder(a.Out).Encode(version.Of(a.Version)) },
	}
}
