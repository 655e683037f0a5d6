package gitfake

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func (s suite) copyInto() {
	first := s.h.Commit("first")
	second := s.h.Commit("second", first)
	tag := s.h.Tag("v1", second)
	other := s.h.Commit("other", first)
	s.push(one, ids{tag, other}, nil)
	s.push(two, ids{first}, nil)
	for _, repo := range [...]gitrepo.ID{two, three} {
		q, proof, err := s.d.CopyInto(s.Context(), one, repo, gitrepo.Proving{Tips: ids{tag}, Commits: ids{second}, Haves: ids{first}})
		s.must(err)
		if proof.Peeled[tag] != second || proof.Bytes != q.Bytes() || proof.Bytes == 0 {
			s.Errorf("%+v", proof)
		}
		s.wantMissing(repo, ids{tag}, ids{tag})
		s.must(s.d.Admit(q, repo))
		s.must(q.Close())
		s.wantMissing(repo, s.h.All(ids{tag}, nil), nil)
		s.wantMissing(repo, ids{other}, ids{other})
	}
	q, proof, err := s.d.CopyInto(s.Context(), one, two, gitrepo.Proving{Tips: ids{tag}})
	s.must(err)
	if proof.Objects != 0 {
		s.Errorf("what is there already: %+v", proof)
	}
	s.must(q.Close())
	var lacks *gitrepo.MissingError
	for _, from := range [...]gitrepo.ID{one, {9}} {
		if _, _, err := s.d.CopyInto(s.Context(), from, three, gitrepo.Proving{Tips: ids{s.h.Commit("none")}}); !errors.As(err, &lacks) {
			s.Errorf("what is not there: %v", err)
		}
	}
}

func (s suite) part() {
	base := s.h.Commit("base")
	tip, other := s.h.Commit("tip", base), s.h.Commit("other", base)
	s.push(one, ids{base}, nil)
	whole := s.begin(one)
	s.receive(whole, s.h.All(ids{tip, other}, ids{base}))
	_, err := whole.Prove(s.Context(), gitrepo.Proving{Commits: ids{tip, other}, Haves: ids{base}})
	s.must(err)
	q, proof, err := s.d.Subset(s.Context(), whole, gitrepo.Proving{Commits: ids{tip}, Haves: ids{base}})
	s.must(err)
	if proof.Objects == 0 || proof.Bytes != q.Bytes() {
		s.Errorf("%+v", proof)
	}
	s.must(s.d.Admit(q, one))
	s.must(q.Close())
	s.wantMissing(one, ids{tip, other}, ids{other})
	s.must(s.d.Admit(whole, one))
	s.wantMissing(one, ids{tip, other}, nil)
	s.must(whole.Close())
	if _, _, err := s.d.Subset(s.Context(), whole, gitrepo.Proving{Commits: ids{tip}}); err == nil {
		s.Error("part of a quarantine that is closed")
	}
}

func (s suite) remove() {
	tip := s.h.Commit("tip")
	s.push(one, ids{tip}, nil)
	s.push(two, ids{tip}, nil)
	s.wantMissing(one, ids{tip}, nil)
	q, proven := s.begin(one), s.begin(one)
	next := s.h.Commit("next", tip)
	s.receive(proven, s.h.All(ids{next}, ids{tip}))
	_, err := proven.Prove(s.Context(), gitrepo.Proving{Tips: ids{next}, Haves: ids{tip}})
	s.must(err)
	s.must(s.d.Remove(one))
	s.must(s.d.Remove(one))
	s.wantMissing(one, ids{tip}, ids{tip})
	s.wantMissing(two, ids{tip}, nil)
	if err := s.d.Pack(s.Context(), one, &gitwire.Fetch{Wants: ids{tip}}, "", &bytes.Buffer{}); !errors.Is(err, gitrepo.ErrNoRepository) {
		s.Errorf("served: %v", err)
	}
	var lacks *gitrepo.MissingError
	if _, err := q.Prove(s.Context(), gitrepo.Proving{Tips: ids{tip}}); !errors.As(err, &lacks) {
		s.Errorf("proven beside nothing: %v", err)
	}
	if size, packs, err := s.d.Size(one); size+packs != 0 || err != nil {
		s.Error(size, packs, err)
	}
	if err := s.d.Admit(proven, one); !errors.As(err, &lacks) {
		s.Errorf("admitted without what it builds on: %v", err)
	}
	s.wantMissing(one, ids{next}, ids{next})
	s.push(one, ids{tip}, nil)
	s.wantMissing(one, ids{tip}, nil)
	s.must(s.d.Admit(proven, one))
}

