package gitwire

import (
	"bytes"
	"io"
	"strings"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

// parse0 reads a fetch below version 2: what is wanted, and after a flush what is there.
func (q *Request) parse0(l lines) error {
	kind, line, err := l.next()
	switch {
	case err == io.EOF, err == nil && kind == pktline.Flush:
		return nil
	case err != nil:
		return err
	case kind != pktline.Data:
		return refuse("unexpected %s in what is wanted", kind)
	}
	q.Fetch = &Fetch{Version: q.Version}
	r := newFetchReader(q.Fetch)
	if err := q.want0(r, line); err != nil {
		return err
	}
	if err := l.until("what is wanted", func(line []byte) error { return q.want0(r, line) }); err != nil {
		return err
	}
	if len(q.Fetch.Wants) == 0 {
		return refuse("shallow lines, and nothing wanted")
	}
	if err := q.Fetch.finish(); err != nil {
		return err
	}
	return r.haves0(l)
}

// want0 takes a line of the first part.
func (q *Request) want0(r *fetchReader, line []byte) error {
	word, rest, _ := bytes.Cut(line, []byte(" "))
	if string(word) != "want" {
		if known, err := r.common(string(word), string(rest)); known {
			return err
		}
		return refuse("expected to get object ID, not %s", quote(line))
	}
	hex, features, _ := bytes.Cut(rest, []byte(" "))
	id, err := ParseObjectID(hex)
	if err != nil {
		return err
	}
	for feature := range strings.SplitSeq(string(features), " ") {
		if err := q.feature0(feature); err != nil {
			return err
		}
	}
	return r.want(id)
}

// feature0 takes a word that follows a wanted id. Words that are not known change nothing, as with git.
func (q *Request) feature0(word string) error {
	f := q.Fetch
	switch word {
	case "multi_ack":
		f.MultiAck = max(f.MultiAck, MultiAckPlain)
	case "multi_ack_detailed":
		f.MultiAck = MultiAckDetailed
	case "side-band":
		f.Sideband = max(f.Sideband, pktline.SidebandFrame)
	case "side-band-64k":
		f.Sideband = pktline.Sideband64kFrame
	default:
		for _, flag := range f.flags0() {
			if word == flag.word {
				*flag.set = true
			}
		}
	}
	if name, ok := strings.CutPrefix(word, "agent="); ok {
		q.Agent = cleanAgent(name)
	}
	if name, ok := strings.CutPrefix(word, "object-format="); ok {
		return objectFormat(name, true)
	}
	return nil
}

// flags0 are the words below version 2 that set one thing.
func (f *Fetch) flags0() [6]flag {
	return [...]flag{
		{"no-done", &f.NoDone}, {"deepen-relative", &f.DeepenRelative}, {"thin-pack", &f.ThinPack}, {"no-progress", &f.NoProgress},
		{"include-tag", &f.IncludeTag}, {"ofs-delta", &f.OfsDelta},
	}
}

// haves0 reads the second part: up to done, or a flush for another round. git reads no further either.
func (r *fetchReader) haves0(l lines) error {
	for first := true; ; first = false {
		kind, line, err := l.next()
		switch {
		case err == io.EOF && first:
			r.f.Bare = true
			return nil
		case err == io.EOF:
			return cutShort("what is there already")
		case err != nil:
			return err
		case kind == pktline.Flush:
			return nil
		case kind != pktline.Data:
			return refuse("unexpected %s in what is there already", kind)
		case string(line) == "done":
			r.f.Done = true
			return nil
		}
		text, ok := bytes.CutPrefix(line, []byte("have "))
		if !ok {
			return refuse("expected SHA1 list, got %s", quote(line))
		}
		id, err := ParseObjectID(text)
		if err != nil {
			return err
		}
		r.have(id)
	}
}

// append0 appends a fetch below version 2.
func (f *Fetch) append0(dst []byte, agent string) []byte {
	for i := range f.Wants {
		start := len(dst)
		dst = f.Wants[i].AppendHex(append(pktline.Begin(dst), "want "...))
		if i == 0 {
			dst = f.appendFeatures0(dst, agent)
		}
		dst = pktline.End(append(dst, '\n'), start)
	}
	dst = pktline.AppendFlush(f.appendCuts(dst))
	dst = appendIDs(dst, "have ", f.Haves)
	switch {
	case f.Done:
		return pktline.Append(dst, "done\n")
	case f.Bare:
		return dst
	}
	return pktline.AppendFlush(dst)
}

func (f *Fetch) appendFeatures0(dst []byte, agent string) []byte {
	switch f.MultiAck {
	case MultiAckDetailed:
		dst = append(dst, " multi_ack_detailed"...)
	case MultiAckPlain:
		dst = append(dst, " multi_ack"...)
	}
	switch f.Sideband {
	case pktline.Sideband64kFrame:
		dst = append(dst, " side-band-64k"...)
	case pktline.SidebandFrame:
		dst = append(dst, " side-band"...)
	}
	for _, flag := range f.flags0() {
		if *flag.set {
			dst = append(append(dst, ' '), flag.word...)
		}
	}
	if f.Filter.Kind != FilterNone {
		dst = append(dst, " filter"...)
	}
	if agent != "" {
		dst = append(append(dst, " agent="...), agent...)
	}
	return dst
}
