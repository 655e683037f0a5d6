package statustext

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/operate/admin"
)

// WriteRepositories writes a line for each relay of each repository, of at most width characters; a width of 0 allows any number.
func WriteRepositories(w io.Writer, r admin.Repositories, width int) error {
	if len(r.Repositories) == 0 && r.Total > 0 {
		_, err := fmt.Fprintf(w, "of %s none fits the search, or is on that page\n", repositories(r.Total))
		return err
	}
	if len(r.Repositories) == 0 {
		_, err := io.WriteString(w, "no repository here names another relay\n")
		return err
	}
	rows := table{{"REPOSITORY", "OWNER", "RELAY", "COMPLETE", "HERE", "RELAY LACKS"}}
	git := gitTable("REPOSITORY", "LACKS")
	for _, x := range r.Repositories {
		owner, _, ok := strings.Cut(named(x.Address), "/")
		if !ok {
			owner = x.Owner()
		}
		owner, name := strings.TrimSpace(owner+" "+x.OwnedBy), x.Name()
		if x.Title != "" && x.Title != name {
			name += " (" + x.Title + ")"
		}
		for _, p := range x.Relays {
			rows = append(rows, []string{safetext.Escape(name), safetext.Escape(owner), safetext.Escape(p.URL), of(p.Confirmed, p.Want), known(p.Here), known(p.Lacks)})
		}
		if x.Git != nil {
			git = git.of(safetext.Escape(x.Name()), *x.Git)
		}
	}
	if err := rows.print(w, width, 0, 1, 2); err != nil || len(git) == 1 {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return git.print(w, width, 0, 2, 3)
}

func of(n, all int) string { return fmt.Sprintf("%d/%d", n, all) }

// known writes a figure, or a dash where it is not known.
func known(n *uint64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatUint(*n, 10)
}
