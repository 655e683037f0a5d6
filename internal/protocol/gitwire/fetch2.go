package gitwire

import (
	"bytes"
	"strconv"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

// argument2 takes a line of a fetch of version 2.
func (r *fetchReader) argument2(line []byte) error {
	word, rest, more := bytes.Cut(line, []byte(" "))
	if !more {
		return r.flag2(line)
	}
	switch string(word) {
	case "want":
		id, err := ParseObjectID(rest)
		if err != nil {
			return err
		}
		return r.want(id)
	case "have":
		id, err := ParseObjectID(rest)
		if err != nil {
			return err
		}
		r.have(id)
		return nil
	case "want-ref":
		return r.wantRef(string(rest))
	case "packfile-uris": // none is offered
		return nil
	}
	if known, err := r.common(string(word), string(rest)); known {
		return err
	}
	return refuse("unexpected line: %s", quote(line))
}

func (r *fetchReader) flag2(line []byte) error {
	for _, flag := range r.f.flags2() {
		if string(line) == flag.word {
			*flag.set = true
			return nil
		}
	}
	return refuse("unexpected line: %s", quote(line))
}

// flag is a word of a request, and what it sets.
type flag struct {
	word string
	set  *bool
}

// flags2 are those of version 2 in the order in which they are written. sideband-all comes first, so that what is wrong with
// the rest is told in a band.
func (f *Fetch) flags2() [8]flag {
	return [...]flag{
		{"sideband-all", &f.SidebandAll}, {"thin-pack", &f.ThinPack}, {"no-progress", &f.NoProgress}, {"include-tag", &f.IncludeTag},
		{"ofs-delta", &f.OfsDelta}, {"wait-for-done", &f.WaitForDone}, {"deepen-relative", &f.DeepenRelative}, {"done", &f.Done},
	}
}

// append2 appends the arguments of a fetch of version 2.
func (f *Fetch) append2(dst []byte) []byte {
	for _, flag := range f.flags2() {
		if *flag.set {
			dst = pktline.Append(dst, flag.word+"\n")
		}
	}
	dst = f.appendCuts(dst)
	for _, name := range f.WantRefs {
		dst = pktline.Append(dst, "want-ref "+name+"\n")
	}
	dst = appendIDs(dst, "want ", f.Wants)
	return appendIDs(dst, "have ", f.Haves)
}

// appendCuts appends the lines that are alike in all versions.
func (f *Fetch) appendCuts(dst []byte) []byte {
	dst = appendIDs(dst, "shallow ", f.Shallows)
	if f.Depth > 0 {
		dst = pktline.Append(dst, "deepen "+strconv.Itoa(f.Depth)+"\n")
	}
	if f.DeepenSince > 0 {
		dst = pktline.Append(dst, "deepen-since "+strconv.FormatInt(f.DeepenSince, 10)+"\n")
	}
	for _, name := range f.DeepenNot {
		dst = pktline.Append(dst, "deepen-not "+name+"\n")
	}
	if f.Filter.Kind != FilterNone {
		dst = pktline.Append(dst, "filter "+f.Filter.String()+"\n")
	}
	return dst
}
