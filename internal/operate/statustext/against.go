package statustext

import (
	"fmt"
	"io"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/operate/against"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// mostOnly is how many of the things that one side has alone are printed of each repository and side.
const mostOnly = 10

// WriteAgainst writes how this relay compares with another one, in lines of at most width characters; a width of 0 allows any number.
func WriteAgainst(w io.Writer, r against.Report, width int) error {
	var b strings.Builder
	rows := table{{"REPOSITORY", "OWNER", "EVENTS HERE", "THERE", "REFS HERE", "THERE", "PULL REQUESTS HERE", "THERE", "MISSING HERE", "ONLY HERE"}}
	var details []string
	for _, x := range r.Repositories {
		here, there, missing := 0, 0, 0
		for _, k := range x.Kinds {
			here, there = here+k.Here, there+k.There
		}
		for _, o := range x.OnlyThere {
			if o.Missing {
				missing++
			}
		}
		owner, _, _ := strings.Cut(named(x.Address), "/")
		n := func(n int) string { return plainNumber(uint64(n)) }
		rows = append(rows, []string{safetext.Escape(x.Name), owner, n(here), n(there), n(x.Refs.Here), n(x.Refs.There), n(x.Pulls.Here), n(x.Pulls.There), n(missing), n(len(x.OnlyHere))})
		details = append(details, differences(x)...)
	}
	fmt.Fprintf(&b, "%s (here) against %s (there): %s\n", r.Here, r.There, repositories(len(r.Repositories)))
	titled(&b, rows, width, 1, 0)
	for _, d := range details {
		b.WriteString("\n" + d)
	}
	if len(details) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("\n" + verdict(r) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// verdict says in one sentence what is missing.
func verdict(r against.Report) string {
	text := "nothing is missing here"
	if r.Missing > 0 {
		text = safetext.Number(r.Missing, "event or ref is", "events and refs are") + " missing here"
	}
	if r.Unread > 0 {
		text += fmt.Sprintf("; the git data of %s there could not be read", repositories(r.Unread))
	}
	if r.Unproven {
		text += "; the other relay may have more than it sent, as it has more events of one second than it sends at once, or answers the same question differently"
	}
	return fmt.Sprintf("%s; left there for a reason: %d; only here: %d", text, r.Left, r.Beside)
}

// differences says of one repository which events of each kind and which refs one side has alone.
func differences(x against.Repository) (lines []string) {
	if len(x.OnlyHere)+len(x.OnlyThere) == 0 && x.Unread == "" {
		return nil
	}
	lines = append(lines, named(x.Address)+":")
	switch {
	case !x.Here:
		lines = append(lines, "  its announcement is not served here")
	case !x.There:
		lines = append(lines, "  the other relay has no announcement of it that lists this one")
	}
	if x.Unread != "" {
		lines = append(lines, "  its git data there could not be read: "+safetext.Escape(x.Unread))
	}
	for _, k := range x.Kinds {
		if k.Here != k.There {
			name := k.Name
			if name == "" {
				name = "other"
			}
			lines = append(lines, fmt.Sprintf("  kind %d (%s): %d here, %d there", k.Kind, name, k.Here, k.There))
		}
	}
	lines = append(lines, some("only there", x.OnlyThere)...)
	return append(lines, some("only here", x.OnlyHere)...)
}

// entitled says what an event is: its kind, and what its author calls it.
func entitled(o against.Only) string {
	kind := nip34.NameOf(o.Kind)
	if kind == "" {
		kind = fmt.Sprintf("kind %d", o.Kind)
	}
	return strings.TrimSpace(kind + " " + safetext.Escape(o.Title))
}

// named writes the address of a repository as commands take it: npub1…/name. What is no address stays as it is.
func named(address string) string {
	of, err := nip34.ParseAddress(address)
	if err != nil || of.Kind != nip34.KindRepository {
		return safetext.Escape(address)
	}
	return nip19.Npub(of.PubKey) + "/" + safetext.Escape(of.D)
}

func some(where string, list []against.Only) (lines []string) {
	for _, o := range list[:min(len(list), mostOnly)] {
		what := safetext.Escape(o.What)
		if o.Kind > 0 || o.Object == "" {
			what = fmt.Sprintf("event %s (%s, by %s)", what, entitled(o), shortened(safetext.Escape(o.By), leastName))
		}
		missing := ""
		if o.Missing {
			missing = "MISSING: "
		}
		lines = append(lines, fmt.Sprintf("  %s: %s: %s%s", where, what, missing, safetext.Escape(o.Why)))
	}
	if n := len(list) - mostOnly; n > 0 {
		lines = append(lines, fmt.Sprintf("  %s: and %d more; --json has them all", where, n))
	}
	return lines
}
