package gitfake

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Maker makes objects and packs; [History] is one.
type Maker interface {
	Commit(name string, parents ...gitwire.ObjectID) gitwire.ObjectID
	Tag(name string, of gitwire.ObjectID) gitwire.ObjectID
	Blob(name string) gitwire.ObjectID
	All(tips, haves []gitwire.ObjectID) []gitwire.ObjectID
	Pack(ids []gitwire.ObjectID) []byte
	Objects(pack []byte) ([]gitwire.ObjectID, error)
}

// Side is what is to conform.
type Side struct {
	Repos   gitrepo.Repositories
	History Maker
}

type ids = []gitwire.ObjectID

var one, two, three = gitrepo.ID{1}, gitrepo.ID{2}, gitrepo.ID{3}

// Conform proves that repositories do what [gitrepo.Repositories] says. Each side is new.
func Conform(t *testing.T, open func(*testing.T) Side) {
	for name, test := range map[string]func(suite){
		"a push comes in": suite.comesIn, "what tips do not need": suite.extra, "nothing new": suite.nothingNew,
		"what is missing": suite.missing, "packs that are wrong": suite.wrongPacks, "several repositories": suite.several,
		"only what is proven": suite.onlyProven, "tags of tags": suite.nested, "refs": suite.refs, "what refs lead to": suite.led, "fetches": suite.fetches,
		"from one into another": suite.copyInto, "a part of what comes in": suite.part, "removal": suite.remove, "checks": suite.check, "maintenance": suite.maintain,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			side := open(t)
			test(suite{t, side.Repos, side.History})
		})
	}
}

type suite struct {
	*testing.T
	d gitrepo.Repositories
	h Maker
}

func (s suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s suite) begin(repo gitrepo.ID) gitrepo.Quarantine {
	s.Helper()
	q, err := s.d.Begin(repo)
	s.must(err)
	s.Cleanup(func() {
		if err := q.Close(); err != nil {
			s.Error(err)
		}
	})
	return q
}

func (s suite) receive(q gitrepo.Quarantine, objects ids) gitrepo.Received {
	s.Helper()
	r, err := q.Receive(s.Context(), bytes.NewReader(s.h.Pack(objects)), gitrepo.Receiving{})
	s.must(err)
	return r
}

// push brings what tips lead to into a repository.
func (s suite) push(repo gitrepo.ID, tips, haves ids) gitrepo.Proof {
	s.Helper()
	q := s.begin(repo)
	s.receive(q, s.h.All(tips, haves))
	proof, err := q.Prove(s.Context(), gitrepo.Proving{Tips: tips, Haves: haves})
	s.must(err)
	s.must(s.d.Admit(q, repo))
	s.must(q.Close())
	return proof
}

func (s suite) wantMissing(repo gitrepo.ID, asked, want ids) {
	s.Helper()
	got, err := s.d.Missing(repo, asked)
	if err != nil || !slices.Equal(got, want) {
		s.Errorf("missing: %v (%v), want %v", got, err, want)
	}
}

func (s suite) comesIn() {
	first := s.h.Commit("first")
	second := s.h.Commit("second", first)
	tag := s.h.Tag("v1", second)
	ofTag := s.h.Tag("v2", tag)
	all := s.h.All(ids{first}, nil)
	s.wantMissing(one, all, all)
	s.wantMissing(gitrepo.ID{}, all, all)
	q := s.begin(one)
	if got := s.receive(q, all); got.Objects != int64(len(all)) || got.Bytes == 0 || got.Bytes != q.Bytes() {
		s.Errorf("received %+v, %d bytes", got, q.Bytes())
	}
	proof, err := q.Prove(s.Context(), gitrepo.Proving{Commits: ids{first}})
	s.must(err)
	if proof.Objects != int64(len(all)) || proof.Bytes != q.Bytes() || len(proof.Peeled) != 0 {
		s.Errorf("proof %+v", proof)
	}
	s.wantMissing(one, all, all)
	s.must(s.d.Admit(q, one))
	s.must(s.d.Admit(q, one))
	s.wantMissing(one, all, nil)
	s.must(q.Close())
	s.must(q.Close())
	s.wantMissing(one, all, nil)
	if n := q.Bytes(); n != 0 {
		s.Errorf("%d bytes after its end", n)
	}
	tips := ids{second, tag, ofTag}
	proof = s.push(one, tips, ids{first})
	if len(proof.Peeled) != 2 || proof.Peeled[tag] != second || proof.Peeled[ofTag] != second {
		s.Errorf("peeled: %v", proof.Peeled)
	}
	s.wantMissing(one, s.h.All(tips, nil), nil)
	s.wantMissing(two, tips, tips)
	size, packs, err := s.d.Size(one)
	if err != nil || packs != 2 || size == 0 {
		s.Error(size, packs, err)
	}
	if size, packs, err := s.d.Size(two); size+packs != 0 || err != nil {
		s.Error(size, packs, err)
	}
}

