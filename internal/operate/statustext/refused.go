package statustext

import (
	"fmt"
	"io"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/status"
)

// WriteRefused writes a line for each event that the relay did not take, of at most width characters; a width of 0 allows any number. Below it
// stands why, whole, as it may name commands that somebody pastes.
func WriteRefused(w io.Writer, list []status.Refused, width int) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "graspd has refused nothing since it started")
		return err
	}
	rows := table{{"LAST", "TIMES", "WHO", "WHAT"}}
	for _, x := range list {
		who, what := x.Author, x.What
		if x.Called != "" {
			who += " (" + x.Called + ")"
		}
		if x.From != "" {
			what += ", from " + x.From
		}
		if what == "" {
			what = fmt.Sprintf("kind %d", x.Kind)
		}
		rows = append(rows, []string{Day(x.Last.Unix()), fmt.Sprint(x.Times), safetext.Printable(who), safetext.Printable(what)})
	}
	var b strings.Builder
	if err := rows.print(&b, width, 2, 3); err != nil {
		return err
	}
	head, lines, _ := strings.Cut(b.String(), "\n")
	out := head + "\n"
	for _, x := range list {
		line, rest, _ := strings.Cut(lines, "\n")
		out, lines = out+line+"\n    "+safetext.Escape(x.Why)+"\n", rest
	}
	_, err := io.WriteString(w, out)
	return err
}
