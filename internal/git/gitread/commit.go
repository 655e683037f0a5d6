package gitread

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const (
	mostCommit  = 256 << 10 // bytes of a commit that is read
	mostParents = 64
	lastSecond  = 253402300799 // of the year 9999
	// MostCommits is how many commits Commits and History return at the most.
	MostCommits = 250
)

// Person is who made something, and when.
type Person struct {
	Name, Email string
	When        time.Time // with the person's own offset from UTC; zero where it cannot be read
}

// Commit is a commit.
type Commit struct {
	ID, Tree          gitwire.ObjectID
	Parents           []gitwire.ObjectID // the first 64
	Author, Committer Person
	Subject, Body     string // the first paragraph of the message on one line, and the rest
	Signature         string // what signed it: "gpg", "ssh" or "x509"; "" for none. Nobody has verified it.
}

// Parent returns the first parent, zero for none.
func (c *Commit) Parent() (id gitwire.ObjectID) {
	if len(c.Parents) > 0 {
		id = c.Parents[0]
	}
	return id
}

// parseCommit reads what git keeps of a commit.
func parseCommit(id gitwire.ObjectID, raw []byte) *Commit {
	c := &Commit{ID: id}
	head, message, _ := bytes.Cut(raw, []byte("\n\n"))
	for line := range bytes.Lines(head) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		switch word {
		case "tree":
			c.Tree, _ = gitwire.ParseObjectID(rest)
		case "parent":
			if p, err := gitwire.ParseObjectID(rest); err == nil && len(c.Parents) < mostParents {
				c.Parents = append(c.Parents, p)
			}
		case "author":
			c.Author = parsePerson(rest)
		case "committer":
			c.Committer = parsePerson(rest)
		case "gpgsig", "gpgsig-sha256":
			c.Signature = signedBy(rest)
		}
	}
	c.Subject, c.Body = splitMessage(string(message))
	return c
}

// splitMessage returns the first paragraph of a message on one line, and what follows it.
func splitMessage(message string) (subject, body string) {
	message = strings.Trim(strings.ReplaceAll(message, "\r\n", "\n"), "\n")
	subject, body, _ = strings.Cut(message, "\n\n")
	return strings.Join(strings.Fields(subject), " "), strings.Trim(body, "\n")
}

func signedBy(begin string) string {
	switch {
	case strings.Contains(begin, "SSH SIGNATURE"):
		return "ssh"
	case strings.Contains(begin, "SIGNED MESSAGE"):
		return "x509"
	}
	return "gpg"
}

// parsePerson reads "Name <email> seconds +0000".
func parsePerson(s string) (p Person) {
	i := strings.LastIndexByte(s, '>')
	if i < 0 {
		return Person{Name: s}
	}
	p.Name, p.Email, _ = strings.Cut(s[:i], "<")
	p.Name = strings.TrimSpace(p.Name)
	seconds, zone, _ := strings.Cut(strings.TrimSpace(s[i+1:]), " ")
	if t, err := strconv.ParseInt(seconds, 10, 64); err == nil && t >= 0 && t <= lastSecond {
		p.When = time.Unix(t, 0).In(zoneOf(zone))
	}
	return p
}

// zoneOf reads an offset like -0530; what cannot be read is UTC.
func zoneOf(s string) *time.Location {
	n, err := strconv.Atoi(s)
	if err != nil || len(s) != 5 || n < -1400 || n > 1400 {
		return time.UTC
	}
	return time.FixedZone("", (n/100*60+n%100)*60)
}

// Commit returns one commit.
func (r *Reader) Commit(ctx context.Context, v Visit, id gitwire.ObjectID) (c *Commit, err error) {
	err = r.ask(ctx, v, func(a *asking) error {
		c, err = a.commit(id)
		return err
	})
	return c, err
}

func (a *asking) commit(id gitwire.ObjectID) (*Commit, error) {
	o, err := a.one(mostCommit, id, "commit")
	if err != nil {
		return nil, err
	}
	return parseCommit(id, o.Contents), nil
}

// commits returns commits in the order of the ids, without those that are too large.
func (a *asking) commits(ids []gitwire.ObjectID) (all []*Commit, err error) {
	objects, err := a.read(mostCommit, ids...)
	for i, o := range objects {
		if o.Kind == "commit" && o.Contents != nil {
			all = append(all, parseCommit(ids[i], o.Contents))
		}
	}
	return all, err
}

// Dated returns those of the objects that are commits, by their ids: at most 1,000 of them.
func (r *Reader) Dated(ctx context.Context, v Visit, ids []gitwire.ObjectID) (found map[gitwire.ObjectID]*Commit, err error) {
	found = map[gitwire.ObjectID]*Commit{}
	err = r.ask(ctx, v, func(a *asking) error {
		all, err := a.commits(ids[:min(len(ids), 1000)])
		for _, c := range all {
			found[c.ID] = c
		}
		return err
	})
	return found, err
}

// commitList has the ids of commits.
type commitList struct {
	ids []gitwire.ObjectID
}

func (l commitList) bytes() int { return 40 * len(l.ids) }