func (s suite) extra() {
	base := s.h.Commit("base")
	next := s.h.Commit("next", base)
	other := s.h.Commit("other", base)
	s.push(one, ids{base}, nil)
	q := s.begin(one)
	s.receive(q, s.h.All(ids{next, other}, nil))
	for range 2 { // a second proof finds what the first one left
		proof, err := q.Prove(s.Context(), gitrepo.Proving{Tips: ids{next}, Haves: ids{base}})
		s.must(err)
		if want := len(s.h.All(ids{next}, ids{base})); proof.Objects != int64(want) || proof.Bytes != q.Bytes() {
			s.Errorf("%+v, want %d objects", proof, want)
		}
	}
	s.must(s.d.Admit(q, one))
	s.wantMissing(one, s.h.All(ids{next}, nil), nil)
	dropped := s.h.All(ids{other}, ids{base})
	s.wantMissing(one, dropped, dropped)
}

func (s suite) nothingNew() {
	tip := s.h.Commit("tip")
	tag := s.h.Tag("v1", tip)
	s.push(one, ids{tag}, nil)
	for _, objects := range []ids{s.h.All(ids{tag}, nil), {}, nil} {
		q := s.begin(one)
		if objects != nil {
			s.receive(q, objects)
		}
		proof, err := q.Prove(s.Context(), gitrepo.Proving{Tips: ids{tag}, Commits: ids{tip}, Haves: ids{tip}})
		s.must(err)
		if proof.Objects != 0 || proof.Bytes != 0 || proof.Peeled[tag] != tip {
			s.Errorf("%+v", proof)
		}
		s.must(s.d.Admit(q, one))
	}
	if _, packs, err := s.d.Size(one); packs != 1 || err != nil {
		s.Error(packs, err)
	}
	q := s.begin(two)
	proof, err := q.Prove(s.Context(), gitrepo.Proving{})
	if err != nil || proof.Objects != 0 {
		s.Error(proof, err)
	}
}

func (s suite) missing() {
	first := s.h.Commit("first")
	second := s.h.Commit("second", first)
	s.push(one, ids{first}, nil)
	var lacks *gitrepo.MissingError
	q := s.begin(one)
	if _, err := q.Prove(s.Context(), gitrepo.Proving{Tips: ids{first, second}}); !errors.As(err, &lacks) || !slices.Equal(lacks.IDs, ids{second}) {
		s.Errorf("without a pack: %v", err)
	}
	if s.d.Admit(q, one) == nil {
		s.Error("admitted after a proof that failed")
	}
	var many ids
	for _, name := range strings.Fields("a b c d e f g h i j k l") {
		many = append(many, s.h.Commit(name))
	}
	if _, err := q.Prove(s.Context(), gitrepo.Proving{Tips: many}); !errors.As(err, &lacks) || len(lacks.IDs) != 10 || !slices.Contains(many, lacks.IDs[9]) {
		s.Errorf("twelve: %v", err)
	}
	s.receive(q, s.h.All(ids{many[0]}, nil))
	if _, err := q.Prove(s.Context(), gitrepo.Proving{Tips: many[:2]}); !errors.As(err, &lacks) || !slices.Equal(lacks.IDs, many[1:2]) {
		s.Errorf("half: %v", err)
	}
	if _, err := q.Prove(s.Context(), gitrepo.Proving{Tips: many[:1]}); err != nil {
		s.Errorf("what is there after what is not: %v", err)
	}
	// What haves would lead to proves nothing if they are not here.
	q = s.begin(two)
	if _, err := q.Receive(s.Context(), bytes.NewReader(s.h.Pack(s.h.All(ids{second}, ids{first}))), gitrepo.Receiving{}); err == nil {
		if _, err := q.Prove(s.Context(), gitrepo.Proving{Tips: ids{second}, Haves: ids{first}}); !errors.As(err, &lacks) || !slices.Contains(lacks.IDs, first) {
			s.Errorf("in another repository: %v", err)
		}
	}
}

