package relay

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"graspd/internal/nip19"
	"graspd/internal/nip34"
	"graspd/internal/nostr"
	"graspd/internal/words"
)

// Bounds of the list of repositories on the page.
const (
	mostListed = 200 // the newest announcements
	mostAbout  = 200 // bytes of a description
	mostWeb    = 3   // links of one repository
	listedTime = 30 * time.Second
)

// listed is the page as it was made last, for everybody who comes soon after.
type listed struct {
	mu   sync.Mutex
	at   time.Time
	html []byte
}

// repositoryView is one repository on the page.
type repositoryView struct {
	Name, About, Owner string
	Clone              string   // for git with ngit
	Client             string   // a web client
	Web                []string // the owner's own links
}

// pageNow returns the page with the repositories of now, or of some seconds ago.
func (r *Relay) pageNow() ([]byte, error) {
	l := &r.listed
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.html != nil && time.Since(l.at) < listedTime {
		return l.html, nil
	}
	repositories, more, err := r.repositories()
	if err != nil {
		return nil, err
	}
	html, err := r.page.render(repositories, more)
	if err != nil {
		return nil, err
	}
	l.html, l.at = html, time.Now()
	return html, nil
}

// repositories lists the newest announcements that list this relay, and tells
// how many announcements it did not look at.
func (r *Relay) repositories() (out []repositoryView, more int64, err error) {
	v := r.store.View()
	defer v.Close()
	most, seen := mostListed, int64(0)
	for row, err := range v.Query(context.Background(), nostr.Filter{Kinds: []nostr.Kind{nip34.KindRepository}, Limit: &most}) {
		if err != nil {
			return nil, 0, fmt.Errorf("list repositories: %w", err)
		}
		seen++
		e, err := row.Event()
		if err != nil {
			return nil, 0, fmt.Errorf("list repositories: %w", err)
		}
		if a, err := nip34.ParseAnnouncement(e); err == nil && r.service.Lists(a) {
			out = append(out, r.repositoryView(a))
		}
	}
	return out, max(0, r.store.Stats().Repositories-seen), nil
}

func (r *Relay) repositoryView(a *nip34.Announcement) repositoryView {
	npub := nip19.Npub(a.Address.PubKey)
	host := strings.TrimPrefix(strings.TrimPrefix(string(r.service.RelayURL()), "wss://"), "ws://")
	path := npub + "/" + escape(host) + "/" + escape(a.Address.D)
	v := repositoryView{
		Name: a.Name, About: shorten(a.Description, mostAbout), Owner: npub, Clone: "nostr://" + path, Client: "https://gitworkshop.dev/" + path,
	}
	if strings.TrimSpace(v.Name) == "" {
		v.Name = a.Address.D
	}
	v.Name = shorten(v.Name, mostAbout)
	for _, w := range a.Web {
		if u, err := url.Parse(w); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && len(w) <= 500 && len(v.Web) < mostWeb {
			v.Web = append(v.Web, w)
		}
	}
	return v
}

// escape writes a part of a path with nothing but unreserved characters (RFC 3986).
func escape(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}

// shorten cuts a text to its first line, and to most bytes.
func shorten(s string, most int) string {
	s, _, cut := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")), "\n")
	s, long := words.Cut(s, most)
	if cut || long {
		s = strings.TrimSpace(s) + "…"
	}
	return s
}
