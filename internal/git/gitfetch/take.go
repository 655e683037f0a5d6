package gitfetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// maxWants keeps a request below 1 MiB.
const maxWants = gitwire.MaxWants

// take fetches the groups that the server shows, and then the others by id, as far as the server lets it.
func (s *exchange) take(ctx context.Context, r Request, a *advert) error {
	s.given, s.kept = map[gitwire.ObjectID]bool{}, map[gitwire.ObjectID]bool{}
	packs, others := sort(r.Groups, a.refs.shows)
	if !a.byID() {
		others = nil
	}
	for i, ids := range packs {
		if err := s.pack(ctx, r, a, ids, i == len(packs)-1 && len(others) == 0); err != nil {
			return err
		}
	}
	return s.takeByID(ctx, r, a, others)
}

// sort returns the ids of the groups that the server shows, in as few packs as possible, and the other groups.
func sort(groups [][]gitwire.ObjectID, shows func(gitwire.ObjectID) bool) (packs, others [][]gitwire.ObjectID) {
	seen := map[gitwire.ObjectID]bool{}
	var pack []gitwire.ObjectID
	for _, g := range groups {
		g = once(g)
		if slices.ContainsFunc(g, func(id gitwire.ObjectID) bool { return !shows(id) }) {
			others = append(others, g)
			continue
		}
		if len(pack) > 0 && len(pack)+len(g) > maxWants {
			packs, pack = append(packs, pack), nil
			clear(seen)
		}
		for _, id := range g {
			if !seen[id] {
				seen[id] = true
				pack = append(pack, id)
			}
		}
	}
	if len(pack) > 0 {
		packs = append(packs, pack)
	}
	return packs, others
}

// once returns each id once, in the order in which ids came first.
func once(ids []gitwire.ObjectID) (out []gitwire.ObjectID) {
	seen := make(map[gitwire.ObjectID]bool, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// takeByID asks for groups of which the server does not show every id. A server refuses a request for the first id that it does not have, so
// each group has a request and a pack of its own.
func (s *exchange) takeByID(ctx context.Context, r Request, a *advert, groups [][]gitwire.ObjectID) error {
	asked := 0
	var got [][]gitwire.ObjectID
	missing := map[gitwire.ObjectID]bool{}
	for i, g := range groups {
		if asked == s.client.cfg.Bounds.ByID {
			return nil
		}
		if s.covered(g, got) || slices.ContainsFunc(g, func(id gitwire.ObjectID) bool { return missing[id] }) {
			continue
		}
		asked++
		last := (i == len(groups)-1 || asked == s.client.cfg.Bounds.ByID && a.gives()) && !s.withholds
		err := s.pack(ctx, r, a, g, last)
		text, is := notThere(err, g)
		switch {
		case is:
			s.refusedByID(a, g, text)
			for _, id := range g {
				missing[id] = strings.Contains(text, id.String())
			}
		case err != nil && !a.offers() && refusal(err): // such servers refuse in any way, and the next request too
			s.refusedByID(a, g, err.Error())
			return nil
		case err != nil:
			return err
		default:
			got = append(got, g)
		}
	}
	return nil
}

// refusedByID notes how the server refused a group. Only git says "not our ref", and of what it has only where it gives no ids.
func (s *exchange) refusedByID(a *advert, group []gitwire.ObjectID, text string) {
	s.res.Said = text
	for _, id := range group {
		s.kept[id] = !a.gives() || !strings.Contains(text, "not our ref")
		s.withholds = s.withholds || s.kept[id]
	}
}

// refusal reports whether an error is the server's answer to this request: not a failure of the connection, nor a wish for fewer requests.
func refusal(err error) bool {
	if status, is := errors.AsType[*StatusError](err); is {
		return status.Code != http.StatusTooManyRequests && status.Code != http.StatusServiceUnavailable
	}
	_, server := errors.AsType[*ServerError](err)
	_, protocol := errors.AsType[*ProtocolError](err)
	return server || protocol
}

// covered reports whether one of the packs has every id of the group.
func (s *exchange) covered(group []gitwire.ObjectID, packs [][]gitwire.ObjectID) bool {
	return slices.ContainsFunc(packs, func(pack []gitwire.ObjectID) bool {
		return !slices.ContainsFunc(group, func(id gitwire.ObjectID) bool { return !slices.Contains(pack, id) })
	})
}

// notThere reports whether a server refused a request because it does not have one of the objects, or does not give it by id, and returns
// the server's words.
func notThere(err error, ids []gitwire.ObjectID) (string, bool) {
	e, is := errors.AsType[*ServerError](err)
	if !is {
		return "", false
	}
	return e.Text, strings.Contains(e.Text, "not our ref") ||
		slices.ContainsFunc(ids, func(id gitwire.ObjectID) bool { return strings.Contains(e.Text, id.String()) })
}

// pack asks for one pack and has the caller read it. last says that nothing is asked after it.
func (s *exchange) pack(ctx context.Context, r Request, a *advert, ids []gitwire.ObjectID, last bool) error {
	body, err := a.askPack(s.client.cfg.Agent, ids, r.Haves)
	if err != nil {
		return err
	}
	resp, err := s.post(ctx, a.version, body)
	if err != nil {
		return err
	}
	// Progress and small frames take little beside a pack.
	frames := lines{pktline.NewReader(resp.Body, s.left+s.left/8+4<<20)}
	s.conn.wire.measure(paceOver + 4*s.client.cfg.Bounds.Answer) // while the server counts it sends little
	p, err := openPack(frames, a.version, &s.left)
	if err != nil {
		return s.fault("read the answer", err)
	}
	p.over = func() error {
		err := s.finish(resp)
		if err == nil && last {
			s.close() // the caller may take long
			if r.Heard != nil {
				r.Heard()
			}
		}
		return err
	}
	p.begun = func() { s.conn.wire.measure(paceOver) }
	if p.some {
		p.begun()
	}
	err = r.Pack(ctx, ids, p)
	switch {
	case p.err != nil && p.err != io.EOF:
		return s.fault("read the pack", p.err)
	case err != nil:
		s.close()
		return packError{err}
	case p.err == nil: // the caller had no use for the rest
		s.close()
	}
	for _, id := range ids {
		s.given[id] = true
	}
	return nil
}

// askPack is the request for a pack.
func (a *advert) askPack(agent string, ids, haves []gitwire.ObjectID) ([]byte, error) {
	haves = once(haves)
	haves = haves[:min(len(haves), maxHaves)]
	f := &gitwire.Fetch{Version: a.version, Wants: ids, Haves: haves, Done: true, OfsDelta: true, ThinPack: len(haves) > 0}
	if a.version < 2 {
		if a.sideband == 0 {
			return nil, protocol("the server offers no side-band, without which the end of a pack is not seen")
		}
		// Without haves no pack is thin; dulwich refuses whoever does not say that they could take one.
		f.Sideband, f.OfsDelta, f.ThinPack = a.sideband, a.ofsDelta, a.thinPack
		if a.multiAck {
			f.MultiAck = gitwire.MultiAckDetailed
		}
	}
	return a.request(agent, gitwire.Request{Fetch: f}), nil
}
