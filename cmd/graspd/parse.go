package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

var errHelp = errors.New("help was asked for")

// parse fills the settings from the defaults, the configuration file, the environment and the command line; a later one goes before an
// earlier one. It returns the remaining arguments and every problem. It fails with errHelp after it has printed the help.
func parse(command string, rows []setting, args []string, std stdio, env environment) ([]string, []string, error) {
	problems := slices.Concat(env.fileProblems(), env.unknown())
	given := make(map[string][]string)
	fs := flag.NewFlagSet("graspd "+command, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	for _, r := range rows {
		keep := func(s string) error { given[r.name] = append(given[r.name], s); return nil }
		if r.isBool {
			fs.BoolFunc(r.name, r.about, keep)
		} else {
			fs.Func(r.name, r.about, keep)
		}
	}
	var rest []string
	for len(args) > 0 { // it goes on after a wrong flag or an argument, so that the operator hears all problems at once
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			helpOn(std.out, command, rows)
			return nil, nil, errHelp
		}
		args = fs.Args()
		switch name, unknown := unknownFlag(err); {
		case err == nil && len(args) > 0:
			rest, args = append(rest, args[0]), args[1:]
		case unknown:
			problems = append(problems, noSuchFlag(command, name, rows))
			if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				args = args[1:] // the value of the wrong flag
			}
		case err != nil:
			problems = append(problems, fmt.Sprintf("%v (see graspd %s --help)", err, command))
		}
	}
	for _, r := range rows {
		from, values := "--"+r.name, given[r.name]
		if len(values) == 0 {
			if s, ok := env[r.env()]; ok {
				from, values = env.origin(r.env()), []string{s}
			} else {
				values = []string{r.def}
			}
		}
		for _, s := range values {
			if err := r.set(s); err != nil {
				problems = append(problems, fmt.Sprintf("%s: %q is not allowed: %v", from, s, err))
			}
		}
	}
	return rest, problems, nil
}

// parseAlone parses for a command that takes no arguments. It adds hint to the problem of an argument.
func parseAlone(command, hint string, rows []setting, args []string, std stdio, env environment) ([]string, error) {
	rest, problems, err := parse(command, rows, args, std, env)
	for _, a := range rest {
		problems = append(problems, fmt.Sprintf("%s takes no argument %q%s", command, a, hint))
	}
	return problems, err
}
