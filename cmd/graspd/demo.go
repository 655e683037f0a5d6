package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/graspd/graspd/internal/demo"
	"github.com/graspd/graspd/internal/operate/logs"
)

// demoOptions are the settings of the demo command.
type demoOptions struct{ once, stay, verbose bool }

func (o *demoOptions) settings() []setting {
	return []setting{
		boolean("once", "false", "end once everything was shown, on a terminal too", &o.once),
		boolean("stay", "false", "go on until Ctrl-C, even where the output is no terminal", &o.stay),
		boolean("verbose", "false", "print the log of your relay", &o.verbose),
	}
}

// demoCommand shows, on this machine alone, how an empty relay becomes complete from three others, and stays complete.
func demoCommand(ctx context.Context, args []string, std stdio, env environment) error {
	var o demoOptions
	problems, err := parseAlone("demo", "", o.settings(), args, env)
	if o.once && o.stay {
		problems = append(problems, "--once and --stay contradict each other")
	}
	if err = cmp.Or(err, misused(problems)); err != nil {
		return err
	}
	c := demo.Config{Screen: screenOf(std.out, false), Stay: o.stay || !o.once && isTerminal(std.out), Logger: slog.New(slog.DiscardHandler), Version: versionString()}
	c.Out = above(c.Screen, std.out)
	if o.verbose {
		to := std.err
		if isTerminal(to) {
			to = above(c.Screen, to)
		}
		c.Logger = logs.New(to, logs.Config{Terminal: isTerminal(to)})
	}
	if err := demo.Run(ctx, c); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	fmt.Fprintln(std.out, "All relays have stopped; their data is removed.")
	return nil
}
