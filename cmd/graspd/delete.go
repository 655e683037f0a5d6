package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/operate/statustext"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
)

// deletion has the settings of the delete command.
type deletion struct {
	at                            listener
	authors, repositories, events []string
	why                           string
	keep                          time.Duration
	yes                           bool
}

func (d *deletion) settings(env environment) []setting {
	return append([]setting{
		list("author", "", "take away everything of this author (npub, nprofile or hex), their repositories too", &d.authors).as("NPUB,…"),
		list("repository", "", "take away this repository (npub/identifier, naddr, its URL or 30617:key:identifier), and what is about it alone", &d.repositories).as("REPOSITORY,…"),
		list("event", "", "take away this event (note, nevent, the URL of its page or its id), and what was said to it alone", &d.events).as("EVENT,…"),
		text("reason", "", "why, for the journal", &d.why).as("TEXT"),
		duration("keep", moderation.Keep, 0, "for how long graspd restore can put it back", &d.keep),
		boolean("yes", "false", "take it away; without this flag, say what would go", &d.yes),
	}, d.at.settings(env)...)
}

// deleteCommand has a running relay delete something, or say what would go.
func deleteCommand(ctx context.Context, args []string, std stdio, env environment) error {
	var d deletion
	problems, err := parseAlone("delete", ": name what is to go with --author, --repository or --event", d.settings(env), args, env)
	if err == nil && len(problems)+len(d.authors)+len(d.repositories)+len(d.events) == 0 {
		problems = append(problems, "delete wants at least one --author, --repository or --event")
	}
	if err = cmp.Or(err, misused(problems)); err != nil {
		return err
	}
	for _, of := range []struct {
		name   string
		values []string
	}{{"author", d.authors}, {"repository", d.repositories}, {"event", d.events}} {
		for _, value := range of.values {
			if err := d.one(ctx, std.out, url.Values{of.name: {value}}); err != nil {
				return err
			}
		}
	}
	if !d.yes {
		fmt.Fprintln(std.out, "nothing has changed; add --yes to do it")
	}
	return nil
}

// one deletes one subject, or says what would go.
func (d deletion) one(ctx context.Context, out io.Writer, subject url.Values) error {
	if !d.yes {
		var p moderation.Preview
		if err := d.at.read(ctx, "/deletion.json?"+subject.Encode(), &p); err != nil {
			return err
		}
		return printPreview(out, p)
	}
	form := maps.Clone(subject)
	form.Set("by", whoAsks("graspd delete"))
	form.Set("reason", d.why)
	form.Set("keep", d.keep.String())
	var c moderation.Case
	if err := d.at.post(ctx, "/delete", form, &c); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "case %d: %s\n%s\nto put it back until %s: graspd restore --case %d\n", c.N, called(c.Subject.String(), c.Title), hasGone(c), statustext.Day(c.Keep), c.N)
	return err
}

func hasGone(c moderation.Case) string {
	if c.State == moderation.Clearing {
		return safetext.Number(c.Total(), "event is", "events are") + " gone so far, and the rest will follow; graspd accepts nothing of it any more"
	}
	return safetext.Number(c.Total(), "event is", "events are") + " gone, and graspd accepts nothing of it any more"
}

// whoAsks names who gives a command, for the journal.
func whoAsks(command string) string {
	u, err := user.Current()
	if err != nil {
		return command
	}
	return command + " by " + u.Username
}