func (s suite) several() {
	first := s.h.Commit("first")
	second := s.h.Commit("second", first)
	s.push(one, ids{first}, nil)
	s.push(two, ids{first}, nil)
	q := s.begin(one)
	s.receive(q, s.h.All(ids{second}, ids{first}))
	_, err := q.Prove(s.Context(), gitrepo.Proving{Tips: ids{second}, Haves: ids{first}})
	s.must(err)
	s.must(s.d.Admit(q, two))
	s.must(s.d.Admit(q, one))
	for _, repo := range [...]gitrepo.ID{one, two} {
		s.wantMissing(repo, s.h.All(ids{second}, nil), nil)
	}
	var lacks *gitrepo.MissingError
	if err := s.d.Admit(q, three); !errors.As(err, &lacks) {
		s.Errorf("admitted where there is nothing of what it builds on: %v", err)
	}
	s.wantMissing(three, ids{second}, ids{second})
	alone := s.begin(gitrepo.ID{})
	s.receive(alone, s.h.All(ids{second}, nil))
	_, err = alone.Prove(s.Context(), gitrepo.Proving{Tips: ids{second}})
	s.must(err)
	s.must(s.d.Admit(alone, three))
	s.wantMissing(three, s.h.All(ids{second}, nil), nil)
}

// nested: eight tags may lead from a tip to an object, and not nine, of however many tips each of them is one.
func (s suite) nested() {
	commit := s.h.Commit("tip")
	tags := ids{commit}
	for i := range 9 {
		tags = append(tags, s.h.Tag(fmt.Sprint("v", i), tags[i]))
	}
	tags = tags[1:]
	for _, tips := range []ids{{tags[8]}, tags, {tags[0], tags[8]}} {
		q := s.begin(one)
		s.receive(q, s.h.All(ids{tags[8]}, nil))
		var refused *gitrepo.PackError
		if _, err := q.Prove(s.Context(), gitrepo.Proving{Tips: tips}); !errors.As(err, &refused) {
			s.Errorf("nine: %v", err)
		}
	}
	q := s.begin(one)
	s.receive(q, s.h.All(ids{tags[8]}, nil))
	proof, err := q.Prove(s.Context(), gitrepo.Proving{Tips: tags[:8]})
	s.must(err)
	if len(proof.Peeled) != 8 || proof.Peeled[tags[7]] != commit || proof.Objects != int64(len(s.h.All(tags[:8], nil))) {
		s.Errorf("eight: %+v", proof)
	}
}

func (s suite) onlyProven() {
	tip := s.h.Commit("tip")
	blob, tag := s.h.Blob("blob"), s.h.Tag("v1", tip)
	q := s.begin(one)
	s.receive(q, s.h.All(ids{blob, tag}, nil))
	if s.d.Admit(q, one) == nil {
		s.Error("admitted without a proof")
	}
	for _, id := range []gitwire.ObjectID{blob, tag} {
		var refused *gitrepo.PackError
		if _, err := q.Prove(s.Context(), gitrepo.Proving{Tips: ids{tip}, Commits: ids{id}}); !errors.As(err, &refused) {
			s.Errorf("%s for a commit: %v", id, err)
		}
	}
	if s.d.Admit(q, one) == nil {
		s.Error("admitted after proofs that failed")
	}
	_, err := q.Prove(s.Context(), gitrepo.Proving{Tips: ids{blob, tag}, Commits: ids{tip}})
	s.must(err)
	if s.d.Admit(q, gitrepo.ID{}) == nil {
		s.Error("admitted into none")
	}
	if _, err := q.Receive(s.Context(), bytes.NewReader(s.h.Pack(nil)), gitrepo.Receiving{}); err == nil {
		s.Error("something came in after the proof")
	}
	s.must(q.Close())
	if s.d.Admit(q, one) == nil {
		s.Error("admitted after its end")
	}
	if _, err := q.Prove(s.Context(), gitrepo.Proving{}); err == nil {
		s.Error("proven after its end")
	}
	s.wantMissing(one, ids{tip}, ids{tip})
}
