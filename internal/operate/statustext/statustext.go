// Package statustext writes how a relay stands as text for its operator at a terminal. graspd status prints what it makes of the documents
// of the private listener.
package statustext

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/status"
)

// Write writes the status for people. now is the moment from which the times of next attempts count. width is how many characters a line of
// a table or box may have; 0 allows any number.
func Write(w io.Writer, s admin.Status, now time.Time, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, graspd %s: %s stored, %s stored\n", s.Relay.URL, s.Relay.Version, events(s.Store.Events), repositories(s.Store.Repositories))
	if s.Store.Disk != nil {
		fmt.Fprintln(&b, s.Store.Disk)
	}
	if s.GitDisk != nil {
		fmt.Fprintf(&b, "%s of the git data\n", s.GitDisk)
	}
	for _, c := range s.Changed {
		fmt.Fprintf(&b, "%s was changed to %q by %s on %s (NIP-86)\n", safetext.Printable(c.Setting), safetext.Line(c.Value, 100), safetext.Printable(c.By), Day(c.At))
	}
	if s.Cluster != nil {
		fmt.Fprintln(&b, s.Cluster)
		for _, line := range s.Cluster.Lines() {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	if s.Readiness != nil {
		fmt.Fprintln(&b, s.Readiness)
	}
	if s.Nothing != nil {
		Box(&b, s.Nothing.Lines(), width)
	}
	if q := s.Reports; q != nil && q.Open > 0 {
		if q.Open == 1 {
			b.WriteString("1 report waits for your decision; graspd reports shows it\n")
		} else {
			fmt.Fprintf(&b, "%d reports wait for your decision, about %d authors, repositories and events; graspd reports lists them\n", q.Open, q.Subjects)
		}
	}
	if s.Git != nil {
		if err := printGit(&b, *s.Git, now, width); err != nil {
			return err
		}
	}
	if s.Backups != nil {
		fmt.Fprintln(&b, s.Backups.Line(now))
	}
	if s.Bucket != nil {
		fmt.Fprintln(&b, s.Bucket.Line(now))
	}
	if len(s.Sync.Relays) == 0 {
		if s.Sync.Tracked > 0 {
			fmt.Fprintf(&b, "graspd follows %s; none of them fits the search, or is on that page\n", safetext.Number(s.Sync.Tracked, "relay", "relays"))
		} else {
			b.WriteString("graspd follows no relay\n")
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	b.WriteByte('\n')
	titles := []string{"RELAY", "PHASE", "HEALTH"}
	for _, c := range status.Columns() {
		titles = append(titles, strings.ToUpper(c.Title))
	}
	titles = append(titles, "NEXT ATTEMPT")
	bootstrap, why := false, slices.ContainsFunc(s.Sync.Relays, func(r status.Relay) bool { return r.Mailbox > 0 || r.Index })
	if why {
		titles = append(titles, "WHY")
	}
	rows := table{titles}
	for _, r := range s.Sync.Relays {
		cells := row(r, now)
		if why {
			cells = append(cells, r.Why())
		}
		rows = append(rows, cells)
		bootstrap = bootstrap || r.Bootstrap
	}
	rows, left := fit(rows, width)
	if err := rows.print(&b, 0); err != nil {
		return err
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "\nleft out for want of width (%d columns): %s; --wide shows them\n", width, strings.ToLower(strings.Join(left, ", ")))
	}
	printCauses(&b, s.Sync.Relays)
	if bootstrap {
		b.WriteString("\n* bootstrap relay\n")
	}
	b.WriteString("\nREPOSITORIES and ROOTS: complete here, of those wanted; roots are issues, patches and pull requests\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// printCauses prints why each relay fails that does.
func printCauses(b *strings.Builder, relays []status.Relay) {
	end := ""
	for _, r := range relays {
		text := r.Failing()
		if text == "" {
			text = safetext.Printable(string(r.Cause))
		}
		if text != "" {
			fmt.Fprintf(b, "\n%s: %s", r.URL, text)
			end = "\n"
		}
	}
	b.WriteString(end)
}

// row returns the cells of one relay.
func row(r status.Relay, now time.Time) []string {
	name := string(r.URL)
	if r.Bootstrap {
		name += " *"
	}
	health := string(r.Health)
	if r.Failures > 0 {
		health += fmt.Sprintf(" (%d)", r.Failures)
	}
	next := "-"
	if !r.NextAttempt.IsZero() {
		next = until(r.NextAttempt.Time, now)
	}
	cells := []string{name, r.Phase, health}
	for _, c := range status.Columns() {
		text := c.Text(&r, plainNumber)
		switch {
		case c.Title == "Repositories" && r.Refused > 0:
			text += fmt.Sprintf(" (%d refused)", r.Refused)
		case c.Title == "Roots" && r.SweptRoots > 0:
			text += fmt.Sprintf(" (%d in turns of %s)", r.SweptRoots, status.Duration(r.Turn.Duration))
		}
		cells = append(cells, text)
	}
	return append(cells, next)
}

func plainNumber(n uint64) string { return strconv.FormatUint(n, 10) }

func until(t, now time.Time) string { return status.Until(t.Sub(now)) }

// Day writes a moment, given in unix time, as people write it.
func Day(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04 UTC") }
