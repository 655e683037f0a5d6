package relay

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/web"
)

// robots lets crawlers read everything but the operator's page and archives.
func robots(base string) string {
	return "User-agent: *\nDisallow: " + base + "/operator/\nDisallow: " + base + "/*.git/archive/\n"
}

// placeOf returns the path of a request below that of the service, where "/" is the service itself. Behind a proxy that takes the path off it is
// the request's own.
func (r *Relay) placeOf(req *http.Request) string {
	path := web.Tidy(req.URL.Path)
	if below, ok := strings.CutPrefix(path, r.service.Root()); ok && (below == "" || below[0] == '/') {
		path = below
	}
	return cmp.Or(path, "/")
}

// serveHTTP serves WebSocket, the information document (NIP-11) and a page for people on the path of the service, and below it the feed, names
// (NIP-05) and robots.txt. It serves nothing else.
func (r *Relay) serveHTTP(w http.ResponseWriter, req *http.Request, from front.Client) {
	place := r.placeOf(req)
	switch {
	case place == "/feed.atom" && (req.Method == http.MethodGet || req.Method == http.MethodHead):
		r.writePage(w, req, from, r.feedNow)
	case place == namesPath && (req.Method == http.MethodGet || req.Method == http.MethodHead):
		write(w, "application/json", r.presented.Load().named(req.URL.Query().Get("name")))
	case place == "/robots.txt" && (req.Method == http.MethodGet || req.Method == http.MethodHead):
		write(w, "text/plain; charset=utf-8", []byte(robots(r.service.Base())))
	case place != "/":
		r.look.Missing(w, req, r.service.String(), r.service.Base()+"/", "There is no such page here", "this relay is on "+r.service.Base()+"/")
	case hasToken(req.Header, "Upgrade", "websocket"):
		r.serveClient(w, req, from)
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "405 method not allowed", http.StatusMethodNotAllowed)
	case wantsInfo(req.Header):
		write(w, nip11.ContentType, r.presented.Load().info)
	default:
		r.writePage(w, req, from, r.pageNow)
	}
}

// tellsNothing reports whether the answer tells nothing of the stored events. So do the WebSocket, whose sessions demand authentication
// themselves, and what the relay says of itself.
func (r *Relay) tellsNothing(req *http.Request) bool {
	gets := req.Method == http.MethodGet || req.Method == http.MethodHead
	switch r.placeOf(req) {
	case namesPath:
		return gets
	case "/":
		return hasToken(req.Header, "Upgrade", "websocket") || gets && wantsInfo(req.Header)
	}
	return false
}

// wantsInfo reports whether a client wants the information document, and not the page: it names the document's type, as no browser does, or
// takes no page.
func wantsInfo(h http.Header) bool {
	info, named := web.Accepts(h, nip11.ContentType)
	page, _ := web.Accepts(h, "text/html")
	return info > 0 && (named || page == 0)
}

// errNoPage says that the list has no page with that number.
var errNoPage = errors.New("no such page")

// writePage answers with the page for people or the Atom feed.
func (r *Relay) writePage(w http.ResponseWriter, req *http.Request, from front.Client, render func(*http.Request, front.Client) (string, []byte, error)) {
	if wait := from.Visitor.Admit(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(1+int(wait/time.Second)))
		http.Error(w, "429 too many requests from your address", http.StatusTooManyRequests)
		return
	}
	kind, body, err := render(req, from)
	switch {
	case errors.Is(err, errNoPage):
		r.look.Missing(w, req, r.service.String(), r.service.Base()+"/", "There is no such page here", "the list has fewer pages")
	case err != nil:
		r.logger.Error("the page cannot be made", "error", err)
		http.Error(w, "500 internal error", http.StatusInternalServerError)
	default:
		r.look.Answer(w, req, http.StatusOK, kind, body, r.presented.Load().page.view.Document.Icon, r.presented.Load().page.view.Banner)
	}
}

// pageNow renders the page for people.
func (r *Relay) pageNow(req *http.Request, from front.Client) (string, []byte, error) {
	list, more, err := r.listNow()
	if err != nil {
		return "", nil, err
	}
	all, number := len(list), 1
	q := req.URL.Query()
	query, _ := safetext.Cut(strings.TrimSpace(strings.ToValidUTF8(q.Get("q"), "")), mostQuery)
	if query != "" {
		from.Visitor.Charge(all / 10)
		list = find(list, query)
	}
	if s := q.Get("page"); s != "" {
		if number, err = strconv.Atoi(s); err != nil || number < 1 || number > 1 && (number-1)*perPage >= len(list) {
			return "", nil, errNoPage
		}
	}
	html, err := r.presented.Load().page.render(list, all, query, number, more)
	return web.HTML, html, err
}

