package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/conffile"
	"github.com/graspd/graspd/internal/operate/nip86"
	"github.com/graspd/graspd/internal/operate/statustext"
)

// configCommand writes a configuration file with what is in force. Flags, variables and another file count as for serve.
func configCommand(ctx context.Context, args []string, std stdio, env environment) error {
	var c Config
	rows := c.settings()
	inForce := recorded(rows)
	problems, err := parseAlone("config", "; it writes to its output: graspd config >graspd.toml", rows, args, env)
	if err != nil {
		return err
	}
	_, wrong := c.read()
	if err := misused(append(problems, wrong...)); err != nil {
		return err
	}
	changes, note := c.changes(ctx)
	writeConfig(std.out, rows, inForce, changes, note)
	return nil
}

// patienceForChanges is how long changes waits for a running relay.
const patienceForChanges = 3 * time.Second

// changes asks a running relay what somebody has changed over the public address, and returns the changes that are in force beside these
// settings, by setting. Where no relay answers it returns a note instead. It asks only where --admin-pubkeys lets somebody change anything.
func (c *Config) changes(ctx context.Context) (map[string]nip86.Change, string) {
	if len(c.AdminPubKeys) == 0 {
		return nil, ""
	}
	const unknown = "What keys of admin-pubkeys have changed (NIP-86) is not known: "
	if c.AdminListen == "" {
		return nil, unknown + "there is no private listener."
	}
	ctx, cancel := context.WithTimeout(ctx, patienceForChanges)
	defer cancel()
	var s admin.Status
	if _, err := (statusOptions{listener: listener{base: adminBehind(c.AdminListen)}}).read(ctx, "/status.json?most=1", &s); err != nil {
		return nil, unknown + "no running graspd answers on " + c.AdminListen + "."
	}
	_, hold, _ := nip86.Apply(c.Info, s.Changed)
	out := make(map[string]nip86.Change, len(hold))
	for _, x := range hold {
		out[x.Setting] = x
	}
	return out, ""
}

// writeConfig writes each setting with its help. A setting that has its default is commented out, so that it follows the default of a later
// version. A setting that was changed over the public address stands there with the changed value.
func writeConfig(w io.Writer, rows []setting, inForce map[string][]string, changes map[string]nip86.Change, note string) {
	fmt.Fprint(w, "# Settings of graspd. Use it as graspd serve --config FILE, or with the variable GRASPD_CONFIG.\n"+
		"# Flags and variables win over this file. A line with a setting behind # is the default.\n")
	if note != "" {
		fmt.Fprintf(w, "# %s\n", note)
	}
	shown, _ := command{grouped: true}.sections(rows)
	for _, s := range shown {
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
			if x, ok := changes[r.name]; ok {
				about := fmt.Sprintf("Changed by %s on %s (NIP-86), when the settings said %q. As soon as they say something else, they count again.", safetext.Printable(x.By), statustext.Day(x.At), safetext.Line(x.Instead, 200))
				for _, line := range wrap(about, helpWidth-2) {
					fmt.Fprintf(w, "# %s\n", line)
				}
				values = []string{x.Value}
			}
			if slices.Equal(values, []string{r.def}) {
				fmt.Fprint(w, "# ")
			}
			fmt.Fprintln(w, r.entry(values).Write())
		}
	}
}

// entry returns the line of a setting with these values in a configuration file.
func (s setting) entry(values []string) conffile.Entry {
	e := conffile.Entry{Key: s.name, Values: values[len(values)-1:]}
	switch {
	case s.isList:
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
	case s.placeholder == "N":
		e.Kind = conffile.Number
	}
	return e
}

// truth returns what a text that a switch takes sets the switch to.
func truth(s string) bool {
	var is bool
	_ = boolean("", "", "", &is).set(s) // the switch has taken this text before
	return is
}
