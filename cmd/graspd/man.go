package main

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// manCommand writes the manual page, in the form that man and groff read.
func manCommand(_ context.Context, args []string, std stdio, env environment) error {
	problems, err := parseAlone("man", "", nil, args, env)
	if err != nil {
		return err
	}
	if err := misused(problems); err != nil {
		return err
	}
	manualPage(std.out)
	return nil
}

// roff escapes a text, so that roff takes nothing in it for a request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

func manualPage(w io.Writer) {
	fmt.Fprintf(w, ".\\\" Made by \"graspd man\".\n.TH GRASPD 1 \"\" %q \"graspd\"\n", "graspd "+versionString())
	fmt.Fprint(w, ".SH NAME\ngraspd \\- a Nostr relay for git collaboration that hosts the repositories\n.SH SYNOPSIS\n")
	for i, c := range commands() {
		if i > 0 {
			fmt.Fprint(w, ".br\n")
		}
		fmt.Fprintf(w, ".B graspd %s\n", roff(c.usage()))
	}
	fmt.Fprintf(w, ".SH COMMANDS\n")
	for _, c := range commands() {
		fmt.Fprintf(w, ".SS graspd %s\n%s\n", roff(c.usage()), roff(sentence(c.about)))
		if c.example != "" {
			fmt.Fprintf(w, ".PP\nFor example:\n.PP\n.nf\n%s\n.fi\n", roff(c.example))
		}
		if c.likeServe() {
			fmt.Fprint(w, ".PP\nIt takes the flags of graspd serve.\n")
			continue
		}
		shown, shared := c.sections(c.rows(nil))
		for _, s := range shown {
			if c.grouped {
				fmt.Fprintf(w, ".PP\n.B %s\n", roff(s.title))
			}
			for _, r := range s.rows {
				about := r.about
				if r.def != "" {
					about += " (default " + r.def + ")"
				}
				fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace("--"+r.name+" "+r.placeholder)), roff(sentence(about)))
			}
		}
		if len(shared) > 0 {
			fmt.Fprintf(w, ".PP\nAs for graspd serve: %s.\n", roff("--"+strings.Join(shared, ", --")))
		}
	}
	fmt.Fprintf(w, ".SH ENVIRONMENT\n%s\n", roff("Each flag has a variable: --log-level is "+variables+"LOG_LEVEL. A flag wins over its variable, a variable over the file of --config, and the file over the default."))
	fmt.Fprintf(w, ".SH EXIT STATUS\n%s\n", roff("0: all is well. 1: something went wrong, or there is something to mend. 2: the command line is wrong, or graspd check cannot read the store."))
	fmt.Fprint(w, ".SH SIGNALS\nOn SIGHUP graspd reads the file of --config and the files of lists again. On SIGTERM it ends in good order, and on a second one at once.\n.SH SEE ALSO\n.BR git (1)\n")
}

// sentence writes a text with a capital and a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}
