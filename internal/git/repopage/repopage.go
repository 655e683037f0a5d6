// Package repopage shows one repository to people, at the URL that git clones: what its announcement says, how to clone it, its
// branches and tags, the README, and the newest issues, patches and pull requests. Pages change nothing, have no script, and show nothing
// of events that wait for git data. Read Config, then frame.go,
// and overview.go for the first of the pages.
package repopage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/web"
)

// Config says what is shown. Store, Service, Rules and Find are needed.
type Config struct {
	Store   *store.Store
	Service grasp.Service
	Rules   func() policy.Rules // the rules in force
	// Find looks a repository up; it returns false for one whose announcement is neither stored nor waiting.
	Find func(of nip34.Address) (Repository, bool, error)
	// Contributors adds pages of contributed repositories, at /prs/<signer npub>/<identifier>.git (GRASP-06).
	Contributors bool
	Look         web.Look
	Reader       Reader           // nil: pages have no README and no times of branches
	Code         *gitread.Reader  // nil: there are no pages of files and commits
	Work         int              // steps, as a store.Meter counts them, that one page may take to read threads; 0 is as much as 20 requests
	Now          func() time.Time // nil is time.Now
	Logger       *slog.Logger     // nil is silent
}

// Repository is what the relay serves of a repository to git. Nobody changes its Refs.
type Repository struct {
	Dir        string // where its data is; "" before the first came
	Generation uint64 // of its refs: another number means other refs
	Refs       *gitwire.Refs
}

// Pages answers people who open the URL of a repository.
type Pages struct {
	Config
	looks    looks
	texts    texts
	catalogs *kept[shelf, *catalog] // for everybody who filters, searches and turns pages soon after
	places   *fair.Account          // of pages that are being made
	bodies   *fair.Account          // bytes of large answers that are being sent
}

// New prepares the pages.
func New(c Config) *Pages {
	c.Work = cmp.Or(c.Work, 20*front.StepsPerRequest)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return &Pages{Config: c, looks: newLooks(), texts: newTexts(), catalogs: newKept[shelf, *catalog](listsBytes), places: newPlaces(c.Now), bodies: newBodies(c.Now)}
}

// Route returns the route of the pages, for the front.
func (p *Pages) Route() front.Route {
	return front.Route{Name: "repository pages", Door: front.Signed, Takes: p.takes, Serve: p.serve}
}

// takes reports whether a client that takes pages asks for a path of the form /<npub>/<identifier>.git, with or without ".git", for a page below,
// for an owner by their npub, or for an event by its name.
func (p *Pages) takes(req *http.Request) bool {
	below, ok := strings.CutPrefix(web.Tidy(req.URL.EscapedPath()), p.Service.Base())
	if !ok || req.Method != http.MethodGet && req.Method != http.MethodHead {
		return false
	}
	if _, prs := p.contributed(below); !prs { // a feed or a mail is what its path says, whatever its reader calls it
		if _, last, _ := strings.Cut(below, ".git/"); feeds[last] != nil && strings.Count(below, "/") == 3 || isMail(last) && strings.Count(below, "/") == 4 {
			return true
		}
	}
	if p.sendsRaw(below) {
		return true
	}
	if !reads(req.Header) {
		return false
	}
	if _, _, ok := authorOf(below); ok {
		return true
	}
	below, prs := p.contributed(below)
	parts := strings.SplitN(below, "/", 4)
	switch {
	case prs:
		return len(parts) == 3 && strings.HasSuffix(parts[2], ".git")
	case len(parts) == 2:
		return parts[0] == "" && (strings.HasPrefix(parts[1], "note1") || strings.HasPrefix(parts[1], "nevent1"))
	case len(parts) < 3 || parts[0] != "" || !strings.HasSuffix(parts[2], ".git"):
		return false
	case len(parts) == 3:
		return true
	}
	return isPage(parts[3]) || typed(req.Header, parts[3])
}

// ofGit are the first names of paths below a repository that are git's.
var ofGit = []string{"info", "objects", "refs", "HEAD", "git-upload-pack", "git-receive-pack"}

// typed reports whether a browser asks for what is neither a page nor git's nor an archive: the reader gets a page that leads home. No client of git
// names HTML.
func typed(h http.Header, rest string) bool {
	page, named := web.Accepts(h, "text/html")
	section, _, _ := strings.Cut(rest, "/")
	return named && page > 0 && !slices.Contains(ofGit, section) && !(section == "archive" && strings.HasSuffix(rest, ".tar.gz"))
}

// reads reports whether a client takes a page or a feed.
func reads(h http.Header) bool {
	page, _ := web.Accepts(h, "text/html")
	feed, _ := web.Accepts(h, "application/atom+xml")
	return page > 0 || feed > 0
}

