package gitfetch

import (
	"bytes"
	"context"
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// advert is what a server offers.
type advert struct {
	version gitwire.Version
	refs    *shown

	agent, format bool // a request may name our agent, and the object format

	lsRefs, fetch bool // version 2

	// Below version 2.
	sideband           int // bytes of a frame; 0 for none
	ofsDelta, thinPack bool
	multiAck           bool // offered: some servers insist that a request names it
	tipID, anyID       bool // a request may name ids that the server does not show: of hidden refs, and of what refs lead to
}

// byID reports whether to ask the server for ids that it does not show. An empty repository has nothing to give.
func (a *advert) byID() bool { return len(a.refs.ids) > 0 }

// offers reports whether the server says that it takes such requests, and gives whether it gives whatever its refs lead to.
func (a *advert) offers() bool { return a.gives() || a.tipID }
func (a *advert) gives() bool  { return a.version == 2 || a.anyID }

// advertised asks for what the server offers, and for the refs.
func (s *exchange) advertised(ctx context.Context) (*advert, error) {
	resp, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	b := s.client.cfg.Bounds
	a, err := readAdvert(lines{pktline.NewReader(resp.Body, b.AdvertBytes)}, b.Refs)
	if err == nil {
		err = s.finish(resp)
	}
	if err != nil {
		return nil, s.fault("read what is offered", err)
	}
	if a.version < 2 {
		return a, nil
	}
	resp, err = s.post(ctx, 2, a.askRefs(s.client.cfg.Agent))
	if err != nil {
		return nil, err
	}
	err = readRefs(lines{pktline.NewReader(resp.Body, b.AdvertBytes)}, a.refs)
	if err == nil {
		err = s.finish(resp)
	}
	if err != nil {
		return nil, s.fault("read the refs", err)
	}
	return a, nil
}

// askRefs is the request for refs of version 2.
func (a *advert) askRefs(agent string) []byte {
	prefixes := append([]string{"HEAD"}, namespaces...)
	return a.request(agent, gitwire.Request{LsRefs: &gitwire.LsRefs{Peel: true, Symrefs: true, Prefixes: prefixes}})
}

// request writes a request as the server takes it: a server that does not name its agent does not want to read ours either.
func (a *advert) request(agent string, q gitwire.Request) []byte {
	q.Version, q.NoFormat = a.version, !a.format
	if a.agent {
		q.Agent = agent
	}
	return q.AppendTo(nil)
}

// readRefs reads the answer to ls-refs.
func readRefs(l lines, into *shown) error {
	if err := l.until("the refs", into.line2); err != nil {
		return err
	}
	return into.finish()
}

// readAdvert reads the answer to info/refs, in whichever version the server speaks.
func readAdvert(l lines, mostRefs int) (*advert, error) {
	a := &advert{refs: newShown(mostRefs)}
	kind, payload, err := l.next()
	if err != nil {
		return nil, err
	}
	// Servers of version 2 may leave the first line out.
	if name, is := bytes.CutPrefix(payload, []byte("# service=")); is {
		if name := pktline.Line(name); string(name) != "git-upload-pack" {
			return nil, protocol("the server offers %s", quote(name))
		}
		if kind, _, err = l.next(); err == nil && kind != pktline.Flush {
			err = protocol("no flush after the name of the service")
		}
		if err == nil {
			kind, payload, err = l.next()
		}
		if err != nil {
			return nil, err
		}
	}
	switch line := string(pktline.Line(payload)); {
	case kind == pktline.Data && line == "version 2":
		a.version = 2
		return a, a.read2(l)
	case kind == pktline.Data && line == "version 1":
		a.version = 1
		if kind, payload, err = l.next(); err != nil {
			return nil, err
		}
	}
	return a, a.read0(l, kind, payload)
}

// read2 reads the capabilities of a server of version 2.
func (a *advert) read2(l lines) error {
	err := l.until("what is offered", func(line []byte) error {
		name, value, _ := strings.Cut(string(line), "=")
		return a.capability(name, value)
	})
	if err == nil && !(a.lsRefs && a.fetch) {
		return protocol("the server offers no refs or no fetches")
	}
	return err
}

// read0 reads the refs of a server below version 2, from the first line on. Some servers send none for an empty repository.
func (a *advert) read0(l lines, kind pktline.Kind, payload []byte) error {
	if kind == pktline.Flush {
		return nil
	}
	if kind != pktline.Data {
		return protocol("unexpected %s where refs begin", kind)
	}
	first, capabilities, _ := bytes.Cut(pktline.Line(payload), []byte{0})
	for word := range strings.SplitSeq(string(capabilities), " ") {
		name, value, _ := strings.Cut(word, "=")
		if err := a.capability(name, value); err != nil {
			return err
		}
	}
	if err := a.line0(first); err != nil {
		return err
	}
	if err := l.until("the refs", a.line0); err != nil {
		return err
	}
	return a.refs.finish()
}

// line0 takes a line of refs below version 2.
func (a *advert) line0(line []byte) error {
	hex, name, ok := bytes.Cut(line, []byte(" "))
	switch {
	case string(hex) == "shallow":
		return protocol("the server's repository is shallow")
	case !ok:
		return protocol("%s is no ref", quote(line))
	case string(name) == "capabilities^{}":
		return nil
	}
	if of, is := bytes.CutSuffix(name, []byte("^{}")); is {
		return a.refs.peel(hex, of)
	}
	return a.refs.add(hex, name)
}

// capability takes one capability of a server, of any version.
func (a *advert) capability(name, value string) error {
	switch name {
	case "agent":
		a.agent = true
	case "object-format":
		if a.format = true; value != "sha1" {
			return protocol("the server's repository has objects of %s", quote(value))
		}
	case "ls-refs":
		a.lsRefs = true
	case "fetch":
		a.fetch = true
	case "side-band":
		a.sideband = max(a.sideband, pktline.SidebandFrame)
	case "side-band-64k":
		a.sideband = pktline.Sideband64kFrame
	case "ofs-delta":
		a.ofsDelta = true
	case "thin-pack":
		a.thinPack = true
	case "multi_ack_detailed":
		a.multiAck = true
	case "allow-tip-sha1-in-want":
		a.tipID = true
	case "allow-reachable-sha1-in-want":
		a.anyID = true
	case "symref":
		if target, is := strings.CutPrefix(value, "HEAD:"); is {
			a.refs.point(target)
		}
	}
	return nil
}