func (s suite) check() {
	tip := s.h.Commit("tip")
	other := s.h.Commit("other")
	refs := &gitwire.Refs{Head: "refs/heads/main", List: []gitwire.Ref{{Name: "refs/heads/main", ID: tip}}}
	problems := func(repo gitrepo.ID, refs *gitwire.Refs, want int) {
		s.Helper()
		found, err := s.d.Check(s.Context(), repo, refs)
		got := found.All()
		if err != nil || len(got) < want || want == 0 && len(got) > 0 {
			s.Errorf("problems: %q (%v), want %d", got, err, want)
		}
	}
	problems(one, &gitwire.Refs{Head: "refs/heads/main"}, 0)
	problems(one, refs, 1)
	s.push(one, ids{tip}, nil)
	problems(one, refs, 1)
	s.must(s.d.Project(one, 0, refs))
	problems(one, refs, 0)
	problems(one, &gitwire.Refs{Head: "refs/heads/a", List: refs.List}, 1)
	problems(one, &gitwire.Refs{Head: "refs/heads/main", List: []gitwire.Ref{{Name: "refs/heads/main", ID: other}}}, 2)
}

func (s suite) maintain() {
	maintain := func(tip gitwire.ObjectID, want bool) {
		s.Helper()
		refs := &gitwire.Refs{List: []gitwire.Ref{{Name: "refs/heads/main", ID: tip}}}
		did, err := s.d.Maintain(s.Context(), one, refs, nil, nil)
		if err != nil || did != want {
			s.Errorf("maintained: %v (%v), want %v", did, err, want)
		}
		s.wantMissing(one, s.h.All(ids{tip}, nil), nil)
	}
	pack := func(tip gitwire.ObjectID) {
		s.Helper()
		s.must(s.d.Pack(s.Context(), one, &gitwire.Fetch{Wants: ids{tip}}, "", &bytes.Buffer{}))
	}
	tip := s.h.Commit("first")
	s.push(one, ids{tip}, nil)
	pack(tip)
	pack(tip)
	maintain(tip, false) // one pack is good
	next := s.h.Commit("next", tip)
	s.push(one, ids{next}, ids{tip})
	pack(next)
	maintain(next, false)
	pack(next)
	maintain(next, true)
	if _, packs, err := s.d.Size(one); packs != 1 || err != nil {
		s.Error(packs, err)
	}
	pack(next)
	pack(next)
	maintain(next, false)
	for i := range 8 {
		maintain(next, false)
		tip, next = next, s.h.Commit(fmt.Sprint(i), next)
		s.push(one, ids{next}, ids{tip})
	}
	maintain(next, true)
	maintain(next, false)
	if did, err := s.d.Maintain(s.Context(), two, &gitwire.Refs{}, nil, nil); did || err != nil {
		s.Errorf("nothing was maintained: %v", err)
	}
	var out bytes.Buffer
	s.must(s.d.Pack(s.Context(), one, &gitwire.Fetch{Wants: ids{next}}, "", &out))
	got, err := s.h.Objects(out.Bytes())
	if err != nil || len(got) != len(s.h.All(ids{next}, nil)) || !slices.Contains(got, next) {
		s.Errorf("%d objects are served (%v)", len(got), err)
	}
}

func (s suite) led() {
	first, taken := s.h.Commit("first"), s.h.Commit("taken")
	second := s.h.Commit("second", first)
	under := s.h.Tag("v1", second)
	tag, other := s.h.Tag("v2", under), s.h.Tag("v3", first)
	blobs := s.h.All(ids{taken}, nil)
	s.push(one, ids{first, second, taken, tag, other}, nil)
	asked := append(ids{first, taken, second, under, tag, other}, blobs...)
	want := func(want ids, pairs ...any) {
		s.Helper()
		refs := &gitwire.Refs{}
		for i := 0; i < len(pairs); i += 2 {
			refs.List = append(refs.List, gitwire.Ref{Name: pairs[i].(string), ID: pairs[i+1].(gitwire.ObjectID)})
		}
		s.must(s.d.Project(one, 0, refs))
		got, err := s.d.Unreached(s.Context(), one, asked, "")
		slices.SortFunc(got, gitwire.ObjectID.Compare)
		slices.SortFunc(want, gitwire.ObjectID.Compare)
		if got, want = slices.Compact(got), slices.Compact(want); err != nil || !slices.Equal(got, want) {
			s.Errorf("with %v: %v (%v), want %v", refs.List, got, err, want)
		}
	}
	want(nil, "refs/heads/main", second, "refs/heads/taken", taken, "refs/tags/v2", tag, "refs/tags/v3", other)
	want(ids{taken, other}, "refs/heads/main", first, "refs/tags/v2", tag)
	want(ids{taken, under, tag, other}, "refs/heads/main", second)
	want(ids{first, second, under, tag, other}, "refs/nostr/x", taken)
	want(ids{first, second, taken, under, tag, other})
	if got, err := s.d.Lacks(one, append(ids{s.h.Commit("none")}, asked...)); err != nil || !slices.Equal(got, ids{s.h.Commit("none")}) {
		s.Errorf("lacks %v (%v)", got, err)
	}
}