func (p *Pages) serve(w http.ResponseWriter, req *http.Request, from front.Client) {
	if wait := from.Visitor.Admit(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(1+int(wait/time.Second)))
		p.fail(w, req, http.StatusTooManyRequests, "Too many requests from your address", "Try again later.")
		return
	}
	path := req.URL.EscapedPath()
	if right := web.Tidy(path); right != path {
		http.Redirect(w, req, asAsked(right, req), http.StatusMovedPermanently)
		return
	}
	path = strings.TrimPrefix(path, p.Service.Base())
	if name, right, ok := authorOf(path); ok {
		p.author(w, req, name, right, from)
		return
	}
	if strings.Count(path, "/") == 1 {
		p.lead(w, req, path[1:], from)
		return
	}
	path, prs := p.contributed(path)
	owner, identifier, rest, err := grasp.ParseRepositoryPath(path)
	if err != nil {
		p.fail(w, req, http.StatusBadRequest, "This is not the URL of a repository", err.Error())
		return
	}
	of := nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: identifier}
	var body []byte
	kind := web.HTML
	rest = strings.TrimPrefix(rest, "/")
	if section, _, _ := strings.Cut(rest, "/"); codePages[section] != nil && !prs {
		if err := p.code(w, req, of, rest, from); err != nil {
			p.failed(w, req, of, rest, prs, err)
		}
		return
	}
	switch {
	case prs:
		of = grasp.Contributed(owner, identifier)
		body, err = p.contributedPage(req.Context(), of, from)
	case rest == "":
		body, err = p.page(req.Context(), of, from)
	case feeds[rest] != nil:
		kind = web.Atom
		body, err = p.feed(req.Context(), of, rest, from)
	case isMail(rest):
		kind = "text/plain; charset=utf-8"
		body, err = p.mail(req.Context(), of, rest, from)
	case !isThread(rest):
		err = errNothing
	default:
		body, err = p.below(req.Context(), of, rest, req.URL.Query(), from)
	}
	if err != nil {
		p.failed(w, req, of, rest, prs, err)
		return
	}
	from.Visitor.Charge(len(body) / bytesAStep)
	p.Look.Answer(w, req, http.StatusOK, kind, body, web.Self)
}

// asAsked adds the query of a request to a path.
func asAsked(path string, req *http.Request) string {
	if req.URL.RawQuery != "" {
		path += "?" + req.URL.RawQuery
	}
	return path
}

// failed answers a request whose page could not be made.
func (p *Pages) failed(w http.ResponseWriter, req *http.Request, of nip34.Address, rest string, prs bool, err error) {
	var moved movedTo
	switch {
	case errors.As(err, &moved):
		http.Redirect(w, req, string(moved), http.StatusFound)
	case errors.Is(err, errNothing) && prs:
		p.fail(w, req, http.StatusNotFound, "Nothing has been contributed here yet", "A pull request of this person that names this URL is shown once its commit is pushed here, to refs/nostr/<id of its event>.")
	case errors.Is(err, errNothing) && rest != "":
		f := frame{Title: "There is no such page here", Lead: "What it shows may have been deleted, or is not here yet."}
		f.leadBack(p, of)
		p.failAt(w, req, http.StatusNotFound, f)
	case errors.Is(err, errNothing):
		p.fail(w, req, http.StatusNotFound, "There is no such repository here", "Its announcement (kind 30617) has to be published here first.")
	case errors.Is(err, errCostly):
		p.fail(w, req, http.StatusServiceUnavailable, "This page takes too much work", "Look at it in a web client.")
	case errors.As(err, new(fair.Refusal)):
		w.Header().Set("Retry-After", "5")
		p.fail(w, req, http.StatusServiceUnavailable, "This server makes too many pages just now", "Try again later.")
	case req.Context().Err() != nil: // the client has left
	default:
		p.Logger.Error("the page of a repository cannot be made", "repository", of.String(), "error", err)
		p.fail(w, req, http.StatusInternalServerError, "This server has a fault", "Try again later.")
	}
}

// movedTo is the path of a page that a client asked for at another path.
type movedTo string

func (m movedTo) Error() string { return "stands at " + string(m) }

// errNothing says that there is nothing to show at a path.
var errNothing = errors.New("no such repository")

// page returns the page of a repository. Its branches and tags are those of now; all else may be keptTime old.
func (p *Pages) page(ctx context.Context, of nip34.Address, from front.Client) ([]byte, error) {
	r, found, err := p.Find(of)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errNothing
	}
	if html, ok := p.texts.get(keyOf(of, r.Generation), p.Now()); ok {
		return []byte(html), nil
	}
	l, err := p.read(ctx, of, r, from) // git may take its time, and so nobody waits for a place meanwhile
	if err != nil {
		return nil, err
	}
	return p.made(ctx, of, r.Generation, from, func() (page, error) { return p.see(ctx, of, r, l, from.Visitor) })
}

// made returns the page that is kept, or has see make one and keeps it. It waits for a place among the pages that are being made.
func (p *Pages) made(ctx context.Context, of nip34.Address, generation uint64, from front.Client, see func() (page, error)) ([]byte, error) {
	key := keyOf(of, generation)
	if html, ok := p.texts.get(key, p.Now()); ok {
		return []byte(html), nil
	}
	end, err := p.place(ctx, of, from)
	if err != nil {
		return nil, err
	}
	defer end()
	now := p.Now()
	if html, ok := p.texts.get(key, now); ok { // somebody made it meanwhile
		return []byte(html), nil
	}
	x, err := see()
	if err != nil {
		return nil, err
	}
	html, err := p.render(x)
	if err == nil {
		p.texts.put(key, template.HTML(html), now.Add(keptTime))
	}
	return html, err
}

// keyOf returns the key of the page of a repository among texts, while its refs are of one generation.
func keyOf(of nip34.Address, generation uint64) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "overview %d %s", generation, of))
}
