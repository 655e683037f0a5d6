// Command siege attacks a graspd as strangers could and measures what an honest client beside them sees of it. Each
// attack gets a relay of its own with events in it; each attacker and each honest client has an address of its own on
// loopback, and the limits of strangers are in force. It stops by itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	moreFiles()
	var err error
	var own string
	if len(os.Args) > 1 {
		own = os.Args[1]
	}
	switch own {
	case holdCommand:
		err = hold(os.Args[2:], os.Stdin, os.Stdout)
	case attackersCommand:
		err = attackAs(ctx, os.Args[2:], os.Stdin, os.Stdout)
	default:
		err = run(ctx, os.Args[1:], os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "siege:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	binary string // graspd
	only   []string
	lasts  time.Duration // of each attack
	events int           // that each relay holds before
	into   string        // file with a place for the report; "" is none
	json   bool          // print the honest client's figures as JSON, in place of the report
}

func parse(args []string, w io.Writer) (options, error) {
	var o options
	var only string
	f := flag.NewFlagSet("siege", flag.ContinueOnError)
	f.SetOutput(w)
	f.StringVar(&o.binary, "graspd", "../graspd", "the binary that is attacked")
	f.StringVar(&only, "only", "", "attacks to make, as "+attacks[0].name+","+attacks[1].name+"; all when empty; they are "+strings.Join(names(), ", "))
	f.DurationVar(&o.lasts, "for", 20*time.Second, "how long each attack lasts")
	f.IntVar(&o.events, "events", 20_000, "events that the relay holds before")
	f.StringVar(&o.into, "into", "", "file that holds the report of the last time, which is replaced")
	f.BoolVar(&o.json, "json", false, "print the honest client's figures as JSON, in place of the report")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	for _, name := range o.only {
		if !slices.Contains(names(), name) {
			return o, fmt.Errorf("there is no attack %q; they are %s", name, strings.Join(names(), ", "))
		}
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("no argument is taken, got %q", f.Args())
	case o.lasts < time.Second:
		return o, errors.New("-for is at least a second")
	case o.events < 300:
		return o, errors.New("-events is at least 300")
	case o.into != "" && (o.only != nil || o.json):
		return o, errors.New("-into is for a report of all attacks, without -only and -json")
	}
	_, err := os.Stat(o.binary)
	return o, err
}

func (o options) wants(a attack) bool { return o.only == nil || slices.Contains(o.only, a.name) }

// run does what the command line says; progress goes to w. It fails where an attack has ended the relay or left something in it.
func run(ctx context.Context, args []string, w io.Writer) (err error) {
	o, err := parse(args, w)
	if err != nil {
		return err
	}
	g, err := newGround(ctx, o, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	r := report{options: o, events: g.events}
	var lost []string
	for _, a := range attacks {
		if !o.wants(a) {
			continue
		}
		row, err := g.suffer(ctx, a)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		r.rows = append(r.rows, row)
		if row.died != "" || len(row.left) > 0 {
			lost = append(lost, a.name)
		}
		fmt.Fprintln(w, row.line())
	}
	if err := r.print(os.Stdout); err != nil {
		return err
	}
	if lost != nil {
		return fmt.Errorf("the relay did not survive %s as it was before", strings.Join(lost, ", "))
	}
	return nil
}
