// Package gitfetch fetches from other git servers over smart HTTP (gitprotocol-http(5), gitprotocol-v2(5)). The package reads what a server
// shows, and takes packs of the objects that the caller names. Nothing that a server says chooses what gitfetch asks for, and it reaches
// the public network only. The package writes nothing: the caller gets the packs, and decides when to ask which server. Read
// [Client.Fetch].
package gitfetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Config says how a Client fetches. The zero Config is right for production.
type Config struct {
	Net   publicnet.Config // how connections are dialed; strangers' URLs lead to public addresses only
	Agent string           // "graspd" if empty
	// Authorization is the value of that header for requests to a repository, by its URL after redirects; "" is none. Nil: none.
	Authorization func(repository string) string
	Bounds        Bounds // zero fields have defaults
}

// Bounds are those of one fetch. A field that is 0 has the default that its comment names.
type Bounds struct {
	Refs        int           // of one advertisement; 50,000
	AdvertBytes int64         // of one list of refs; 8 MiB
	Dial        time.Duration // to connect: name, TCP and TLS; 10 s
	Answer      time.Duration // until the first byte of an answer; 60 s, as a large pack is counted first
	Silence     time.Duration // without a byte within an answer; 60 s
	Slow        int64         // bytes a second over a minute below which a transfer ends; 1024
	Total       time.Duration // for the whole fetch; 30 min
	ByID        int           // requests for what is not advertised; 4
}

const (
	maxPacks     = 512 << 20 // bytes, where the caller says nothing
	maxHaves     = 256       // ids, of those that the caller offers
	maxRedirects = 3
)

// withDefaults fills in the fields that are zero.
func (b Bounds) withDefaults() Bounds {
	b.Refs = cmp.Or(b.Refs, 50_000)
	b.AdvertBytes = cmp.Or(b.AdvertBytes, 8<<20)
	b.Dial = cmp.Or(b.Dial, 10*time.Second)
	b.Answer = cmp.Or(b.Answer, time.Minute)
	b.Silence = cmp.Or(b.Silence, time.Minute)
	b.Slow = cmp.Or(b.Slow, 1024)
	b.Total = cmp.Or(b.Total, 30*time.Minute)
	b.ByID = cmp.Or(b.ByID, 4)
	return b
}

// Client fetches. Any number of goroutines may use one Client; fetches share nothing.
type Client struct {
	cfg Config
	net *publicnet.Net
}

// New returns a Client, with defaults for the fields of cfg that are zero.
func New(cfg Config) *Client {
	cfg.Agent = cmp.Or(cfg.Agent, "graspd")
	cfg.Bounds = cfg.Bounds.withDefaults()
	return &Client{cfg, publicnet.New(cfg.Net)}
}

// Request says which objects a caller wants of one server.
type Request struct {
	URL    string               // as the announcement writes it; with or without a slash at the end
	Exempt []grasp.Source       // URLs that the operator implies for the wanted repository, free of the address rule, letter by letter
	Groups [][]gitwire.ObjectID // of wanted objects; a group is of use only with all of its objects
	Haves  []gitwire.ObjectID   // tips that are complete here; the first 256 are told
	// MaxBytes bounds all packs together; 0: 512 MiB.
	MaxBytes int64
	// Pack reads one pack to its end. Fetch calls Pack once for all groups of which the server shows every id, and once for each other
	// group, asking for all ids of that group by id. ids are those that the pack should have; each group is in one pack, and beyond 16,384
	// ids there is another pack. io.EOF means that the pack is complete and that nothing came after it. When Pack returns nil before
	// io.EOF, Fetch does not read the rest. The pack may be thin if there are Haves.
	Pack func(ctx context.Context, ids []gitwire.ObjectID, pack io.Reader) error
	// Alive, if not nil, is called whenever bytes come.
	Alive func()
	// Heard, if not nil, is called when the server has sent all that Fetch asks for, and only the last Pack has yet to return. Where Fetch
	// cannot tell by then whether it asks for more, it does not call Heard.
	Heard func()
}

