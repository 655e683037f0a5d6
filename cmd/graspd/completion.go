package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completers returns a writer of the completion script for each shell. A script asks graspd itself what may come next.
func completers() map[string]func(*cobra.Command, io.Writer) error {
	return map[string]func(*cobra.Command, io.Writer) error{
		"bash": func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) },
		"zsh":  (*cobra.Command).GenZshCompletion,
		"fish": func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
	}
}

// shells returns the names of the shells that graspd can complete for.
func shells() []string { return slices.Sorted(maps.Keys(completers())) }

// completionCommand writes the completion script of a shell.
func completionCommand(_ context.Context, args []string, std stdio, env environment) error {
	rest, problems, err := parse("completion", nil, args, env)
	if err != nil {
		return err
	}
	if len(rest) != 1 || completers()[rest[0]] == nil {
		problems = append(problems, fmt.Sprintf("completion takes one of %s, got %q", strings.Join(shells(), ", "), rest))
	}
	if err := misused(problems); err != nil {
		return err
	}
	return completers()[rest[0]](commandTree(std, env, true), std.out)
}

// choices returns the values of a flag that takes only a few; nil for any other flag.
func (s setting) choices() []string {
	switch {
	case s.placeholder == "LEVEL":
		return []string{"debug", "info", "warn", "error"}
	case strings.Contains(s.placeholder, "|") && strings.ToLower(s.placeholder) == s.placeholder:
		return strings.Split(s.placeholder, "|")
	}
	return nil
}
