package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/operate/statustext"
	"github.com/graspd/graspd/internal/protocol/nip19"
)

// reportOptions are the settings of the reports command.
type reportOptions struct {
	at                   listener
	remove, dismiss, why string
	json                 bool
}

func (o *reportOptions) settings(env environment) []setting {
	return append([]setting{
		text("remove", "", "take away what was reported: its line of the list (\"event ID\"), a note, nevent, npub or naddr, or the URL of its page", &o.remove).as("WHAT"),
		text("dismiss", "", "dismiss the reports of something, written as for --remove; the thing itself stays", &o.dismiss).as("WHAT"),
		text("reason", "", "why, for the journal", &o.why).as("TEXT"),
		boolean("json", "false", "print reports.json as it is", &o.json),
	}, o.at.settings(env)...)
}

// reportsCommand lists what people have reported, or has the relay decide about a report.
func reportsCommand(ctx context.Context, args []string, std stdio, env environment) error {
	var o reportOptions
	problems, err := parseAlone("reports", ": name what is meant with --remove or --dismiss", o.settings(env), args, env)
	if err == nil && o.remove != "" && o.dismiss != "" {
		problems = append(problems, "reports wants --remove or --dismiss, not both")
	}
	for name, value := range map[string]string{"remove": o.remove, "dismiss": o.dismiss} {
		if _, bad := moderation.ParseSubject(value); err == nil && value != "" && bad != nil {
			problems = append(problems, fmt.Sprintf("--%s: %q is not allowed: %v", name, value, bad))
		}
	}
	if err = cmp.Or(err, misused(problems)); err != nil {
		return err
	}
	form := url.Values{"subject": {o.remove + o.dismiss}, "by": {whoAsks("graspd reports")}, "reason": {o.why}}
	switch {
	case o.remove != "":
		var c moderation.Case
		if err := o.at.post(ctx, "/remove", form, &c); err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "case %d: %s\n%s\nto put it back until %s: graspd restore --case %d\n", c.N, called(c.Subject.String(), c.Title), hasGone(c), statustext.Day(c.Keep), c.N)
		return err
	case o.dismiss != "":
		return o.at.printLine(ctx, std.out, http.MethodPost, "/dismiss", form)
	}
	if o.json {
		return o.at.printDocument(ctx, std.out, "/reports.json")
	}
	var q admin.ReportQueue
	if err := o.at.read(ctx, "/reports.json", &q); err != nil {
		return err
	}
	return printReports(std.out, q, tableWidth(std.out))
}

// printReports prints what is open: as a table where lines may have so many characters, else in a few lines each. What is to be pasted into
// --remove or --dismiss always stays whole.
func printReports(out io.Writer, q admin.ReportQueue, width int) error {
	if q.Open == 0 {
		_, err := fmt.Fprintln(out, "no reports are open")
		return err
	}
	rows := [][]string{{"WHAT", "CALLED", "REPORTED AS", "REPORTS", "PEOPLE", "LAST", "LAST BY", "THEIR WORDS"}}
	for _, x := range q.Reported {
		rows = append(rows, []string{safetext.Printable(x.Subject.String()), safetext.Printable(x.Title), strings.Join(x.Kinds, ", "), fmt.Sprint(x.Reports), fmt.Sprint(x.People),
			statustext.Day(x.Last.At), called(nip19.Npub(x.Last.By), x.LastBy), safetext.Printable(x.Last.Text)})
	}
	if statustext.Fits(rows, width) {
		if err := statustext.Table(out, rows, width); err != nil {
			return err
		}
	} else {
		for _, r := range rows[1:] {
			printReported(out, r, width)
		}
	}
	if more := q.Subjects - len(q.Reported); more > 0 {
		fmt.Fprintf(out, "and %d more\n", more)
	}
	_, err := fmt.Fprintln(out, `to decide: graspd reports --remove "WHAT", or --dismiss "WHAT"`)
	return err
}

// printReported prints one row of the table in lines of its own.
func printReported(out io.Writer, row []string, width int) {
	fmt.Fprintln(out, row[0])
	last := fmt.Sprintf("last %s by %s", row[5], row[6])
	if row[7] != "" {
		last += ": " + row[7]
	}
	for _, line := range []string{row[1], fmt.Sprintf("%s; reports: %s, people: %s", row[2], row[3], row[4]), last} {
		if line == "" {
			continue
		}
		for _, part := range statustext.Wrap("  "+line, width) {
			fmt.Fprintln(out, part)
		}
	}
}