// Result says what came of a fetch, also of one that failed.
type Result struct {
	Refs     *gitwire.Refs      // what the server shows of refs/heads/, refs/tags/, refs/nostr/ and HEAD; nil if it did not get so far
	Requests int                // HTTP requests that were made
	Bytes    int64              // that came
	Lacks    []gitwire.ObjectID // wanted ids that the server neither shows nor gave by id; each once
	// Withheld are those of Lacks that the server may have all the same, as it does not give by id whatever it has. They may come with the
	// refs that lead to them.
	Withheld []gitwire.ObjectID
	Said     string // how the server refused to give by id what it does not show, the last time; "" where it did not
}

// Fetch fetches the wanted objects from one server. It asks by id for what the server does not show, also where the server does not say that
// it gives anything by id: many do. Of a group of which the server lacks an object it takes nothing. The error of Fetch
// wraps publicnet.ErrForbidden, [ErrTooMuch], [ErrSilent], a [*StatusError], a [*ServerError] or a [*ProtocolError] where it is one of
// these. An error of Request.Pack comes as it is. Any other error wraps the error of the connection.
func (c *Client) Fetch(ctx context.Context, r Request) (Result, error) {
	return c.run(ctx, r, func(ctx context.Context, s *exchange, a *advert) error { return s.take(ctx, r, a) })
}

// Advertised asks the server for its refs, and for nothing else that r wants. Advertised fails as Fetch does.
func (c *Client) Advertised(ctx context.Context, r Request) (Result, error) {
	r.Groups = nil
	return c.run(ctx, r, func(context.Context, *exchange, *advert) error { return nil })
}

// run opens an exchange, reads the refs, and calls then for the rest.
func (c *Client) run(ctx context.Context, r Request, then func(context.Context, *exchange, *advert) error) (Result, error) {
	late := fmt.Errorf("%w: not through after %v", ErrSilent, c.cfg.Bounds.Total)
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Bounds.Total, late)
	defer cancel()
	s := &exchange{client: c, base: strings.TrimRight(r.URL, "/"), exempt: r.Exempt, alive: r.Alive, left: cmp.Or(r.MaxBytes, maxPacks)}
	s.typed = s.implied(r.URL)
	s.ended = func() error { return context.Cause(ctx) }
	defer s.close()
	a, err := s.advertised(ctx)
	if err == nil {
		s.res.Refs = a.refs.list()
		err = then(ctx, s, a)
		s.res.Lacks = s.lacks(r.Groups, a)
		s.res.Withheld = s.withheld(a)
	}
	if err == nil {
		return s.res, nil
	}
	if own, is := errors.AsType[packError](err); is {
		return s.res, own.error
	}
	return s.res, fmt.Errorf("fetch %s: %w", safetext.Printable(r.URL), err)
}

// implied reports whether a URL is one of those that the operator implies.
func (s *exchange) implied(url string) bool { return slices.Contains(s.exempt, grasp.Source(url)) }

// packError marks an error that the caller's Pack returned.
type packError struct{ error }

// lacks returns the wanted ids that the server neither shows nor gave.
func (s *exchange) lacks(groups [][]gitwire.ObjectID, a *advert) (out []gitwire.ObjectID) {
	seen := map[gitwire.ObjectID]bool{}
	for _, id := range slices.Concat(groups...) {
		if !seen[id] && !a.refs.shows(id) && !s.given[id] {
			out = append(out, id)
		}
		seen[id] = true
	}
	return out
}

// withheld returns what is lacked of which the server has not shown that it does not have it.
func (s *exchange) withheld(a *advert) (out []gitwire.ObjectID) {
	if len(a.refs.ids) == 0 {
		return nil
	}
	for _, id := range s.res.Lacks {
		if !a.gives() || s.kept[id] {
			out = append(out, id)
		}
	}
	return out
}