// feedNow renders the Atom feed of the newest announcements of repositories.
func (r *Relay) feedNow(*http.Request, front.Client) (string, []byte, error) {
	list, _, err := r.listNow()
	if err != nil {
		return "", nil, err
	}
	const most = 30
	list = slices.SortedStableFunc(slices.Values(list), func(a, b repositoryView) int { return cmp.Compare(b.Announced, a.Announced) })
	home := r.presented.Load().page.view.HTTP
	self := strings.TrimSuffix(home, "/") + "/feed.atom"
	f := web.Feed{Title: safetext.EscapeBidi(r.presented.Load().page.view.Name), ID: self, Updated: web.Stamp(0), Links: []web.Link{{Rel: "self", Type: "application/atom+xml", Href: self}, {Rel: "alternate", Type: "text/html", Href: home}}}
	for i, x := range list[:min(len(list), most)] {
		if i == 0 {
			f.Updated = web.Stamp(x.Announced)
		}
		f.Entries = append(f.Entries, web.Entry{Title: safetext.EscapeBidi(x.Name), ID: x.Clone, Updated: web.Stamp(x.Announced), Author: x.Owner, Summary: safetext.EscapeBidi(x.About), Links: []web.Link{{Rel: "alternate", Type: "text/html", Href: cmp.Or(x.Page, x.Client)}}})
	}
	b, err := f.Bytes()
	return web.Atom, b, err
}

// hasToken reports whether a header that is a list has the value, in any case and with any parameters.
func hasToken(h http.Header, key, value string) bool {
	for _, line := range h.Values(key) {
		for part := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), value) {
				return true
			}
		}
	}
	return false
}

// write answers with a body that depends on the Accept header of the request. For HEAD the server leaves the body out.
func write(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Vary", "Accept")
	w.Write(body)
}

// serveClient upgrades to WebSocket and serves the client until it is gone.
func (r *Relay) serveClient(w http.ResponseWriter, req *http.Request, from front.Client) {
	if r.isClosed() {
		r.counts.turnedAway.Add(1)
		refuseUpgrade(w, http.StatusServiceUnavailable, shuttingDown.text)
		return
	}
	place, err := r.front.Arrive(from.Visitor)
	if err != nil {
		r.counts.turnedAway.Add(1)
		status := http.StatusTooManyRequests
		if errors.Is(err, front.ErrTooManyInAll) {
			status = http.StatusServiceUnavailable
		}
		refuseUpgrade(w, status, err.Error())
		return
	}
	defer place.GiveBack()
	who := &identity{challenge: r.challenge()}
	s := &session{
		relay: r, visitor: from.Visitor, who: who,
		wake: newBell(),
	}
	if r.door != nil {
		s.source = r.door.Source(r.sourceConfig(from, who))
		defer s.source.Close()
	}
	s.out, s.subs = newOutbox(s.wake), newSubscriptions(s.wake, &r.liveBytes)
	s.cork = &cork{spare: r.corkBuffers, count: s.received}
	s.pay = payer{visitor: from.Visitor, cork: s.cork}
	s.conn, err = websocket.Accept(&corked{w, s.cork}, req, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // any web page may be a Nostr client, so the origin says nothing
		OnPingReceived:     func(context.Context, []byte) bool { return s.pinged() },
		OnPongReceived:     func(context.Context, []byte) { s.control() },
	})
	if err != nil {
		return
	}
	defer s.conn.CloseNow()
	s.conn.SetReadLimit(int64(r.limits.MessageBytes) * hardLimit)
	ctx, kill := context.WithCancel(context.WithoutCancel(req.Context()))
	defer kill()
	r.counts.taken.Add(1)
	err = s.serve(ctx, kill)
	r.counts.ended(err)
	r.logger.Debug("client gone", "client", label(from.Addr), "cause", err)
}

// sourceConfig configures the client's source at the door. All clients of one IPv4 address, or one IPv6 /48, are one party there, and the
// address pays for the work of deciding their events. Every client without rates is a party of its own.
func (r *Relay) sourceConfig(from front.Client, who *identity) ingest.SourceConfig {
	c := ingest.SourceConfig{Label: label(from.Addr), Direct: true, HoldPlaces: true, Bearer: who.bearer}
	if from.Visitor != nil {
		c.Party, c.Charge = "client "+front.Network(from.Addr).String(), from.Visitor.ChargeDecision
	}
	return c
}

func refuseUpgrade(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, text, status)
}

// label returns the name of a client's address for the door and the log.
func label(addr netip.Addr) string {
	if !addr.IsValid() {
		return "client"
	}
	return addr.String()
}