func printPreview(out io.Writer, p moderation.Preview) error {
	var b strings.Builder
	what := p.Subject.String()
	if p.Subject.Sort == moderation.Author {
		what = "author " + nip19.Npub(p.Subject.PubKey)
	}
	fmt.Fprintln(&b, called(what, p.Title))
	total := int64(0)
	for _, k := range slices.Sorted(maps.Keys(p.Events)) {
		fmt.Fprintf(&b, "  %7d  %s\n", p.Events[k], kindName(k))
		total += p.Events[k]
	}
	more := ""
	if p.More {
		more = ", and more"
	}
	fmt.Fprintf(&b, "  events that would go: %d%s (%s)\n", total, more, status.Bytes(p.Bytes))
	for _, a := range p.Repositories {
		if of, err := nip34.ParseAddress(a); err == nil {
			a = nip19.Npub(of.PubKey) + "/" + of.D
		}
		fmt.Fprintf(&b, "           %s\n", safetext.Printable(a))
	}
	fmt.Fprintf(&b, "  repositories that would go: %d (%s of git data)\n", len(p.Repositories), status.Bytes(p.GitBytes))
	if p.Case != 0 {
		fmt.Fprintf(&b, "  it was taken away already, by case %d\n", p.Case)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// called writes something with what people call it, where that is known.
func called(what, title string) string {
	if title != "" {
		what += " (" + title + ")"
	}
	return safetext.Printable(what)
}

func kindName(k nostr.Kind) string {
	if name := nip34.NameOf(k); name != "" {
		return fmt.Sprintf("%s (kind %d)", name, k)
	}
	return fmt.Sprintf("kind %d", k)
}

// restoration has the settings of the restore command.
type restoration struct {
	at                        listener
	which                     int
	why                       string
	repository, from, ref, to string
}

func (o *restoration) settings(env environment) []setting {
	return append([]setting{
		number("case", 0, 0, 1<<53, "number of the case to put back; without this flag, list the cases", &o.which),
		text("reason", "", "why, for the journal", &o.why).as("TEXT"),
		text("repository", "", "bring back this repository (npub/identifier, naddr or its URL), from a backup or, with --ref, from what is left here", &o.repository).as("REPOSITORY"),
		text("from", "", "the backup, as a directory: what it has of the repository is published to the running relay and pushed", &o.from).as("DIR"),
		text("ref", "", "list earlier values of this branch that are still there; or BRANCH=COMMIT, to write one into --to", &o.ref).as("BRANCH[=COMMIT]"),
		text("to", "", "new file for an earlier value of a branch, as a git bundle, which the owner fetches from", &o.to).as("FILE"),
	}, o.at.settings(env)...)
}

// restoreCommand lists what the relay keeps aside, or has it put something back.
func restoreCommand(ctx context.Context, args []string, std stdio, env environment) error {
	var o restoration
	problems, err := parseAlone("restore", ": name it with --case or --repository", o.settings(env), args, env)
	problems = append(problems, o.misuse()...)
	if err = cmp.Or(err, misused(problems)); err != nil {
		return err
	}
	switch {
	case o.ref != "":
		return o.earlier(ctx, std.out)
	case o.repository != "":
		return o.bringBack(ctx, std)
	}
	if o.which == 0 {
		var c admin.Cases
		if err := o.at.read(ctx, "/cases.json", &c); err != nil {
			return err
		}
		return printCases(std.out, c.Cases, tableWidth(std.out))
	}
	var c moderation.Case
	form := url.Values{"case": {fmt.Sprint(o.which)}, "by": {whoAsks("graspd restore")}, "reason": {o.why}}
	if err := o.at.post(ctx, "/restore", form, &c); err != nil {
		return err
	}
	said := "all that graspd had kept of it is back"
	switch c.State {
	case moderation.Returning:
		said = safetext.Number(c.Total(), "event is", "events are") + " still to be put back"
	case moderation.Left:
		said = safetext.Number(c.Total(), "event", "events") + " could not be put back, as the rules refuse that now: restore the repository or thread first, then this case again"
	}
	_, err = fmt.Fprintf(std.out, "case %d: %s\ngraspd accepts it again; %s\n", o.which, called(c.Subject.String(), c.Title), said)
	return err
}

// printCases prints cases in lines of at most width characters; 0 is any number.
func printCases(out io.Writer, list []moderation.Case, width int) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "nothing is taken away: there is nothing to restore")
		return err
	}
	rows := [][]string{{"CASE", "STATE", "EVENTS", "KEPT UNTIL", "WHAT", "BY", "REASON"}}
	for _, c := range list {
		rows = append(rows, []string{fmt.Sprint(c.N), fmt.Sprint(c.State), fmt.Sprint(c.Total()), statustext.Day(c.Keep), called(c.Subject.String(), c.Title), safetext.Printable(c.By), safetext.Printable(c.Why)})
	}
	return statustext.Table(out, rows, width, 4, 5, 6)
}

// journalOptions are the settings of the journal command.
type journalOptions struct {
	at   listener
	json bool
	most int
}

func (o *journalOptions) settings(env environment) []setting {
	return append([]setting{
		number("last", 50, 1, moderation.MaxEntries, "how many entries to show, the newest first", &o.most),
		boolean("json", "false", "print journal.json as it is", &o.json),
	}, o.at.settings(env)...)
}

// journalCommand prints the decisions of the operator.
func journalCommand(ctx context.Context, args []string, std stdio, env environment) error {
	var o journalOptions
	problems, err := parseAlone("journal", "", o.settings(env), args, env)
	if err = cmp.Or(err, misused(problems)); err != nil {
		return err
	}
	path := fmt.Sprintf("/journal.json?most=%d", o.most)
	if o.json {
		return o.at.printDocument(ctx, std.out, path)
	}
	var j admin.Journal
	if err := o.at.read(ctx, path, &j); err != nil {
		return err
	}
	return printJournal(std.out, j.Entries, tableWidth(std.out))
}

// printJournal prints entries in lines of at most width characters; 0 is any number.
func printJournal(out io.Writer, entries []moderation.Entry, width int) error {
	rows := [][]string{{"NO", "WHEN", "DID", "WHAT", "EVENTS", "BY", "REASON"}}
	for _, e := range entries {
		n := int64(0)
		for _, x := range e.Events {
			n += x
		}
		rows = append(rows, []string{fmt.Sprint(e.N), statustext.Day(e.At), fmt.Sprint(e.Did), called(e.Subject, e.Title), fmt.Sprint(n), safetext.Printable(e.By), safetext.Printable(e.Why)})
	}
	return statustext.Table(out, rows, width, 3, 5, 6)
}
