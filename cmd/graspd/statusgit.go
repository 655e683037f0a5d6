package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/words"
)

// printGit prints how the hosting of repositories stands.
func printGit(w io.Writer, g status.Git, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "git: %d repositories with data, %s; %d pushes and %d fetches under way; %d events and %d uploads wait\n",
		g.Repositories, g.Bytes, g.Pushes, g.Fetches, g.Waiting, g.Uploads)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(g.Processes) > 0 {
		fmt.Fprintln(t, "\nPROCESSES\tRUNNING\tQUEUED\tREFUSED\tENDED\tFAILED")
		for _, p := range g.Processes {
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\n", p.Kind, p.Running, p.Queued, p.Refused, p.Ended, p.Failed)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if s := g.Sync; s != nil {
		fmt.Fprintf(&b, "\n%d repositories lack git data; %d fetches from other servers under way, %d events completed by such, %s; %d servers are left alone\n",
			s.Lacking, s.Fetching, s.Brought, s.Bytes, s.Resting)
		if s.Looked < s.ToLook {
			fmt.Fprintf(&b, "%d of %d repositories looked at for what they lack\n", s.Looked, s.ToLook)
		}
		if len(s.Worst) > 0 {
			fmt.Fprintln(t, "\nLACKS GIT DATA\tOF\tSERVER\tHOW IT STANDS")
			for _, x := range s.Worst {
				gitRows(t, words.Escape(string(x.Address)), x)
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(g.Waits) > 0 {
		fmt.Fprintln(t, "\nWAITS\tREPOSITORY\tWHY\tENDS")
		for _, x := range g.Waits {
			fmt.Fprintf(t, "kind %d\t%s\t%s\t%s\n", x.Kind, words.Escape(string(x.Repository)), words.Escape(string(x.Why)), until(x.Until.Time, now))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(g.Refused) > 0 {
		fmt.Fprintln(t, "\nREFUSED PUSH\tREPOSITORY\tREASON")
		for _, x := range g.Refused {
			fmt.Fprintf(t, "%s\t%s\t%s\n", x.At.UTC().Format(time.RFC3339), words.Escape(string(x.Repository)), words.Escape(string(x.Reason)))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// gitRows are the lines of one repository: one for each server.
func gitRows(t io.Writer, name string, x status.GitLack) {
	what := "-"
	if n := len(x.Lacks); n > 0 {
		what = fmt.Sprintf("%d events", n)
	}
	if len(x.Servers) == 0 {
		fmt.Fprintf(t, "%s\t%s\t-\tnobody is said to have it\n", name, what)
	}
	for _, s := range x.Servers {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", name, what, words.Escape(string(s.URL)), words.Escape(s.State()))
	}
}
