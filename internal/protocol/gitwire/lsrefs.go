package gitwire

import (
	"bytes"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

// LsRefs asks for refs (gitprotocol-v2(5)).
type LsRefs struct {
	Peel    bool // say what annotated tags are about
	Symrefs bool // say where HEAD points
	Unborn  bool // name a HEAD whose branch there is not, too, if Symrefs is set
	// Prefixes are what names begin with: sorted, none of them the beginning of another one; nil for all names.
	Prefixes []string

	given int // prefixes so far
}

// argument takes a line of the request.
func (q *LsRefs) argument(line []byte) error {
	switch string(line) {
	case "peel":
		q.Peel = true
	case "symrefs":
		q.Symrefs = true
	case "unborn":
		q.Unborn = true
	default:
		prefix, ok := bytes.CutPrefix(line, []byte("ref-prefix "))
		if !ok {
			return refuse("unexpected line: %s", quote(line))
		}
		q.prefix(prefix)
	}
	return nil
}

// prefix takes a prefix. One that is longer than any name is cut, to a length at which it still begins none.
func (q *LsRefs) prefix(prefix []byte) {
	q.given++
	if q.given == MaxPrefixes {
		q.Prefixes = nil // compact is not to sort them
	}
	if q.given < MaxPrefixes {
		q.Prefixes = append(q.Prefixes, string(prefix[:min(len(prefix), MaxRefName+1)]))
	}
}

// compact drops the prefixes that another prefix covers.
func (q *LsRefs) compact() {
	given := q.given
	q.given = 0
	slices.Sort(q.Prefixes)
	kept := q.Prefixes[:0]
	for _, p := range q.Prefixes {
		if len(kept) == 0 || !strings.HasPrefix(p, kept[len(kept)-1]) {
			kept = append(kept, p)
		}
	}
	q.Prefixes = slices.Clip(kept)
	if len(kept) == 0 || kept[0] == "" || given >= MaxPrefixes {
		q.Prefixes = nil
	}
}

func (q *LsRefs) appendArguments(dst []byte) []byte {
	for _, flag := range []struct {
		set  bool
		line string
	}{{q.Peel, "peel\n"}, {q.Symrefs, "symrefs\n"}, {q.Unborn, "unborn\n"}} {
		if flag.set {
			dst = pktline.Append(dst, flag.line)
		}
	}
	for _, p := range q.Prefixes {
		dst = pktline.Append(dst, "ref-prefix "+p+"\n")
	}
	return dst
}

// AppendAnswer appends to dst the refs for which the client asks: HEAD, then the others by name.
func (q *LsRefs) AppendAnswer(dst []byte, refs *Refs) []byte {
	if q.Prefixes == nil {
		dst = slices.Grow(dst, 100+len(refs.Head)+refs.size())
	}
	if asked(q.Prefixes, "HEAD") && refs.Head != "" {
		head, born := refs.Find("HEAD")
		if !born {
			head.Name = "HEAD"
		}
		if born || q.Unborn && q.Symrefs {
			dst = q.appendRef(dst, &head, refs.Head)
		}
	}
	rest := q.Prefixes
	for i := range refs.List {
		ref := &refs.List[i]
		for len(rest) > 1 && rest[1] <= ref.Name {
			rest = rest[1:]
		}
		if len(rest) == 0 || strings.HasPrefix(ref.Name, rest[0]) {
			dst = q.appendRef(dst, ref, "")
		}
	}
	return pktline.AppendFlush(dst)
}

// appendRef appends the line of a ref. The zero id stands for an unborn HEAD.
func (q *LsRefs) appendRef(dst []byte, ref *Ref, target string) []byte {
	start := len(dst)
	dst = pktline.Begin(dst)
	if ref.ID.IsZero() {
		dst = append(dst, "unborn"...)
	} else {
		dst = ref.ID.AppendHex(dst)
	}
	dst = append(append(dst, ' '), ref.Name...)
	if q.Symrefs && target != "" {
		dst = append(append(dst, " symref-target:"...), target...)
	}
	if q.Peel && !ref.Peeled.IsZero() {
		dst = ref.Peeled.AppendHex(append(dst, " peeled:"...))
	}
	return pktline.End(append(dst, '\n'), start)
}

// asked reports whether name begins with one of the prefixes, or there are none.
func asked(prefixes []string, name string) bool {
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
