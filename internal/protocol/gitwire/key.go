package gitwire

import (
	"crypto/sha256"
	"slices"
)

// Key names the answer to a fetch, for a cache. Of one repository with one set of refs, all fetches of one key and of [WorkPack] get the
// same pack, in whichever version and bands; all fetches of one key and of [WorkUpload] get the same answer.
type Key [sha256.Size]byte

// Key returns the key of the fetch. Call it after Resolve. There is no key for a client that has something already, as hardly any other
// client has the same, and none for an answer that needs no process.
func (f *Fetch) Key() (Key, bool) {
	work := f.Work()
	if len(f.Haves) > 0 || len(f.Shallows) > 0 || work == WorkNone || len(f.wanted) != len(f.WantRefs) {
		return Key{}, false
	}
	same := *f
	if work == WorkPack { // what does not change the pack does not count
		same = Fetch{Version: 2, Wants: f.Tips(), Filter: f.Filter, OfsDelta: f.OfsDelta, IncludeTag: f.IncludeTag}
	} else {
		same.Wants, same.WantRefs = slices.Clone(f.Wants), slices.Clone(f.WantRefs)
		slices.SortFunc(same.Wants, ObjectID.Compare)
		slices.Sort(same.WantRefs)
	}
	text := append(make([]byte, 0, 256+64*(len(same.Wants)+len(same.WantRefs))), work.String()...)
	return sha256.Sum256(Request{Version: same.Version, Fetch: &same}.AppendTo(text)), true
}