// list returns the newest most commits that from leads to and not does not; with mainline only along first parents.
func (r *Reader) list(ctx context.Context, v Visit, from, not gitwire.ObjectID, most int, mainline bool) ([]gitwire.ObjectID, error) {
	what := "commits"
	if mainline {
		what = "mainline"
	}
	var without []gitwire.ObjectID
	if !not.IsZero() {
		without = append(without, not)
	}
	l, err := once(ctx, r, key{v.Repo, what, from, not, most}, func() (commitList, error) { return r.walk(ctx, v, []gitwire.ObjectID{from}, without, most, mainline) })
	return l.ids, err
}

// walk has git find out what list returns.
func (r *Reader) walk(ctx context.Context, v Visit, from, not []gitwire.ObjectID, most int, mainline bool) (l commitList, err error) {
	var in []byte
	for _, id := range from {
		in = append(id.AppendHex(in), '\n')
	}
	for _, id := range not {
		in = append(id.AppendHex(append(in, '^')), '\n')
	}
	out, _, err := r.print(ctx, v, gitproc.Commits(most, mainline), in, most*(2*20+1))
	if exited(err, 128) {
		return l, fmt.Errorf("%w: %w", ErrNothing, err)
	}
	for line := range bytes.Lines(out) {
		id, wrong := gitwire.ParseObjectID(bytes.TrimSuffix(line, []byte("\n")))
		if wrong != nil {
			return l, wrong
		}
		l.ids = append(l.ids, id)
	}
	return l, err
}

// Led reports whether tips lead to a commit. They are those of a generation of the refs: of another one there are others.
func (r *Reader) Led(ctx context.Context, v Visit, tips []gitwire.ObjectID, generation uint64, to gitwire.ObjectID) (bool, error) {
	l, err := once(ctx, r, key{repo: v.Repo, what: "led", a: to, n: int(generation)}, func() (commitList, error) {
		return r.walk(ctx, v, []gitwire.ObjectID{to}, tips, 1, false)
	})
	return err == nil && len(l.ids) == 0, err
}

// MostNamed is how many commits Named looks for at the most.
const MostNamed = 20

// Named returns the commits to which tips lead and whose ids begin with names of 7 to 12 hexadecimal digits, by these names: those of the first MostNamed
// with which the id of one commit alone begins.
func (r *Reader) Named(ctx context.Context, v Visit, names []string, tips []gitwire.ObjectID) (map[string]gitwire.ObjectID, error) {
	names = names[:min(len(names), MostNamed)]
	var found []gitwire.ObjectID
	err := r.ask(ctx, v, func(a *asking) (err error) {
		found, err = a.git.Commits(names...)
		return err
	})
	if err != nil {
		return nil, err
	}
	known := map[string]gitwire.ObjectID{}
	for i, id := range found {
		if !id.IsZero() {
			known[names[i]] = id
		}
	}
	beside, err := r.beside(ctx, v, slices.Collect(maps.Values(known)), tips)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(known, func(_ string, id gitwire.ObjectID) bool { return beside[id] })
	return known, nil
}

// beside returns those of some commits to which tips do not lead. Where many other commits lie beside the tips, it may count all as such.
func (r *Reader) beside(ctx context.Context, v Visit, some, tips []gitwire.ObjectID) (map[gitwire.ObjectID]bool, error) {
	not := map[gitwire.ObjectID]bool{}
	some = slices.DeleteFunc(some, func(id gitwire.ObjectID) bool { return slices.Contains(tips, id) })
	if len(some) == 0 {
		return not, nil
	}
	l, err := r.walk(ctx, v, some, tips, MostCommits, false)
	if err != nil {
		return nil, err
	}
	for _, id := range l.ids {
		not[id] = true
	}
	if len(l.ids) == MostCommits {
		for _, id := range some {
			not[id] = true
		}
	}
	return not, nil
}

// Commits returns the newest commits that from leads to and not, which may be zero, does not: at most so many, and never more than MostCommits.
func (r *Reader) Commits(ctx context.Context, v Visit, from, not gitwire.ObjectID, most int) (all []*Commit, err error) {
	ids, err := r.list(ctx, v, from, not, min(most, MostCommits), false)
	if err != nil {
		return nil, err
	}
	err = r.ask(ctx, v, func(a *asking) error {
		all, err = a.commits(ids)
		return err
	})
	return all, err
}

// History returns a page of the history that begins with a commit: about so many commits along first parents with all that these merged, and the
// commit with which the next page begins, zero at the end. Where merges brought more than MostCommits, cut says that some are left out. So no page
// needs a walk over those before it, and each commit stands on one page.
func (r *Reader) History(ctx context.Context, v Visit, from gitwire.ObjectID, most int) (page []*Commit, next gitwire.ObjectID, cut bool, err error) {
	main, err := r.list(ctx, v, from, gitwire.ObjectID{}, most+1, true)
	if err != nil {
		return nil, next, false, err
	}
	if len(main) > most {
		next = main[most]
	}
	page, err = r.Commits(ctx, v, from, next, MostCommits)
	return page, next, len(page) == MostCommits, err
}
