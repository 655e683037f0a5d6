package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/status"
)

// The pages, by their paths. The overview is the worst of everything.
const (
	overviewPage     = ""
	relaysPage       = "relays"
	repositoriesPage = "repositories"
	relayPage        = "relay"
	repositoryPage   = "repository"
)

// pageRef says which page to show, and which part of it.
type pageRef struct {
	Path  string
	Of    string // the relay's URL, or the repository's address; "" where Key stands for it
	Key   string
	Query string // what is searched
	State string // only items in this state; "" is all
	Page  int    // 1 is the first
}

// Bounds of what a request asks: bytes of a search, and of a relay's URL or a repository's address that stands in a link as it is. A longer one
// has a key instead.
const (
	mostQuery = 300
	mostPlain = 300
	perPage   = 50
)

// repositoryStates has the states by which people search repositories, those first that need a look.
var repositoryStates = []string{lacksGit, incomplete, complete}

// parsePageRef reads a page's path, without slashes, and its query.
func parsePageRef(path string, q url.Values) (pageRef, error) {
	path = strings.TrimPrefix(path, "./")
	w := pageRef{Path: path, Query: strings.TrimSpace(q.Get("q")), State: q.Get("state"), Page: 1}
	if len(w.Query) > mostQuery {
		return w, fmt.Errorf("q: want at most %d bytes", mostQuery)
	}
	if s := q.Get("page"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return w, fmt.Errorf("page: want a number from 1 on, not %q", safetext.Printable(s))
		}
		w.Page = n
	}
	var states []string
	switch path {
	case overviewPage:
		return pageRef{Page: 1}, nil
	case relaysPage:
		for _, s := range status.States() {
			states = append(states, s.Name)
		}
	case repositoriesPage:
		states = repositoryStates
	case relayPage:
		w.Of, w.Key = q.Get("url"), q.Get("key")
	case repositoryPage:
		w.Of, w.Key = q.Get("address"), q.Get("key")
	default:
		return w, fmt.Errorf("there is no page %q", safetext.Printable(path))
	}
	if w.State != "" && !slices.Contains(states, w.State) {
		return w, fmt.Errorf("state: want one of %s", strings.Join(states, ", "))
	}
	return w, nil
}

// String returns the link to the page, relative to the other pages.
func (w pageRef) String() string {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	of := "url"
	if w.Path == repositoryPage {
		of = "address"
	}
	set(of, w.Of)
	set("key", w.Key)
	set("q", w.Query)
	set("state", w.State)
	if w.Page > 1 {
		q.Set("page", strconv.Itoa(w.Page))
	}
	path := w.Path
	if path == overviewPage {
		path = "./"
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// at returns the same search at another page.
func (w pageRef) at(page int) pageRef { w.Page = page; return w }

// pageRefOf returns the page of a relay or of a repository.
func pageRefOf(path, of string) pageRef {
	if len(of) > mostPlain {
		return pageRef{Path: path, Key: key(of)}
	}
	return pageRef{Path: path, Of: of}
}

// key returns a short name for a relay's URL or a repository's address, the same for ever.
func key(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:10])
}

// paged is a part of a list.
type paged struct {
	From, To, All int // the items from From to To-1 of All
	Page, Pages   int
}

// First returns the number of the first item, from 1 on.
func (p paged) First() int { return p.From + 1 }

// pageOf returns a page of so many items; beyond the last it returns the last.
func pageOf(page, all int) paged {
	pages := max(1, (all+perPage-1)/perPage)
	page = min(max(1, page), pages)
	return paged{From: (page - 1) * perPage, To: min(all, page*perPage), All: all, Page: page, Pages: pages}
}
