package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// flagValue hands what the command line says of a flag to set. It implements pflag.Value.
type flagValue struct {
	kind string
	set  func(string) error
}

func (v flagValue) String() string     { return "" }
func (v flagValue) Set(s string) error { return v.set(s) }
func (v flagValue) Type() string       { return v.kind }

// flagSet returns the flags of a command. They hand each value to keep as it is, so that a wrong one ends nothing.
func flagSet(rows []setting, keep func(name, value string) error) *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.Usage = func() {}
	for _, r := range rows {
		kind := r.placeholder
		if r.isList {
			kind = "stringSlice" // by this name cobra knows that it may be repeated
		}
		f := fs.VarPF(flagValue{kind, func(s string) error { return keep(r.name, s) }}, r.name, "", r.about)
		if r.isBool {
			f.NoOptDefVal = "true"
		}
	}
	return fs
}

// line is what a command line says, before anybody has looked at the values.
type line struct {
	given          map[string][]string // by flag
	rest, problems []string            // arguments; what is wrong with the flags
}

// readLine reads a command line. It fails with pflag.ErrHelp where the line asks for help.
func readLine(command string, rows []setting, args []string) (line, error) {
	l := line{given: make(map[string][]string)}
	fs := flagSet(rows, func(name, value string) error { l.given[name] = append(l.given[name], value); return nil })
	for len(args) > 0 { // pflag sees one argument after the other, so that the operator hears all problems at once
		arg := []string{args[0]}
		args = args[1:]
		switch a := arg[0]; {
		case a == "--":
			l.rest = append(l.rest, args...)
			return l, nil
		case len(a) > 1 && a[0] == '-' && a[1] != '-' && a != "-h": // -data is --data, as the flag package of Go has it
			arg[0] = "-" + a
		}
		err := fs.Parse(arg)
		if _, lacks := errors.AsType[*pflag.ValueRequiredError](err); lacks && len(args) > 0 {
			err = fs.Parse(append(arg, args[0]))
			args = args[1:]
		}
		unknown, is := errors.AsType[*pflag.NotExistError](err)
		switch {
		case errors.Is(err, pflag.ErrHelp):
			return l, err
		case is:
			l.problems = append(l.problems, noSuchFlag(command, unknown.GetSpecifiedName(), rows))
			if len(args) > 0 && !strings.HasPrefix(args[0], "-") && !strings.Contains(arg[0], "=") {
				args = args[1:] // the value of the wrong flag
			}
		case err != nil:
			l.problems = append(l.problems, fmt.Sprintf("%v (see graspd %s --help)", err, command))
		}
		l.rest = append(l.rest, fs.Args()...)
	}
	return l, nil
}

// parse fills the settings from the defaults, the configuration file, the environment and the command line; a later one goes before an
// earlier one. It returns the remaining arguments and every problem, and fails like readLine.
func parse(command string, rows []setting, args []string, env environment) (rest, problems []string, err error) {
	l, err := readLine(command, rows, args)
	if err != nil {
		return nil, nil, err
	}
	problems = slices.Concat(env.fileProblems(), env.unknown(), l.problems)
	for _, r := range rows {
		from, values := "--"+r.name, l.given[r.name]
		if len(values) == 0 {
			if s, ok := env[r.env()]; ok {
				from, values = env.origin(r.env()), []string{s}
			} else {
				values = []string{r.def}
			}
		}
		for _, s := range values {
			if err := r.set(s); err != nil && r.secret {
				problems = append(problems, fmt.Sprintf("%s: %v", from, err))
			} else if err != nil {
				problems = append(problems, fmt.Sprintf("%s: %q is not allowed: %v", from, s, err))
			}
		}
	}
	return l.rest, problems, nil
}

// parseAlone parses for a command that takes no arguments. It adds hint to the problem of an argument.
func parseAlone(command, hint string, rows []setting, args []string, env environment) ([]string, error) {
	rest, problems, err := parse(command, rows, args, env)
	for _, a := range rest {
		problems = append(problems, fmt.Sprintf("%s takes no argument %q%s", command, a, hint))
	}
	return problems, err
}
