package gitwire

import "slices"

// Work says what somebody has to do to answer a fetch.
type Work uint8

const (
	// WorkNone: the answer follows from the request alone, and [Fetch.AppendHead] appends all of it. No process is needed.
	WorkNone Work = iota
	// WorkPack: pack-objects alone makes what follows [Fetch.AppendHead], of [Fetch.Tips], Filter, OfsDelta and IncludeTag. The client has
	// nothing, and gets histories to their roots.
	WorkPack
	// WorkUpload: upload-pack makes the whole answer, as somebody has to walk through histories to find what is common, or where they end.
	// [Request.ForUploadPack] makes the request to upload-pack, and [Fetch.CopyAnswer] carries its answer to the client.
	WorkUpload
)

func (w Work) String() string {
	switch w {
	case WorkNone:
		return "none"
	case WorkPack:
		return "pack"
	case WorkUpload:
		return "upload"
	}
	return "unknown"
}

// Resolve looks up the refs that the fetch wants by name, and fails with a [*RequestError] when one is not there. Before Resolve they do
// not count as wanted. The caller checks that the objects of [Fetch.Tips] are here.
func (f *Fetch) Resolve(refs *Refs) error {
	wanted := make([]Ref, 0, len(f.WantRefs))
	for _, name := range f.WantRefs {
		ref, ok := refs.Find(name)
		if !ok {
			return unknownRef(name)
		}
		wanted = append(wanted, ref)
	}
	f.wanted = wanted
	return nil
}

// Tips returns the wanted objects, by id and, after Resolve, by name: sorted, each once.
func (f *Fetch) Tips() []ObjectID {
	tips := make([]ObjectID, 0, len(f.Wants)+len(f.wanted))
	tips = append(tips, f.Wants...)
	for i := range f.wanted {
		tips = append(tips, f.wanted[i].ID)
	}
	slices.SortFunc(tips, ObjectID.Compare)
	return slices.Compact(tips)
}

// Work says what somebody has to do to answer the fetch.
func (f *Fetch) Work() Work {
	switch {
	case len(f.Wants)+len(f.WantRefs) == 0:
		if f.WaitForDone { // asks what is common, and for no pack
			return WorkUpload
		}
		return WorkNone
	case f.cuts():
		return WorkUpload
	case len(f.Haves) > 0:
		if f.hasAll() {
			return WorkNone
		}
		return WorkUpload
	case f.Version < 2 && !f.Done: // a round of a negotiation in which nothing is offered
		return WorkNone
	}
	return WorkPack
}

// hasAll reports whether the client has all that it wants, and takes an empty pack for an answer. Only version 2 lets the answer say
// nothing about the other haves.
func (f *Fetch) hasAll() bool {
	if f.Version < 2 || f.WaitForDone && !f.Done || len(f.wanted) != len(f.WantRefs) {
		return false
	}
	has := make(map[ObjectID]struct{}, len(f.Haves))
	for _, id := range f.Haves {
		has[id] = struct{}{}
	}
	lacks := func(id ObjectID) bool { _, ok := has[id]; return !ok }
	return !slices.ContainsFunc(f.Wants, lacks) && !slices.ContainsFunc(f.wanted, func(ref Ref) bool { return lacks(ref.ID) })
}
