package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// place is a repository at graspd.
type place struct {
	url   string
	path  string // of the URL
	owner nostr.SecretKey
	d     string
	now   int64 // of its newest state
}

// at is its URL at a graspd.
func (p *place) at(g *process) string { return "http" + strings.TrimPrefix(g.url, "ws") + p.path }

// newPlace announces a repository that others' clients can push to.
func newPlace(ctx context.Context, g *process, c *client, n int, d string) (*place, error) {
	s, err := grasp.ParseService(domain)
	if err != nil {
		return nil, err
	}
	p := &place{owner: key(2000 + n), d: d, now: time.Now().Unix() - 1000}
	url := s.CloneURL(p.owner.PubKey(), d)
	p.path = strings.TrimPrefix(url, s.WebURL())
	p.url = p.at(g)
	return p, c.publish(ctx, sign(p.owner, p.now, nip34.KindRepository, "", nostr.Tag{"d", d}, nostr.Tag{"clone", url}, nostr.Tag{"relays", service}))
}

// state is the next one.
func (p *place) state(refs map[string]gitwire.ObjectID) *nostr.Event {
	tags := nostr.Tags{{"d", p.d}, {"HEAD", "ref: " + mainRef}}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		tags = append(tags, nostr.Tag{name, refs[name].String()})
	}
	p.now++
	return sign(p.owner, p.now, nip34.KindState, "", tags...)
}

// fill pushes a repository to a place.
func (p *place) fill(ctx context.Context, c *client, m *made) error {
	pack, err := m.packOf(ctx, m.main, zeroID)
	if err != nil {
		return err
	}
	if err := c.publish(ctx, p.state(m.refs)); err != nil {
		return err
	}
	return push(ctx, p.url, pushBody(m.refs, zeroID, pack))
}

// pushBody is the body of a push that sets refs, all of which were at an object before.
func pushBody(refs map[string]gitwire.ObjectID, old gitwire.ObjectID, pack []byte) []byte {
	q := gitwire.Push{Report: gitwire.ReportStatus, Sideband: true, Agent: "bench"}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		q.Commands = append(q.Commands, gitwire.Command{Ref: name, Old: old, New: refs[name]})
	}
	return append(q.AppendTo(nil), pack...)
}

// push posts one and is glad only if all was taken.
func push(ctx context.Context, url string, body []byte) error {
	answer, err := post(ctx, url+"/git-receive-pack", "application/x-git-receive-pack-request", "", body)
	if err == nil && (!bytes.Contains(answer, []byte("unpack ok")) || bytes.Contains(answer, []byte("ng refs/"))) {
		err = fmt.Errorf("not pushed: %.500q", answer)
	}
	return err
}

// manyConns lets as many clients as there are have connections of their own.
var manyConns = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000, DisableCompression: true}}

func post(ctx context.Context, url, kind, protocol string, body []byte) ([]byte, error) {
	a, err := ask(ctx, http.MethodPost, url, kind, protocol, body)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	return io.ReadAll(a.Body)
}

// ask makes a request of git's protocol; its answer is a good one, and has to be read.
func ask(ctx context.Context, method, url, kind, protocol string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if protocol != "" {
		r.Header.Set("Git-Protocol", protocol)
	}
	a, err := manyConns.Do(r)
	if err != nil {
		return nil, err
	}
	if a.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(a.Body, 500)) // it is for the error
		a.Body.Close()
		return nil, fmt.Errorf("%s: %s: %s", url, a.Status, text)
	}
	return a, nil
}

// fetch has a clone made whose bytes are dropped, and tells how many came.
func fetch(ctx context.Context, url string, want gitwire.ObjectID) (int64, error) {
	q := gitwire.Request{Version: 2, Fetch: &gitwire.Fetch{Version: 2, Wants: []gitwire.ObjectID{want}, Done: true, OfsDelta: true, ThinPack: true, NoProgress: true}}
	a, err := ask(ctx, http.MethodPost, url+"/git-upload-pack", "application/x-git-upload-pack-request", "version=2", q.AppendTo(nil))
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	var end tail
	n, err := io.Copy(&end, a.Body)
	if err == nil && string(end.last) != "0000" {
		err = fmt.Errorf("%s: the pack ends early, after %d bytes: %q", url, n, end.last)
	}
	return n, err
}

// tail keeps the last four bytes.
type tail struct{ last []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.last = append(t.last, b[max(0, len(b)-4):]...)
	t.last = t.last[max(0, len(t.last)-4):]
	return len(b), nil
}

var zeroID gitwire.ObjectID

// refLines are refs with their objects, a line each.
func refLines(refs map[string]gitwire.ObjectID) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		lines = append(lines, name+" "+refs[name].String())
	}
	return lines
}
