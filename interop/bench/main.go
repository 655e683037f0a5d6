// Command bench measures graspd and writes one report: every figure beside
// another one of the same run, so that the machine matters little, and beside
// the target that it should meet. The corpus has genuine signatures; other relays
// and clients are on loopback. It takes minutes and stops by itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	if os.Getenv(bareEnv) != "" {
		if err := serveBare(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parts are measured in this order; later ones use what earlier ones made, or make it.
var parts = []struct {
	letter, title string
	run           func(*world, context.Context) error
}{
	{"a", "Ingest", (*world).ingest},
	{"b", "Cold catch-up", (*world).catchUp},
	{"c", "Resync", (*world).resync},
	{"d", "Live", (*world).live},
	{"e", "Planning", (*world).planning},
	{"f", "Memory", (*world).memory},
	{"g", "Serving", (*world).serving},
	{"h", "Start-up", (*world).startUp},
	{"i", "Writing", (*world).writing},
	{"j", "Repositories", (*world).repositories},
	{"k", "Under attack", (*world).siege},
	{"l", "Pages of code", (*world).pages},
	{"m", "More than one machine", (*world).share},
}

// run does what the command line says; progress goes to w.
func run(ctx context.Context, args []string, w io.Writer) (err error) {
	o, err := parse(args, w)
	if err != nil {
		return err
	}
	made, err := newWorld(o, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.close()) }()
	for _, p := range parts {
		if o.wants(p.letter) {
			made.report.left = append(made.report.left, p.letter)
		}
	}
	for _, p := range parts {
		if !o.wants(p.letter) {
			continue
		}
		if p.letter > "c" {
			if err := made.part(); err != nil {
				return err
			}
		}
		made.say("(%s) %s", p.letter, strings.ToLower(p.title))
		made.report.begin(p.letter, p.title)
		if err := p.run(made, ctx); err != nil {
			return fmt.Errorf("(%s) %s: %w", p.letter, strings.ToLower(p.title), err)
		}
		made.report.left = made.report.left[1:]
		if o.out != "-" { // each time, so that an end before the end loses nothing
			if err := made.report.write(o.out, o.renew); err != nil {
				return err
			}
		}
	}
	if o.out == "-" {
		_, err = os.Stdout.WriteString(readable(made.report.markdown()))
	}
	if err == nil && made.worse != nil {
		err = fmt.Errorf("honest clients wait longer beside attackers than they did: %s", strings.Join(made.worse, "; "))
	}
	return err
}

// options are what the command line says.
type options struct {
	events int    // of the corpus
	only   string // letters
	out    string // "-" is the standard output
	binary string // graspd
	root   string // of the source
	renew  bool   // only the sections of the parts that are run
	engine bool
	args   []string
}

func parse(args []string, w io.Writer) (options, error) {
	o := options{args: args}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(w)
	f.IntVar(&o.events, "events", fullSize, "events in the corpus; fewer are for trying")
	f.StringVar(&o.only, "only", "", "letters of the parts to run, as a,b; all when empty")
	f.StringVar(&o.out, "out", "../docs/PERFORMANCE.md", "the report; - is the standard output")
	f.StringVar(&o.binary, "graspd", "../graspd", "the binary to measure")
	f.StringVar(&o.root, "root", "..", "where the source is, for what package peer measures of itself, and for the page of before")
	f.BoolVar(&o.renew, "renew", false, "with -only: leave the sections of other parts as the page has them")
	f.BoolVar(&o.engine, "engine", true, "measure the engine in the large world too, which takes minutes whatever -events says")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	known := ""
	for _, p := range parts {
		known += p.letter
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("no argument is taken, got %q", f.Args())
	case strings.Trim(o.only, known+",") != "":
		return o, fmt.Errorf("-only takes letters from a to m, got %q", o.only)
	case o.renew && (o.only == "" || o.out == "-"):
		return o, errors.New("-renew is for a page (-out) of which some parts are measured (-only)")
	case o.events < leastSize:
		return o, fmt.Errorf("-events is at least %d", leastSize)
	}
	_, err := os.Stat(o.binary)
	return o, err
}

func (o options) wants(letter string) bool { return o.only == "" || strings.Contains(o.only, letter) }
