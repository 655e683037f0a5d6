package gitwire

import (
	"math"
	"slices"
)

// Fetch asks for objects. A Fetch is in normal form: what a client says twice stands once, and what changes nothing is left out.
type Fetch struct {
	Version  Version
	Wants    []ObjectID // in the order of the request, each once
	WantRefs []string   // full names of refs, or HEAD, whose objects are wanted; version 2
	Haves    []ObjectID // in the order of the request, each once
	Done     bool       // nothing is negotiated any more

	Shallows       []ObjectID // commits whose parents the client has not
	Depth          int        // commits of history; 0 for no bound
	DeepenRelative bool       // Depth counts from Shallows
	DeepenSince    int64      // seconds since 1970; 0 for no bound
	DeepenNot      []string   // names of refs, full or short, whose history is left out
	Filter         Filter

	ThinPack, OfsDelta, NoProgress, IncludeTag bool

	SidebandAll, WaitForDone bool // version 2

	// Below version 2.
	MultiAck MultiAck
	NoDone   bool
	Sideband int  // bytes of a side-band frame; 0 for a pack without
	Bare     bool // the request ends with what is wanted: it asks where its history would end, and for no pack

	wanted []Ref // WantRefs, resolved
}

// MultiAck says how a server tells which commits are common, below version 2.
type MultiAck uint8

// The ways, the later the better.
const (
	SingleAck MultiAck = iota
	MultiAckPlain
	MultiAckDetailed
)

// cuts reports whether the request has to do with a history that does not reach its roots.
func (f *Fetch) cuts() bool {
	return len(f.Shallows) > 0 || f.deepens()
}

// deepens reports whether the request asks for such a history.
func (f *Fetch) deepens() bool {
	return f.Depth > 0 || f.DeepenSince > 0 || len(f.DeepenNot) > 0
}

// finish checks a fetch after its last argument.
func (f *Fetch) finish() error {
	if f.Depth > 0 && (f.DeepenSince > 0 || len(f.DeepenNot) > 0) {
		return refuse("deepen and deepen-since (or deepen-not) cannot be used together")
	}
	if f.Depth == 0 {
		f.DeepenRelative = false
	}
	return nil
}

// fetchReader takes the lines of a fetch.
type fetchReader struct {
	f                      *Fetch
	wants, haves, shallows ids
	named                  map[string]bool // refs wanted by name
	filtered               bool
}

func newFetchReader(f *Fetch) *fetchReader { return &fetchReader{f: f} }

func (r *fetchReader) want(id ObjectID) error {
	if id.IsZero() {
		return NotOurRef(id)
	}
	if !r.wants.add(id, MaxWants-len(r.f.WantRefs)) {
		return tooManyWants()
	}
	r.f.Wants = r.wants.list
	return nil
}

func (r *fetchReader) wantRef(name string) error {
	switch {
	case name != "HEAD" && CheckRefName(name) != nil:
		return unknownRef(name)
	case r.named[name]:
		return refuse("duplicate want-ref %s", quote(name))
	case len(r.f.WantRefs)+len(r.f.Wants) >= MaxWants:
		return tooManyWants()
	}
	if r.named == nil {
		r.named = map[string]bool{}
	}
	r.named[name] = true
	r.f.WantRefs = append(r.f.WantRefs, name)
	return nil
}

func tooManyWants() error {
	return refuse("more than %d objects wanted: fetch some refs at a time", MaxWants)
}

// have takes what the client offers, up to the bound.
func (r *fetchReader) have(id ObjectID) {
	r.haves.add(id, MaxHaves)
	r.f.Haves = r.haves.list
}

// NotOurRef returns the refusal of a fetch of an object that is not here.
func NotOurRef(id ObjectID) error { return refuse("upload-pack: not our ref %s", id) }

// Unreached returns the refusal of a fetch of an object that is here and to which no ref leads. The text begins as that of [NotOurRef] does.
func Unreached(id ObjectID) error {
	return refuse("upload-pack: not our ref %s: no branch, tag or pull request leads there, maybe not any more", id)
}

// Lost returns the refusal of a fetch of an object that a ref names and that is not here any more. The text begins as that of [NotOurRef]
// does, by which other servers know what it means.
func Lost(id ObjectID) error {
	return refuse("upload-pack: not our ref %s: it has been lost here, and can be cloned again once it is back; other servers may have it", id)
}

// common takes the lines that all versions have, and reports whether this is one.
func (r *fetchReader) common(word, rest string) (bool, error) {
	switch word {
	case "shallow":
		id, err := ParseObjectID(rest)
		if err == nil && !r.shallows.add(id, MaxShallows) {
			err = refuse("more than %d shallow commits", MaxShallows)
		}
		r.f.Shallows = r.shallows.list
		return true, err
	case "deepen":
		n, ok := parseDecimal(rest, math.MaxInt32)
		if !ok || n == 0 {
			return true, refuse("Invalid deepen: %s", quote(rest))
		}
		r.f.Depth = int(n)
		return true, nil
	case "deepen-since":
		n, ok := parseDecimal(rest, math.MaxInt64)
		if !ok {
			return true, refuse("Invalid deepen-since: %s", quote(rest))
		}
		r.f.DeepenSince = max(n, 1) // no commit lies between, and 0 says that nothing is asked
		return true, nil
	case "deepen-not":
		return true, r.deepenNot(rest)
	case "filter":
		return true, r.filter(rest)
	}
	return false, nil
}

func (r *fetchReader) deepenNot(name string) error {
	switch {
	case len(name) > MaxRefName || name[:min(1, len(name))] == "-" || !wellFormedParts(name):
		return refuse("deepen-not is not a ref: %s", quote(name))
	case slices.Contains(r.f.DeepenNot, name):
		return nil
	case len(r.f.DeepenNot) >= MaxExcludes:
		return refuse("more than %d refs in deepen-not", MaxExcludes)
	}
	r.f.DeepenNot = append(r.f.DeepenNot, name)
	return nil
}

func (r *fetchReader) filter(spec string) (err error) {
	if r.filtered {
		return refuse("multiple filter-specs cannot be combined")
	}
	r.filtered = true
	r.f.Filter, err = parseFilter(spec)
	return err
}
