package statustext

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/status"
)

// printGit prints the state of hosting, in lines of at most width characters; a width of 0 allows any number.
func printGit(w io.Writer, g status.Git, now time.Time, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "git: %s with data, %s%s%s\n", repositories(g.Repositories), g.Bytes,
		counted("; under way: ", counts{g.Pushes, "push", "pushes"}, counts{g.Fetches, "fetch", "fetches"}),
		counted("; waiting: ", counts{g.Waiting, "event", "events"}, counts{int64(g.Uploads), "upload", "uploads"}))
	processes := table{{"PROCESSES", "RUNNING", "QUEUED", "REFUSED", "ENDED", "FAILED"}}
	for _, p := range g.Processes {
		if p.Running+p.Queued == 0 && p.Refused+p.Ended+p.Failed == 0 {
			continue
		}
		processes = append(processes, []string{p.Kind, plainNumber(uint64(p.Running)), plainNumber(uint64(p.Queued)), plainNumber(p.Refused), plainNumber(p.Ended), plainNumber(p.Failed)})
	}
	lack := gitTable("LACKS GIT DATA", "LACKS")
	if s := g.Sync; s != nil {
		for _, x := range s.Worst {
			lack = lack.of(named(string(x.Address)), x)
		}
	}
	waits := table{{"WAITS", "REPOSITORY", "IT WAITS", "ENDS"}}
	for _, x := range g.Waits {
		waits = append(waits, []string{fmt.Sprintf("kind %d", x.Kind), named(string(x.Repository)), safetext.Escape(string(x.Why)), until(x.Until.Time, now)})
	}
	refused := table{{"REFUSED PUSH", "REPOSITORY", "REASON"}}
	for _, x := range g.Refused {
		refused = append(refused, []string{x.At.UTC().Format(time.RFC3339), named(string(x.Repository)), safetext.Escape(string(x.Reason))})
	}
	titled(&b, processes, width)
	if s := g.Sync; s != nil {
		b.WriteString(fromOthers(*s))
		if s.Looked < s.ToLook {
			fmt.Fprintf(&b, "%d of %d repositories checked for what they lack\n", s.Looked, s.ToLook)
		}
	}
	titled(&b, lack, width, 0, 2, 3)
	titled(&b, waits, width, 1, 2)
	titled(&b, refused, width, 1, 2)
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// fromOthers says how the search for git data goes; "" where there is nothing to say.
func fromOthers(s status.GitSync) string {
	text := counted("; without git data that events name: ", counts{int64(s.Lacking), "repository", "repositories"}) +
		counted("; being fetched from other servers: ", counts{int64(s.Fetching), "fetch", "fetches"}) +
		counted("; left alone for a while: ", counts{int64(s.Resting), "server", "servers"})
	if s.Brought > 0 {
		text += fmt.Sprintf("; other servers have sent the git data of %s (%s)", events(s.Brought), s.Bytes)
	}
	if text == "" {
		return ""
	}
	return "\n" + strings.TrimPrefix(text, "; ") + "\n"
}

// counts is a number of things.
type counts struct {
	n         int64
	one, more string
}

// counted lists those of the numbers that are not 0, after a text; "" where all are 0.
func counted(text string, all ...counts) string {
	var parts []string
	for _, c := range all {
		if c.n != 0 {
			parts = append(parts, safetext.Number(c.n, c.one, c.more))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return text + strings.Join(parts, ", ")
}

// titled prints an empty line and the table, if the table has a row besides its titles.
func titled(b *strings.Builder, t table, width int, shrink ...int) {
	if len(t) > 1 {
		b.WriteByte('\n')
		_ = t.print(b, width, shrink...) // a strings.Builder does not fail
	}
}

// gitTable makes an empty table of what repositories lack, with the titles of its first two columns.
func gitTable(name, lacks string) table {
	return table{{name, lacks, "GIT SERVER", "WHAT IT ANSWERED"}}
}

// of returns the table with the rows of one repository added: one for each server.
func (t table) of(name string, x status.GitLack) table {
	what := "-"
	if n := len(x.Lacks); n > 0 {
		what = events(n)
	}
	if len(x.Servers) == 0 {
		t = append(t, []string{name, what, "-", "no event names a server for it"})
	}
	for _, s := range x.Servers {
		t = append(t, []string{name, what, safetext.Escape(string(s.URL)), safetext.Escape(s.State())})
	}
	return t
}
