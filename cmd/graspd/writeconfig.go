package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/conffile"
)

// configCommand writes a configuration file with what is in force: flags, variables and another file count as for serve.
func configCommand(_ context.Context, args []string, std stdio, env environment) error {
	var c Config
	rows := c.settings()
	inForce := recorded(rows)
	problems, err := parseAlone("config", "; it writes to its output: graspd config >graspd.toml", rows, args, std, env)
	if err != nil {
		return err
	}
	_, wrong := c.read()
	if err := misused(append(problems, wrong...)); err != nil {
		return err
	}
	writeConfig(std.out, rows, inForce)
	return nil
}

// writeConfig writes each setting with its help. What is as by default is commented out, so that it follows the default of a later version.
func writeConfig(w io.Writer, rows []setting, inForce map[string][]string) {
	fmt.Fprint(w, "# Settings of graspd. Use it as graspd serve --config FILE, or with the variable GRASPD_CONFIG.\n"+
		"# Flags and variables go before what stands here. What is commented out is the default.\n")
	told, _ := command{grouped: true}.sorted(rows)
	for _, s := range told {
		rows := slices.DeleteFunc(s.rows, func(r setting) bool { return r.name == "config" })
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n# %s.\n", s.title)
		for _, r := range rows {
			fmt.Fprintln(w)
			for _, line := range wrap(r.about, helpWidth-2) {
				fmt.Fprintf(w, "# %s\n", line)
			}
			values := inForce[r.name]
			if slices.Equal(values, []string{r.def}) {
				fmt.Fprint(w, "# ")
			}
			fmt.Fprintln(w, r.entry(values).Write())
		}
	}
}

// entry is how a setting with these values stands in a file.
func (s setting) entry(values []string) conffile.Entry {
	e := conffile.Entry{Key: s.name, Values: values[len(values)-1:]}
	switch {
	case s.many:
		e.Kind, e.Values = conffile.List, nil
		for _, v := range values {
			for _, x := range strings.Split(v, ",") {
				if x = strings.TrimSpace(x); x != "" {
					e.Values = append(e.Values, x)
				}
			}
		}
	case s.isBool:
		e.Kind, e.Values = conffile.Bool, []string{fmt.Sprint(truth(e.Values[0]))}
	case s.place == "N":
		e.Kind = conffile.Number
	}
	return e
}

// truth is what a switch is set to by a text that it takes.
func truth(s string) bool {
	var is bool
	_ = boolean("", "", "", &is).set(s) // it was taken before
	return is
}
