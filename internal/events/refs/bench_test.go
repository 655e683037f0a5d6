package refs_test

import (
	"fmt"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// BenchmarkJudge is a push of ten commands to a repository of ten thousand refs.
func BenchmarkJudge(b *testing.B) {
	var before []refs.Ref
	var p refs.Push
	for i := range nip34.MaxRefs {
		before = append(before, refs.Ref{Name: fmt.Sprintf("refs/heads/%d", i), ID: oid("1")})
	}
	now, next := state("now", "alice", 1, ""), state("next", "alice", 2, "")
	now.Refs = refs.NewSet(before)
	for i := range 10 {
		before[i].ID = oid("2")
		p.Commands = append(p.Commands, gitwire.Command{Ref: before[i].Name, Old: oid("1"), New: oid("2")})
	}
	next.Refs = refs.NewSet(before)
	m := members("alice")
	in := standing(ruled(m, now), m, next)
	for b.Loop() {
		if v := refs.Judge(in, p); v.State == nil {
			b.Fatal(v.Lines)
		}
	}
}

// BenchmarkReadState is of a state of ten thousand refs.
func BenchmarkReadState(b *testing.B) {
	e := event("s", "alice", 1, nip34.KindState)
	for i := range nip34.MaxRefs {
		e.Tags = append(e.Tags, tag(fmt.Sprintf("refs/heads/some/branch-%d", i), hexOID("1")))
	}
	for b.Loop() {
		if s, err := refs.ReadState(e); err != nil || len(s.Refs) != nip34.MaxRefs {
			b.Fatal(err)
		}
	}
}
