package repopage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/web"
)

// Bounds of the pages of a repository's files and commits.
const (
	codeTime   = 15 * time.Second
	mostShown  = 200       // bytes of a name
	largeBody  = 256 << 10 // bytes, from which on a body counts while it is sent
	sendBodies = 64 << 20  // bytes of these at once
	bytesAStep = 100       // bytes of an answer that are hashed and compressed in one step
)

// codePages has the pages of files and commits, by the first name of their paths below that of the repository.
var codePages = map[string]func(*Pages, context.Context, *code) (answer, error){
	"tree": (*Pages).tree, "blob": (*Pages).blob, "raw": (*Pages).raw, "commits": (*Pages).commits, "commit": (*Pages).commit,
	"branches": (*Pages).branches, "tags": (*Pages).tags,
}

// code is a request for one of these pages.
type code struct {
	of   nip34.Address
	r    Repository
	name string // of the repository
	home string // the path of its page
	url  string // of its page, in feeds
	rest string // of the path, escaped
	q    url.Values
	read gitread.Visit
	from front.Client
	b    *bill
}

// answer is such a page, or the bytes of a file.
type answer struct {
	page  page
	Type  string // "" for a page
	Body  []byte
	Fixed bool              // it never changes
	key   [sha256.Size]byte // under which the page is kept among texts; zero for one that is not
}

// before returns the page of a commit that was made before, or else the key under which this one is to be kept. variant says which it is of those
// with the same path.
func (c *code) before(p *Pages, s spot, variant string) (a answer, ok bool) {
	a.key = sha256.Sum256([]byte(strings.Join([]string{"page", c.home, c.name, c.rest, s.Commit.String(), variant}, "\x00")))
	html, ok := p.texts.get(a.key, p.Now())
	if ok {
		a.Type, a.Body, a.Fixed = web.HTML, []byte(html), s.Fixed
	}
	return a, ok
}

// wrong is a page that says what is wrong. Its path leads back to the repository.
type wrong struct {
	status      int
	title, text string
}

func (w wrong) Error() string { return w.title }

// code answers a request for a page of files or commits.
func (p *Pages) code(w http.ResponseWriter, req *http.Request, of nip34.Address, rest string, from front.Client) error {
	ctx, cancel := context.WithTimeout(req.Context(), codeTime)
	defer cancel()
	c, err := p.codeOf(of, from)
	if err != nil {
		return err
	}
	section, rest, _ := strings.Cut(rest, "/")
	if rest == "" && (section == "tree" || section == "blob" || section == "commits") {
		return movedTo(c.home + "/" + section + "/HEAD")
	}
	c.rest, c.q = rest, req.URL.Query()
	a, err := codePages[section](p, ctx, c)
	if err = inWords(err); err != nil {
		var x wrong
		if errors.As(err, &x) {
			if x.status == http.StatusServiceUnavailable {
				w.Header().Set("Retry-After", "5")
			}
			p.failAt(w, req, x.status, frame{Title: x.title, Lead: x.text, Path: c.home, Name: c.name})
			return nil
		}
		return err
	}
	if a.Type == "" {
		end, err := p.place(ctx, of, from)
		if err != nil {
			return err
		}
		a.page.Path, a.page.Name, a.Type = c.home, c.name, web.HTML
		a.page.Canonical = p.Service.CloneURL(of.PubKey, of.D) + "/" + section + "/" + c.rest
		if html, ok := p.texts.get(a.key, p.Now()); ok { // somebody made it meanwhile
			a.Body = []byte(html)
		} else if a.Body, err = p.render(a.page); err == nil && a.key != ([sha256.Size]byte{}) {
			p.texts.put(a.key, template.HTML(a.Body), time.Time{})
		}
		if end(); err != nil {
			return err
		}
	}
	c.b.visitor.Charge(len(a.Body) / bytesAStep)
	if n := int64(len(a.Body)); n > largeBody {
		g, err := p.bodies.Wait(ctx, from.Visitor.Party(), n)
		if err != nil {
			return err
		}
		defer g.GiveBack()
	}
	if a.Fixed {
		w.Header().Set("Cache-Control", web.Forever)
	}
	if a.Type == web.HTML {
		p.Look.Answer(w, req, http.StatusOK, a.Type, a.Body, web.Self)
	} else {
		web.Raw(w, req, a.Type, a.Body)
	}
	return nil
}

// sendsRaw reports whether a path below the base is that of a file as it is, which pictures on pages name whatever they accept.
func (p *Pages) sendsRaw(below string) bool {
	parts := strings.SplitN(below, "/", 5)
	return p.Code != nil && len(parts) == 5 && parts[0] == "" && parts[3] == "raw" && strings.HasSuffix(parts[2], ".git")
}

// codeOf prepares a request about a repository whose announcement is served. It fails with errNothing, and with a wrong where no data is here.
func (p *Pages) codeOf(of nip34.Address, from front.Client) (*code, error) {
	r, found, err := p.Find(of)
	if err != nil || !found {
		return nil, errors.Join(err, errNothing)
	}
	c := &code{of: of, r: r, home: p.path(of), from: from, b: p.bill(from.Visitor)}
	s := p.Store.View()
	defer s.Close()
	if c.name, err = named(s, of); err != nil {
		return nil, err
	}
	if r.Dir != "" {
		c.read, err = visitOf(r, from)
	}
	return c, err
}

// data fails where there is nothing to read.
func (c *code) data(p *Pages) error {
	if c.r.Dir == "" || c.r.Refs == nil || p.Code == nil {
		return wrong{http.StatusNotFound, "No git data is here yet", "The repository is announced, and nobody has pushed its data here so far. Where it has been pushed elsewhere, this server fetches it."}
	}
	return nil
}

// led fails with ErrNothing where no ref leads to a commit that somebody names by its id: nobody signed for it, or it was taken back.
func (c *code) led(ctx context.Context, p *Pages, id gitwire.ObjectID) error {
	var all []gitwire.ObjectID
	for _, r := range c.r.Refs.List {
		all = append(all, r.Tip())
	}
	if slices.Contains(all, id) {
		return nil
	}
	led, err := p.Code.Led(ctx, c.read, all, c.r.Generation, id)
	if err == nil && !led {
		err = gitread.ErrNothing
	}
	return err
}

// spot returns what the path names.
func (c *code) spot(ctx context.Context, p *Pages) (spot, error) {
	if err := c.data(p); err != nil {
		return spot{}, err
	}
	s, ok := spotOf(c.r.Refs, c.rest)
	if !ok && c.rest == "HEAD" {
		return s, wrong{http.StatusNotFound, "There are no files here yet", "The branch that HEAD names has no commit."}
	}
	if !ok {
		return s, wrong{http.StatusNotFound, "There is no such branch, tag or commit here", "It may have been deleted or renamed, or its commits are not here yet."}
	}
	if s.Fixed {
		return s, c.led(ctx, p, s.Commit)
	}
	return s, nil
}

// inWords makes of an error of git what a page says; nil stays nil.
func inWords(err error) error {
	switch {
	case errors.Is(err, gitread.ErrNothing):
		return wrong{http.StatusNotFound, "There is no such file or commit here", "It may have been moved or deleted since, or stands on another branch."}
	case errors.Is(err, gitread.ErrCostly):
		return wrong{http.StatusServiceUnavailable, "This page takes too much work", "Clone the repository to look at it."}
	case errors.Is(err, gitproc.ErrBusy):
		return wrong{http.StatusServiceUnavailable, "This server is busy", "Too many read repositories just now. Try again in a moment."}
	}
	return err
}

// codeHead is what the pages of files have above their content.
type codeHead struct {
	Home, Ref, At string   // At is the path of the ref, escaped
	Short, ID     string   // of the commit
	Crumbs        []crumb  // the repository first, and what is shown last
	Path          string   // escaped; "" for the uppermost directory
	Section       string   // of the permanent link
	Fixed         bool     // this is the permanent link
	Last          *oneLine // the commit, where known
}

type crumb struct{ Name, Path string }

func (c *code) head(section string, s spot) codeHead {
	h := codeHead{Home: c.home, Ref: safetext.Escape(s.Ref), At: escapePath(s.Ref), ID: s.Commit.String(), Section: section, Fixed: s.Fixed, Path: escapePath(s.Path)}
	if h.Short = h.ID[:10]; s.Fixed {
		h.Ref = h.Short
	}
	at := c.home + "/tree/" + h.At
	h.Crumbs = []crumb{{c.name, at}}
	if s.Path != "" {
		for name := range strings.SplitSeq(s.Path, "/") {
			at += "/" + escapePath(name)
			h.Crumbs = append(h.Crumbs, crumb{shown(name), at})
		}
	}
	return h
}

// shown makes one printable line of a name.
func shown(name string) string { return safetext.Line(safetext.Escape(name), mostShown) }

// under joins a path and a name, escaped.
func under(at, path, name string) string {
	if path != "" {
		name = path + "/" + name
	}
	return at + "/" + escapePath(name)
}

// numberIn returns a number of the query from 1 on; 1 where there is none.
func numberIn(q url.Values, name string) (int, error) {
	s := q.Get(name)
	if s == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, errNothing
	}
	return n, nil
}

// inBytes writes a size.
func inBytes(n int64) string {
	switch {
	case n < 0:
		return ""
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// oneLine is a commit on one line of a page.
type oneLine struct {
	Subject, By, Day, Short, Path string
	Merge                         bool
}

func (c *code) line(x *gitread.Commit) *oneLine { return lineOf(c.home, x) }

// lineOf returns the line of a commit of the repository whose page is at a path.
func lineOf(home string, x *gitread.Commit) *oneLine {
	l := &oneLine{Subject: safetext.Line(x.Subject, mostSubject), By: shown(x.Author.Name), Day: day(x.Committer), Short: x.ID.String()[:10], Path: home + "/commit/" + x.ID.String(), Merge: len(x.Parents) > 1}
	if l.Subject == "" {
		l.Subject = "(no message)"
	}
	return l
}

// day returns the day of what somebody did, in UTC; "" where it is not known.
func day(who gitread.Person) string {
	if who.When.IsZero() {
		return ""
	}
	return dayOf(who.When.Unix())
}
